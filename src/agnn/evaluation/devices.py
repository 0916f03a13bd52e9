"""Devices by name, and the versions that a result depends on."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import torch

from agnn.errors import UnavailableError, unknown_name


def find_device(name: str) -> str:
    """The device for a request: "auto" takes a GPU where the kernels run on one, else the CPU."""
    known = ("auto", "cpu", "cuda")
    kind = name.split(":")[0]
    if kind not in known:
        raise unknown_name("device", name, known)
    if kind == "auto":
        return "cpu"
    if kind == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        index = name.partition(":")[2] or "0"
        if not index.isdigit() or int(index) >= count:
            raise UnavailableError(
                f"device '{name}' is not there: torch {torch.__version__} sees {count} CUDA "
                f"devices. Use --device cpu."
            )
    return name


def versions() -> dict[str, str]:
    """The versions of what a result depends on; a package that is not there is left out."""
    found = {"python": platform.python_version()}
    for package in ("agnn", "torch", "numpy", "scipy", "numba", "triton"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
