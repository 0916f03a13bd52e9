"""Parts of chains that look at several states of a node, and the versions of a replica."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from agnn.kernels._backends import implementation
from agnn.kernels._chain import Link
from agnn.kernels._dropout import DropoutBackend
from agnn.kernels._dropout.stream import DropoutAt
from agnn.kernels._runtime.memory import buffer_like, contiguous_copy


class HopState(Link):
    """Passes its input on and remembers it for a `HopMean` later in the chain."""

    is_by_row: ClassVar[bool] = True

    is_read_later: ClassVar[bool] = True
    share: Tensor  # of the mean's gradient; there from the mean's backward pass to its own

    def forward(self, x: Tensor) -> Tensor:
        """The input itself."""
        self.saved = (x,)
        return x

    def held(self, x: Tensor) -> Tensor:
        """The input itself; torch adds up the gradients."""
        self.state = x
        return x

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradient of what follows, with the share that the mean has left here."""
        gradient[:, : self.share.shape[1]] += self.share
        del self.share
        return gradient, ()


class HopMean(Link):
    """The mean of the input and of earlier states, at the first `rows` rows.

    Each state is followed by a link whose gradient at its input is a new tensor.
    """

    is_by_row: ClassVar[bool] = True

    def __init__(self, states: Sequence[HopState], rows: int) -> None:
        self.states = tuple(states)
        self.rows = rows

    def forward(self, x: Tensor) -> Tensor:
        """The mean [R, rows, d]."""
        own = x[:, : self.rows]
        total = contiguous_copy(own)
        for state in self.states:
            total += state.saved[0][:, : self.rows]
        return total.mul_(1.0 / (len(self.states) + 1))

    def held(self, x: Tensor) -> Tensor:
        """The mean by torch."""
        states = [state.state[:, : self.rows] for state in self.states]
        return torch.stack([x[:, : self.rows], *states]).mean(0)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """An equal share for the input and for every state."""
        part = 1.0 / (len(self.states) + 1)
        share = torch.mul(gradient, part, out=buffer_like(gradient))
        for state in self.states:
            state.share = share
        return share, ()


class RowDropoutLink(Link):
    """Whole rows set to zero at each replica's rate, the rest scaled up.

    The random number of a row is that of dropout's entry in column 0.
    """

    is_by_row: ClassVar[bool] = True

    def __init__(self, row_ids: Tensor, drop: DropoutAt, backend: str) -> None:
        self.row_ids = row_ids
        self.drop = drop
        self.backend: DropoutBackend = implementation("dropout", backend, drop.keys.device.type)

    def forward(self, x: Tensor) -> Tensor:
        """The states [R, n, d] with some rows dropped."""
        ones = x.new_ones(x.shape[0], x.shape[1], 1)
        factors = self.backend.forward(ones, self.row_ids, self.drop)
        self.saved = (factors,)
        return torch.mul(x, factors, out=buffer_like(x))

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradient with the same rows dropped."""
        (factors,) = self.saved
        return torch.mul(gradient, factors, out=buffer_like(gradient)), ()


class _Shared(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, parameter: Tensor, versions: int) -> Tensor:
        ctx.versions = versions
        each = parameter[:, None].expand(-1, versions, *parameter.shape[1:])
        return contiguous_copy(each).flatten(0, 1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        each = gradients[0].view(-1, ctx.versions, *gradients[0].shape[1:]).unbind(1)
        # One after the other: a sum over an axis may group its terms by the size of the others.
        total = contiguous_copy(each[0])
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
