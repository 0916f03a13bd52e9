"""An ONNX graph while it is written: operations one after the other, named by what they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from agnn.onnx.package import onnx_package


class Draft:
    """The operations and constants so far. Every method gives the name of what it adds."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def op(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """The result of one ONNX operation."""
        name = output or f"{kind}_{len(self.nodes)}"
        make = onnx_package().helper.make_node
        self.nodes.append(make(kind, list(inputs), [name], name=name, **attributes))
        return name

    def array(self, values: NDArray[Any]) -> str:
        """A constant array."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(onnx_package().numpy_helper.from_array(values, name))
        return name

    def number(self, value: float) -> str:
        """A float32 constant without axes."""
        return self.array(np.array(value, np.float32))

    def integers(self, *values: int) -> str:
        """An int64 constant [k]: axes, shapes."""
        return self.array(np.array(values, np.int64))

    def weights(self, tensor: Tensor) -> str:
        """A parameter of a model, in float32."""
        return self.array(tensor.detach().float().cpu().contiguous().numpy())
