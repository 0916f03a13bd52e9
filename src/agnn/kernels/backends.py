"""Which implementation of a kernel runs: the one asked for, or the best that works here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import torch

from agnn.errors import UnavailableError, unknown_name


@dataclass(frozen=True)
class Backend:
    """A way to run the kernels: the file in each kernel's folder, and what it needs."""

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
def obstacle(name: str, operation: str = "cosine_attention") -> str | None:
    """Why the backend cannot run here, in a few words; None where it can."""
    backend = BACKENDS[name]
    if find_spec(f"agnn.kernels.{operation}.{backend.module}") is None:
        return "this version of agnn does not have it yet"
    if backend.package is not None and find_spec(backend.package) is None:
        return f"the package {backend.package} is not installed; get it with `{backend.install}`"
    if backend.device == "cuda" and not torch.cuda.is_available():
        return "torch sees no CUDA device"
    return None


@lru_cache
def choose(name: str, device: str, operation: str = "cosine_attention") -> str:
    """The backend that runs for the request `name` on a device type, or an error that says why."""
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
            f"backend '{name}' runs on {needs}, but the data lies on {device}; use 'auto'."
        )
    return name


@lru_cache
def implementation(operation: str, name: str, device: str) -> ModuleType:
    """The module with `forward` and `backward` of `operation` for the chosen backend."""
    chosen = choose(name, device, operation)
    return import_module(f"agnn.kernels.{operation}.{BACKENDS[chosen].module}")
