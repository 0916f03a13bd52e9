"""The self-check looks at every operation that has a folder, with every backend that is there."""

from __future__ import annotations

from pathlib import Path

import pytest

import agnn.kernels
from agnn.kernels import _self_check, self_check
from properties import FAST_BACKENDS


def test_the_self_check_finds_no_fault_and_leaves_no_operation_out():
    files = Path(agnn.kernels.__file__).parent.glob("_*/numba_cpu.py")
    folders = {path.parent.name[1:] for path in files}
    found = self_check()
    assert {(check.backend, check.kernel) for check in found if check.backend != "triton"} == {
        (backend, operation) for backend in FAST_BACKENDS for operation in folders
    }
    assert [check for check in found if check.fault is not None] == []


def test_a_wrong_gradient_is_a_fault(monkeypatch):
    pytest.importorskip("numba")
    from agnn.kernels._propagate import numba_cpu

    real = numba_cpu.backward
    monkeypatch.setattr(numba_cpu, "backward", lambda *inputs: 1.001 * real(*inputs))
    faults = {check.kernel: check.fault for check in self_check() if check.backend == "numba"}
    assert {name for name, fault in faults.items() if fault is not None} == {"propagate"}
    assert "differs from the reference by" in faults["propagate"]


def test_an_operation_that_raises_is_a_fault(monkeypatch):
    def broken(*_):
        raise ImportError("no LLVM")

    monkeypatch.setattr(_self_check, "EXAMPLES", {"propagate": broken})
    assert {check.fault for check in self_check()} == {"ImportError: no LLVM"}
