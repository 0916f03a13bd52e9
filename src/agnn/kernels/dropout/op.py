"""Dropout of dense states, with the counter-based random numbers of `reference.py`."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.kernels.backends import implementation
from agnn.kernels.dropout.stream import DropoutAt


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, h: Tensor, row_ids: Tensor, drop: DropoutAt, backend: ModuleType
    ) -> Tensor:
        ctx.row_ids, ctx.drop, ctx.backend = row_ids, drop, backend
        # Kept for its version: a backward pass in another epoch would draw other numbers.
        ctx.save_for_backward(drop.epoch)
        result: Tensor = backend.forward(h, row_ids, drop)
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        _ = ctx.saved_tensors
        return ctx.backend.backward(gradients[0], ctx.row_ids, ctx.drop), None, None, None


def dropout(h: Tensor, row_ids: Tensor, drop: DropoutAt | None, *, backend: str = "auto") -> Tensor:
    """`h` [R, n, d] with entries set to zero at each replica's rate and the rest scaled up.

    `row_ids` [n] are the rows' labels in the whole graph, by which the random numbers are drawn.
    Without a `drop` (evaluation) `h` comes back as it is.
    """
    if drop is None:
        return h
    if h.ndim != 3 or row_ids.shape != h.shape[1:2] or drop.keys.shape[0] != h.shape[0]:
        raise InputError(
            f"`h` must have shape [R, n, d] for R = {drop.keys.shape[0]} replicas and "
            f"n = {row_ids.numel()} rows; got {list(h.shape)}."
        )
    chosen = implementation("dropout", backend, h.device.type)
    result: Tensor = _Dropout.apply(h, row_ids, drop, chosen)  # type: ignore[no-untyped-call]
    return result
