"""The last layer, dropout(H) W + b for dense states: checks, documentation, differentiation."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.kernels.backends import implementation
from agnn.kernels.dropout.stream import DropoutAt


class _DenseLinear(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        row_ids: Tensor,
        drop: DropoutAt | None,
        backend: ModuleType,
    ) -> Tensor:
        # The epoch is kept for its version: in another epoch dropout draws other numbers.
        ctx.save_for_backward(h, weight, row_ids if drop is None else drop.epoch)
        ctx.row_ids, ctx.drop, ctx.backend = row_ids, drop, backend
        ctx.has_bias = bias is not None
        result: Tensor = backend.forward(h, weight, bias, row_ids, drop)
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        h, weight, _ = ctx.saved_tensors
        dh, dweight, dbias = ctx.backend.backward(
            h, weight, ctx.row_ids, ctx.drop, gradients[0]
        )  # fmt: skip
        return dh, dweight, dbias if ctx.has_bias else None, None, None, None


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
    chosen = implementation("dense_linear", backend, h.device.type)
    result: Tensor = _DenseLinear.apply(h, weight, bias, row_ids, drop, chosen)  # type: ignore[no-untyped-call]
    return result
