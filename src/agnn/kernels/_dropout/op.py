"""Dropout of dense states, with the counter-based random numbers of `reference.py`."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from agnn.errors import InputError
from agnn.kernels._backends import implementation
from agnn.kernels._chain import Link, run_chain
from agnn.kernels._dropout.stream import DropoutAt


class DropoutBackend(Protocol):
    """What every implementation of dropout has."""

    def forward(self, h: Tensor, row_ids: Tensor, drop: DropoutAt) -> Tensor: ...

    def backward(self, gradient: Tensor, row_ids: Tensor, drop: DropoutAt, /) -> Tensor: ...


class DropoutLink(Link):
    """`dropout` in a chain."""

    def __init__(self, row_ids: Tensor, drop: DropoutAt, backend: str) -> None:
        self.row_ids, self.drop = row_ids, drop
        self.backend: DropoutBackend = implementation("dropout", backend, drop.keys.device.type)
        # In another epoch the backward pass would draw other numbers.
        self.watched = (drop.epoch,)

    def forward(self, x: Tensor) -> Tensor:
        """The states with some entries dropped."""
        replicas = self.drop.keys.shape[0]
        if x.ndim != 3 or self.row_ids.shape != x.shape[1:2] or replicas != x.shape[0]:
            raise InputError(
                f"`h` must have shape [R, n, d] for R = {replicas} replicas and "
                f"n = {self.row_ids.numel()} rows; got {list(x.shape)}."
            )
        return self.backend.forward(x, self.row_ids, self.drop)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradient, dropped at the same entries."""
        return self.backend.backward(gradient, self.row_ids, self.drop), ()


def dropout(h: Tensor, row_ids: Tensor, drop: DropoutAt | None, *, backend: str = "auto") -> Tensor:
    """`h` [R, n, d] with entries set to zero at each replica's rate and the rest scaled up.

    `row_ids` [n] are the rows' labels in the whole graph, by which the random numbers are drawn.
    Without a `drop` (evaluation) `h` comes back as it is.
    """
    return h if drop is None else run_chain([DropoutLink(row_ids, drop, backend)], h)
