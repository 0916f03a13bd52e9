"""Dropout of dense states by counter-based random numbers: interface and definition."""

from __future__ import annotations

from typing import ClassVar, Protocol

import torch
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

    is_by_row: ClassVar[bool] = True

    def __init__(self, row_ids: Tensor, drop: DropoutAt, backend: str) -> None:
        self.row_ids = row_ids
        self.drop = drop
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


WORD = 0xFFFFFFFF
GOLDEN = 0x9E3779B9


def mixed(x: Tensor) -> Tensor:
    """A 32-bit hash with full avalanche (two multiplications, three shifts), in int64 storage."""
    x = x ^ (x >> 16)
    x = (x * 0x7FEB352D) & WORD
    x = x ^ (x >> 15)
    x = (x * 0x846CA68B) & WORD
    return x ^ (x >> 16)


def random_words(drop: DropoutAt, rows: Tensor, columns: Tensor) -> Tensor:
    """One uniform 32-bit word for each entry (rows[k], columns[k]); [R, k] int64."""
    # [R, 1]
    first = drop.keys[:, :1]
    second = drop.keys[:, 1:]
    epoch = mixed((drop.epoch & WORD) ^ second)
    row_state = mixed((rows + epoch) & WORD) ^ first
    return mixed((row_state + columns * GOLDEN) & WORD)


def factors(drop: DropoutAt, rows: Tensor, columns: Tensor, dtype: torch.dtype) -> Tensor:
    """What each entry is multiplied by: 0 where dropped, 1 / (1 - rate) where kept; [R, k]."""
    kept = random_words(drop, rows, columns) >= drop.thresholds[:, None]
    return kept.to(dtype) * drop.scales.to(dtype)[:, None]


def forward(h: Tensor, row_ids: Tensor, drop: DropoutAt) -> Tensor:
    """`h` [R, n, d] times its factors; row k of `h` draws the numbers of row `row_ids[k]`."""
    _, n, d = h.shape
    rows = row_ids[:, None].expand(n, d).reshape(-1)
    columns = torch.arange(d, device=h.device).repeat(n)
    return h * factors(drop, rows, columns, h.dtype).view(h.shape)


# Dropout is linear in h and symmetric: the gradient is dropped by the same factors.
backward = forward
