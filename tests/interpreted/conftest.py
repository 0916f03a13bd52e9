"""Triton's programs without a GPU: its interpreter runs them, slowly, on the CPU."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
import torch

OPERATIONS = (
    "adam", "additive_attention", "cosine_attention", "cross_entropy", "dense_linear", "dropout",
    "dropped_propagate", "part_rows", "propagate", "shared_linear", "sparse_linear", "weighted_sum",
)  # fmt: skip


@pytest.fixture(scope="session")
def programs() -> Callable[[str], ModuleType]:
    """The Triton module of an operation, its programs interpreted."""
    triton = pytest.importorskip("triton")
    version, numpy_version = map(np.lib.NumpyVersion, (triton.__version__, np.__version__))
    if version < "3.7.0" and numpy_version >= "2.4.0":
        pytest.skip("before 3.7 Triton's interpreter converts arrays as NumPy 2.4 refuses to")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU: tests/gpu run the programs themselves")
    with pytest.MonkeyPatch.context() as patch:
        # Triton asks when a program is defined.
        patch.setenv("TRITON_INTERPRET", "1")
        modules = {
            name: importlib.import_module(f"agnn.kernels._{name}.triton_cuda")
            for name in OPERATIONS
        }
    return modules.__getitem__


@pytest.fixture(autouse=True)
def interpreted(monkeypatch) -> None:
    """Triton asks at every call, too."""
    monkeypatch.setenv("TRITON_INTERPRET", "1")


@pytest.fixture
def short_limits(monkeypatch) -> None:
    """Rows are long from a handful of entries on, so that small graphs have long rows."""
    monkeypatch.setattr("agnn.graph._graph._LONGEST_ROW", 5)
    monkeypatch.setattr("agnn.graph._features._LONGEST_LINE", 5)
