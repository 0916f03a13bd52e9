"""Links that take the mean of several states of a node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from agnn.kernels._chain import Link
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

    def alone(self, x: Tensor) -> Tensor:
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

    def alone(self, x: Tensor) -> Tensor:
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
