"""The examples in docstrings give what they show."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

EXAMPLES = (
    "agnn",
    "agnn.distributed",
    "agnn.distributed._executors",
    "agnn.distributed._partition",
    "agnn.distributed._shared",
    "agnn.estimator",
    "agnn.estimator._node_classifier",
    "agnn.files",
    "agnn.graph",
    "agnn.kernels",
    "agnn.kernels._self_check",
    "agnn.metrics",
    "agnn.onnx",
    "agnn.pyg",
    "agnn.runs",
    "agnn.runs._evaluate",
)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_a_package_run(name):
    found = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS)
    assert found.attempted > 0
    assert found.failed == 0
