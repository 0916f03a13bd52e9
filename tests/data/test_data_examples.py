"""The examples in the docstrings of agnn.data run and print what they say."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

import agnn.data

MODULES = [
    "agnn.data",
    *(each.name for each in pkgutil.walk_packages(agnn.data.__path__, "agnn.data.")),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_say(name: str) -> None:
    assert doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS).failed == 0
