"""Parts of chains that look at several states of a node, and the versions of a replica."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from agnn.kernels.branches import Anchor
from agnn.kernels.chain import Link
from agnn.kernels.dropout.reference import factors
from agnn.kernels.dropout.stream import DropoutAt


class HopMean(Link):
    """The mean of the input and the states of some anchors, at the first `rows` rows."""

    def __init__(self, anchors: Sequence[Anchor], rows: int) -> None:
        self.anchors, self.rows = tuple(anchors), rows

    def forward(self, x: Tensor) -> Tensor:
        """The mean [R, rows, d]."""
        total = x[:, : self.rows].clone()
        for anchor in self.anchors:
            total += anchor.saved[0][:, : self.rows]
        return total.mul_(1.0 / (len(self.anchors) + 1))

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """An equal share for the input and for every anchor."""
        share = 1.0 / (len(self.anchors) + 1)
        for anchor in self.anchors:
            anchor.leave(gradient, share)
        return gradient * share, ()


class RowDropoutLink(Link):
    """Whole rows set to zero at each replica's rate, the rest scaled up.

    The random number of a row is that of dropout's entry in column 0.
    """

    def __init__(self, row_ids: Tensor, drop: DropoutAt) -> None:
        self.row_ids, self.drop = row_ids, drop
        # In another epoch the backward pass would draw other numbers.
        self.watched = (drop.epoch,)

    def forward(self, x: Tensor) -> Tensor:
        """The states [R, n, d] with some rows dropped."""
        return x * self._factors(x)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradient with the same rows dropped."""
        return gradient * self._factors(gradient), ()

    def _factors(self, x: Tensor) -> Tensor:
        """0 or 1 / (1 - rate) for each row; [R, n, 1]."""
        columns = torch.zeros_like(self.row_ids)
        return factors(self.drop, self.row_ids, columns, x.dtype)[..., None]


class _Shared(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, parameter: Tensor, versions: int) -> Tensor:
        ctx.versions = versions
        return parameter.repeat_interleave(versions, 0)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        each = gradients[0].view(-1, ctx.versions, *gradients[0].shape[1:]).unbind(1)
        # One after the other: a sum over an axis may group its terms by the size of the others.
        total = each[0].clone()
        for other in each[1:]:
            total += other
        return total, None


def for_versions(parameter: Tensor, versions: int) -> Tensor:
    """A parameter [R, ...] for `versions` versions of each replica; [R * versions, ...].

    Version s of replica r stands at r * versions + s. The gradient of the parameter is the sum
    over the versions.
    """
    if versions == 1:
        return parameter
    result: Tensor = _Shared.apply(parameter, versions)  # type: ignore[no-untyped-call]
    return result
