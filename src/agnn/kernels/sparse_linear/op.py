"""The first layer, dropout(X) W + b for sparse X: checks, documentation, differentiation."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import FeatureMatrix
from agnn.kernels.backends import implementation
from agnn.kernels.dropout.stream import DropoutAt


class _SparseLinear(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        weight: Tensor,
        bias: Tensor | None,
        x: FeatureMatrix,
        drop: DropoutAt | None,
        backend: ModuleType,
    ) -> Tensor:
        ctx.x, ctx.drop, ctx.backend = x, drop, backend
        ctx.has_bias = bias is not None
        if drop is not None:
            # Kept for its version: a backward pass in another epoch would draw other numbers.
            ctx.save_for_backward(drop.epoch)
        result: Tensor = backend.forward(x, weight, bias, drop)
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        _ = ctx.saved_tensors
        dweight, dbias = ctx.backend.backward(ctx.x, gradients[0], ctx.drop)
        return dweight, dbias if ctx.has_bias else None, None, None, None


def sparse_linear(
    x: FeatureMatrix,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    drop: DropoutAt | None = None,
    backend: str = "auto",
) -> Tensor:
    """dropout(X) W + b, Eq. (4) of the paper before its ReLU.

    Only the stored entries of X are drawn and dropped: the others are zero either way.

    Args:
        x: features [n, d_x], shared by all replicas.
        weight: W [R, d_x, d].
        bias: b [R, d], or None.
        drop: the dropout of this place, or None for none.
        backend: "auto", "reference", "numba" or "triton".

    Returns:
        States [R, n, d], differentiable in `weight` and `bias`.
    """
    if weight.ndim != 3 or weight.shape[1] != x.width:
        raise InputError(
            f"`weight` must have shape [R, {x.width}, d] for {x.width} features; got "
            f"{list(weight.shape)}."
        )
    if weight.dtype != x.values.dtype:
        raise InputError(f"`weight` is {weight.dtype}, the features are {x.values.dtype}.")
    if bias is not None and bias.shape != (weight.shape[0], weight.shape[2]):
        raise InputError(f"`bias` must have shape [R, d]; got {list(bias.shape)}.")
    if drop is not None and drop.keys.shape[0] != weight.shape[0]:
        raise InputError(f"{drop.keys.shape[0]} dropout streams for {weight.shape[0]} replicas.")
    chosen = implementation("sparse_linear", backend, weight.device.type)
    result: Tensor = _SparseLinear.apply(weight, bias, x, drop, chosen)  # type: ignore[no-untyped-call]
    return result
