"""The package onnx, asked for by the functions that need it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from agnn.errors import UnavailableError


def onnx_package() -> Any:
    """The module `onnx`, or an error that says how to get it."""
    try:
        return import_module("onnx")
    except ModuleNotFoundError as error:
        raise UnavailableError(
            "onnx is not installed, and models are exported with it: pip install 'agnn[onnx]'."
        ) from error
