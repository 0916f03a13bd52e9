"""A backend that is asked for is the one that runs, or an error says what to do."""

from __future__ import annotations

import pytest
import torch

from agnn.errors import InputError, UnavailableError
from agnn.kernels import choose, cosine_attention, obstacle
from agnn.kernels._backends import implementation
from agnn.kernels._self_check import EXAMPLES
from properties import fresh_python
from zoo import ZOO, zoo_graph

OPERATIONS = tuple(EXAMPLES)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_has_a_reference_and_compiled_cpu_code(operation):
    assert obstacle("reference", operation) is None
    assert obstacle("numba", operation) is None
    package = f"agnn.kernels._{operation}"
    assert implementation(operation, "numba", "cpu").__name__ == f"{package}.numba_cpu"
    definition = implementation(operation, "reference", "cpu").__name__
    assert definition in (package, f"{package}.reference")


def test_an_operation_that_a_backend_lacks_is_named():
    assert "has no random_walk for it" in obstacle("triton", "random_walk")
    with pytest.raises(UnavailableError, match="has no random_walk for it"):
        choose("triton", "cuda", "random_walk")


def test_the_automatic_choice_on_a_cpu_is_numba():
    assert choose("auto", "cpu") == "numba"


def test_an_unknown_backend_is_refused_with_the_nearest_name():
    with pytest.raises(InputError, match="unknown backend 'nubma'; did you mean 'numba'"):
        cosine_attention(
            zoo_graph("path"), ZOO["path"].states(1, 2), torch.ones(1).double(), backend="nubma"
        )


def test_a_backend_that_cannot_run_is_refused_with_the_reason():
    with pytest.raises(UnavailableError, match="backend 'triton' cannot run: "):
        choose("triton", "cpu")
    with pytest.raises(UnavailableError, match="runs on cpu, but the data is on cuda"):
        choose("numba", "cuda")


def test_without_numba_the_reference_runs_and_the_request_names_the_command():
    program = """
import importlib.util, sys
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "numba" else found(name, *rest)
sys.modules["numba"] = None
from agnn.kernels import choose
assert choose("auto", "cpu") == "reference"
try:
    choose("numba", "cpu")
except Exception as error:
    print(type(error).__name__, error)
"""
    printed = fresh_python(program)
    assert "UnavailableError" in printed
    assert "pip install numba" in printed
