"""Devices by name, and the versions that a result depends on."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import torch

import agnn
from agnn.errors import InputError, UnavailableError
from agnn.kernels import obstacle


def find_device(name: str) -> str:
    """The device for a request: "auto" is a GPU if the kernels run on one, else the CPU."""
    if name == "auto":
        return "cuda" if obstacle("triton") is None else "cpu"
    if name == "cpu":
        return name
    kind, _, index = name.partition(":")
    if kind != "cuda":
        raise InputError(f"unknown device '{name}'; known: auto, cpu, cuda, cuda:1 and so on.")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not (index or "0").isdigit() or int(index or "0") >= count:
        raise UnavailableError(
            f"device '{name}' is not available: torch {torch.__version__} sees {count} CUDA "
            f"devices. Use 'cpu'."
        )
    return name


def versions() -> dict[str, str]:
    """The versions of what a result depends on; packages that are not installed are left out."""
    found = {"python": platform.python_version(), "agnn": agnn.__version__}
    for package in ("torch", "numpy", "scipy", "scikit-learn", "numba", "triton"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
