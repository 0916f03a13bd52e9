"""The sparse linear map on a GPU: forward by rows of X, backward by its columns."""

from __future__ import annotations

from torch import Tensor

from agnn.graph import SparseFeatures
from agnn.kernels._dropout import DropoutAt
from agnn.kernels._gpu.launches import sum_parts
from agnn.kernels._gpu.products import Labels, Lines, products


def forward(
    x: SparseFeatures, weight: Tensor, bias: Tensor | None, drop: DropoutAt | None
) -> Tensor:
    """dropout(X) W + b; [R, n, d]."""
    lines = Lines(x.offsets, x.columns, x.values, x.long_rows)
    labels = Labels(x.row_ids, by_column=False)
    return products(lines, weight, x.rows, start=bias, drop=drop, labels=labels)


def backward(x: SparseFeatures, gradient: Tensor, drop: DropoutAt | None) -> tuple[Tensor, Tensor]:
    """The gradients at the weight [R, d_x, d] and at the bias [R, d]."""
    lines = Lines(*x.by_column, x.long_columns)
    labels = Labels(x.row_ids, by_column=True)
    dweight = products(lines, gradient, x.width, drop=drop, labels=labels)
    return dweight, sum_parts(gradient.contiguous())
