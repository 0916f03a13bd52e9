"""An ONNX graph under construction: operations in order, named by their kind."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from agnn.errors import UnavailableError


def onnx_package() -> Any:
    """The module `onnx`, or an error that says how to install it."""
    try:
        return import_module("onnx")
    except ModuleNotFoundError as error:
        raise UnavailableError(
            "onnx is not installed, and models are exported with it: pip install 'agnn[onnx]'."
        ) from error


class Draft:
    """The operations and constants so far. Every method returns the name of what it adds."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def op(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """The result of one ONNX operation."""
        name = output or f"{kind}_{len(self.nodes)}"
        make = onnx_package().helper.make_node
        self.nodes.append(make(kind, list(inputs), [name], name=name, **attributes))
        return name

    def sorted_values(self, values: str, count: str) -> str:
        """The lowest `count` [1] values in ascending order."""
        name = f"TopK_{len(self.nodes)}"
        make = onnx_package().helper.make_node
        ends = [name, f"{name}_places"]
        self.nodes.append(make("TopK", [values, count], ends, name=name, largest=0, sorted=1))
        return name

    def array(self, values: NDArray[Any]) -> str:
        """A constant array."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(onnx_package().numpy_helper.from_array(values, name))
        return name

    def number(self, value: float) -> str:
        """A float32 constant without axes."""
        return self.array(np.array(value, np.float32))

    def integer(self, value: int) -> str:
        """An int64 constant without axes."""
        return self.array(np.array(value, np.int64))

    def integers(self, *values: int) -> str:
        """An int64 constant [k]: axes, shapes."""
        return self.array(np.array(values, np.int64))

    def weights(self, tensor: Tensor) -> str:
        """A parameter of a model, in float32."""
        return self.array(tensor.detach().float().cpu().contiguous().numpy())

    def cast(self, values: str, kind: str) -> str:
        """The values in another type: FLOAT, DOUBLE, INT64."""
        return self.op("Cast", values, to=getattr(onnx_package().TensorProto, kind))
