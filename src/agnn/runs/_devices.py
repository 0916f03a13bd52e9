"""Devices by name, and what a result says about the machine that it was made on."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import torch

import agnn
from agnn.errors import InputError, UnavailableError
from agnn.kernels import obstacle

_GIB: Final = 2**30


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
    by_package = {"python": platform.python_version(), "agnn": agnn.__version__}
    for package in ("torch", "numpy", "scipy", "scikit-learn", "numba", "triton"):
        try:
            by_package[package] = version(package)
        except PackageNotFoundError:
            continue
    return by_package


def machine(device: str = "cpu") -> dict[str, Any]:
    """The machine that this process runs on: processor, cores, threads, memory, and the GPU.

    `threads` are those that this process computes with, `cores` those that it may use; memory is
    in bytes. The GPU is named if `device` is one.

    >>> sorted(machine())
    ['cores', 'memory', 'processor', 'system', 'threads']
    """
    facts: dict[str, Any] = {
        "processor": _processor(),
        "cores": _cores(),
        "threads": torch.get_num_threads(),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    if device.startswith("cuda"):
        gpu = torch.cuda.get_device_properties(device)
        facts |= {"gpu": gpu.name, "gpu_memory": int(gpu.total_memory)}
    return facts


def machine_words(facts: Mapping[str, Any]) -> str:
    """A machine in one line; empty for results from before it was recorded.

    >>> machine_words({"processor": "EPYC", "cores": 8, "threads": 4, "memory": 2**34})
    'EPYC, 4 threads on 8 cores, 16.0 GiB'
    """
    if not facts:
        return ""
    memory = "" if facts.get("memory") is None else f", {facts['memory'] / _GIB:.1f} GiB"
    text = f"{facts['processor']}, {_plural(facts['threads'], 'thread')} on "
    text += f"{_plural(facts['cores'], 'core')}{memory}"
    if "gpu" in facts:
        text = f"{facts['gpu']} ({facts['gpu_memory'] / _GIB:.0f} GiB); {text}"
    return text


def _plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # not Linux
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine() or "unknown"


def _cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory() -> int | None:
    """The bytes of memory in the machine; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows
        return None
