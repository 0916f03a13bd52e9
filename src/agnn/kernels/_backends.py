"""Which implementation of an operation runs: the requested one, or the best that is available."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch

from agnn.errors import UnavailableError, unknown_name


@dataclass(frozen=True)
class Backend:
    """A way to run the operations: the module in each operation's folder, and what it needs."""

    module: str
    device: str | None  # None: any
    package: str | None  # None: torch alone
    install: str


BACKENDS = {
    "reference": Backend("reference", None, None, ""),
    "numba": Backend("numba_cpu", "cpu", "numba", "pip install numba"),
    "triton": Backend("triton_cuda", "cuda", "triton", "pip install triton"),
}


@lru_cache
def obstacle(name: str, operation: str | None = None) -> str | None:
    """Why a backend cannot run here, in a few words; None if it can.

    With an operation, also why it cannot run that one: not every backend has every operation.
    """
    backend = BACKENDS[name]
    if operation is not None and find_spec(_module(operation, name)) is None:
        return f"this version of agnn has no {operation} for it"
    if backend.package is not None and find_spec(backend.package) is None:
        return f"the package {backend.package} is not installed; get it with `{backend.install}`"
    if backend.device == "cuda" and not torch.cuda.is_available():
        return "torch sees no CUDA device"
    return None


def openmp_obstacle() -> str | None:
    """Why compiled CPU code cannot use torch's OpenMP threads here, in a few words; None if it can.

    It then runs in Python threads, which pay for long work only.
    """
    reason = obstacle("numba")
    if reason is not None:
        return reason
    from agnn.kernels._runtime import regions  # imports numba

    return regions.obstacle()


@lru_cache
def choose(name: str, device: str, operation: str | None = None) -> str:
    """The backend that runs for the request `name` on a type of device.

    "auto" is the fastest one that can run. Any other name is that backend, or an error.
    """
    if name == "auto":
        best = "numba" if device == "cpu" else "triton"
        return best if obstacle(best, operation) is None else "reference"
    if name not in BACKENDS:
        raise unknown_name("backend", name, ["auto", *BACKENDS])
    reason = obstacle(name, operation)
    if reason is not None:
        raise UnavailableError(
            f"backend '{name}' cannot run: {reason}. 'auto' takes the best that can."
        )
    needs = BACKENDS[name].device
    if needs is not None and needs != device:
        raise UnavailableError(
            f"backend '{name}' runs on {needs}, but the data is on {device}; use 'auto'."
        )
    return name


@lru_cache
def implementation(operation: str, name: str, device: str) -> Any:
    """The module of `operation` for the chosen backend.

    The protocol in the operation's `__init__` says which functions it has: `forward` and, if the
    operation is differentiable, `backward`.
    """
    return import_module(_module(operation, choose(name, device, operation)))


def _module(operation: str, backend: str) -> str:
    package = f"agnn.kernels._{operation}"
    module = f"{package}.{BACKENDS[backend].module}"
    # Most operations are defined in the file of their interface.
    return package if backend == "reference" and find_spec(module) is None else module
