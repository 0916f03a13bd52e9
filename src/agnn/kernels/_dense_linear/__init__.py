"""The last layer, dropout(H) W + b for dense states: interface and definition."""

from __future__ import annotations

from typing import ClassVar, Protocol

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.kernels import _dropout as dropout
from agnn.kernels._backends import implementation
from agnn.kernels._chain import Bf16, Link, PartForms, run_chain
from agnn.kernels._dropout import DropoutAt


class _Backend(Protocol):
    def forward(
        self,
        h: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        row_ids: Tensor,
        drop: DropoutAt | None,
    ) -> Tensor: ...

    def backward(
        self, h: Tensor, weight: Tensor, row_ids: Tensor, drop: DropoutAt | None, gradient: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]: ...


class DenseLinearLink(Link):
    """`dense_linear` in a chain."""

    bf16: ClassVar[Bf16] = "linear"

    def __init__(
        self,
        weight: Tensor,
        bias: Tensor | None,
        row_ids: Tensor,
        drop: DropoutAt | None,
        backend: str,
    ) -> None:
        self.weight = weight
        self.bias = bias
        self.row_ids = row_ids
        self.drop = drop
        self.backend: _Backend = implementation("dense_linear", backend, weight.device.type)
        self.parameters = (weight,) if bias is None else (weight, bias)
        # In another epoch the backward pass would draw other numbers.
        self.watched = () if drop is None else (drop.epoch,)

    def forward(self, x: Tensor) -> Tensor:
        """Outputs [R, n, k]."""
        _check(x, self.weight, self.bias, self.row_ids, self.drop)
        self.saved = (x,)
        return self.backend.forward(x, self.weight, self.bias, self.row_ids, self.drop)

    def on_part(self, forms: PartForms) -> Link:
        """Return the layer on the own rows."""
        return forms.linear(self)

    def hold(self, x: Tensor) -> Tensor:
        """The outputs by torch, for any rows: nothing is dropped, so their labels do not matter."""
        out = x @ self.weight.detach()
        return out if self.bias is None else out + self.bias.detach()[:, None]

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradients at the states, at the weight and at the bias."""
        dh, dweight, dbias = self.backend.backward(
            self.saved[0], self.weight, self.row_ids, self.drop, gradient
        )
        return dh, (dweight,) if self.bias is None else (dweight, dbias)


def dense_linear(
    h: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    row_ids: Tensor,
    *,
    drop: DropoutAt | None = None,
    backend: str = "auto",
) -> Tensor:
    """dropout(H) W + b, Eq. (6) of the paper before its softmax.

    Args:
        h: states [R, n, d].
        weight: W [R, d, k].
        bias: b [R, k], or None.
        row_ids: the rows' labels in the whole graph [n], by which dropout draws its numbers.
        drop: the dropout of this place, or None for none.
        backend: "auto", "reference", "numba" or "triton".

    Returns:
        Outputs [R, n, k], differentiable in `h`, `weight` and `bias`.
    """
    return run_chain([DenseLinearLink(weight, bias, row_ids, drop, backend)], h)


def _check(
    h: Tensor, weight: Tensor, bias: Tensor | None, row_ids: Tensor, drop: DropoutAt | None
) -> None:
    if h.ndim != 3 or row_ids.shape != h.shape[1:2]:
        raise InputError(
            f"`h` must have shape [R, n, d] with n = {row_ids.numel()} rows; got {list(h.shape)}."
        )
    replicas, _, d = h.shape
    if weight.ndim != 3 or weight.shape[:2] != (replicas, d) or weight.dtype != h.dtype:
        raise InputError(
            f"`weight` must be {h.dtype} of shape [{replicas}, {d}, k]; got {weight.dtype} "
            f"{list(weight.shape)}."
        )
    if bias is not None and bias.shape != (replicas, weight.shape[2]):
        raise InputError(f"`bias` must have shape [R, k]; got {list(bias.shape)}.")
    if drop is not None and drop.keys.shape[0] != replicas:
        raise InputError(f"{drop.keys.shape[0]} dropout streams for {replicas} replicas.")


def forward(
    h: Tensor, weight: Tensor, bias: Tensor | None, row_ids: Tensor, drop: DropoutAt | None
) -> Tensor:
    """dropout(H) W + b; [R, n, k]."""
    dropped = h if drop is None else dropout.forward(h, row_ids, drop)
    out = torch.bmm(dropped, weight)
    return out if bias is None else out + bias[:, None]


def backward(
    h: Tensor, weight: Tensor, row_ids: Tensor, drop: DropoutAt | None, gradient: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients at `h` [R, n, d], at the weight [R, d, k] and at the bias [R, k]."""
    dh = torch.bmm(gradient, weight.mT)
    dropped = h
    if drop is not None:
        dh = dropout.backward(dh, row_ids, drop)
        dropped = dropout.forward(h, row_ids, drop)
    return dh, torch.bmm(dropped.mT, gradient), gradient.sum(1)
