"""The first layer, dropout(X) W + b for sparse X: interface and definition."""

from __future__ import annotations

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import SparseFeatures
from agnn.kernels._chain import run_chain
from agnn.kernels._dropout import DropoutAt, factors
from agnn.kernels._links import FirstLayerLink


class SparseLinearLink(FirstLayerLink):
    """`sparse_linear` as the start of a chain."""

    operation = "sparse_linear"

    def __init__(
        self,
        x: SparseFeatures,
        weight: Tensor,
        bias: Tensor | None,
        drop: DropoutAt | None,
        backend: str,
    ) -> None:
        super().__init__(x, weight, bias, drop, backend)
        if weight.dtype != x.values.dtype:
            raise InputError(f"`weight` is {weight.dtype}, the features are {x.values.dtype}.")


def sparse_linear(
    x: SparseFeatures,
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
    return run_chain([SparseLinearLink(x, weight, bias, drop, backend)], x.values)


def _entries(x: SparseFeatures, replicas: int, drop: DropoutAt | None) -> Tensor:
    """The stored values of dropout(X); [R, nnz]."""
    if drop is None:
        return x.values.expand(replicas, -1)
    rows = x.row_ids[x.row_of_entry]
    return x.values * factors(drop, rows, x.columns.to(torch.int64), x.values.dtype)


def forward(
    x: SparseFeatures, weight: Tensor, bias: Tensor | None, drop: DropoutAt | None
) -> Tensor:
    """dropout(X) W + b; [R, n, d]."""
    replicas, _, d = weight.shape
    terms = _entries(x, replicas, drop)[..., None] * weight[:, x.columns.to(torch.int64)]
    out = weight.new_zeros(replicas, x.rows, d).index_add(1, x.row_of_entry, terms)
    return out if bias is None else out + bias[:, None]


def backward(x: SparseFeatures, gradient: Tensor, drop: DropoutAt | None) -> tuple[Tensor, Tensor]:
    """The gradients at the weight [R, d_x, d] and at the bias [R, d]."""
    replicas, _, d = gradient.shape
    terms = _entries(x, replicas, drop)[..., None] * gradient[:, x.row_of_entry]
    dweight = gradient.new_zeros(replicas, x.width, d)
    dweight = dweight.index_add(1, x.columns.to(torch.int64), terms)
    return dweight, gradient.sum(1)
