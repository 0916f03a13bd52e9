"""A model's first layer as the start of a chain: what sparse and dense features share."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from agnn.graph import Features
from agnn.kernels._backends import implementation
from agnn.kernels._chain import Bf16, Link, PartForms
from agnn.kernels._checks import check_first_layer
from agnn.kernels._dropout import DropoutAt
from agnn.kernels._held import FirstStates, held_pass


class _Backend(Protocol):
    def forward(
        self, x: Any, weight: Tensor, bias: Tensor | None, drop: DropoutAt | None
    ) -> Tensor: ...

    def backward(
        self, x: Any, gradient: Tensor, drop: DropoutAt | None
    ) -> tuple[Tensor, Tensor]: ...


class FirstLayerLink(Link):
    """dropout(X) W + b: reads the features and no input."""

    bf16: ClassVar[Bf16] = "linear"

    operation: ClassVar[str]  # the folder of its backends

    def __init__(
        self,
        x: Features,
        weight: Tensor,
        bias: Tensor | None,
        drop: DropoutAt | None,
        backend: str,
    ) -> None:
        check_first_layer(x.width, weight, bias, drop)
        self.x = x
        self.weight = weight
        self.bias = bias
        self.drop = drop
        self.backend: _Backend = implementation(self.operation, backend, weight.device.type)
        self.parameters = (weight,) if bias is None else (weight, bias)
        # In another epoch the backward pass would draw other numbers.
        self.watched = () if drop is None else (drop.epoch,)

    def forward(self, x: Tensor) -> Tensor:
        """States [R, n, d]."""
        return self.backend.forward(self.x, self.weight, self.bias, self.drop)

    def on_part(self, forms: PartForms) -> Link:
        """Return the layer on the own rows."""
        return forms.first_layer(self)

    def hold(self, x: Tensor) -> Tensor:
        """The states as a leaf of torch's graph, recorded: what the pass is affine in."""
        with torch.no_grad():
            states = self.forward(x)
        states.requires_grad_(torch.is_grad_enabled())
        if (current := held_pass()) is not None:
            current.first.append(FirstStates(states, self.weight.detach(), self.bias))
        return states

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradients at the weight and at the bias."""
        dweight, dbias = self.backend.backward(self.x, gradient, self.drop)
        return gradient, (dweight,) if self.bias is None else (dweight, dbias)
