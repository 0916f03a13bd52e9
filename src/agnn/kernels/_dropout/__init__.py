"""Dropout of dense states by counter-based random numbers: interface and definition.

A random number depends on the seed of its replica, the place in the model, the epoch, and the
labels of row and column. Nothing is stored: the backward pass draws the same numbers again, and
neither pruning nor other replicas change them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.errors import InputError
from agnn.kernels._backends import implementation
from agnn.kernels._chain import Link, run_chain
from agnn.kernels._counter import stream_key
from agnn.kernels._runtime.memory import buffer_like

_VERSION = 2**32  # between the places of two versions of a replica: more than a model has


@dataclass(frozen=True, eq=False)
class DropoutAt:
    """Dropout at one place of a model, for all replicas."""

    keys: Tensor  # [R, 2] int64, each a 32-bit word
    thresholds: Tensor  # [R] int64: an entry is dropped where its word is below
    scales: Tensor  # [R] float64: 1 / (1 - rate)
    epoch: Tensor  # [1] int64, moved on in place by its stream

    def of_replica(self, replica: int) -> DropoutAt:
        """The dropout of one replica, alone."""
        rows = slice(replica, replica + 1)
        return DropoutAt(self.keys[rows], self.thresholds[rows], self.scales[rows], self.epoch)

    @cached_property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Keys, thresholds and scales for compiled CPU code."""
        return (
            self.keys.numpy().astype(np.uint32),
            self.thresholds.numpy().astype(np.uint32),
            self.scales.numpy(),
        )


class Dropout:
    """The dropout of a training run: a seed and a rate for each replica, and the epoch.

    `at(place)` gives the dropout of one place in the model; different places, epochs and seeds
    draw unrelated numbers. The epoch lies in a tensor that is changed in place, so that a
    recorded CUDA graph sees it move.
    """

    def __init__(
        self, seeds: Sequence[int], rates: Sequence[float], device: torch.device | str = "cpu"
    ) -> None:
        if len(seeds) != len(rates):
            raise InputError(f"{len(seeds)} seeds but {len(rates)} dropout rates.")
        for rate in rates:
            if not 0.0 <= rate < 1.0:
                raise InputError(f"`dropout` must be at least 0 and below 1; got {rate}.")
        self.seeds = tuple(seeds)
        self.rates = tuple(rates)
        self.device = torch.device(device)
        self.epoch = torch.zeros(1, dtype=torch.int64, device=self.device)
        self._places: dict[tuple[int, int, float | None], DropoutAt] = {}

    def at(self, place: int, *, versions: int = 1, rate: float | None = None) -> DropoutAt:
        """The dropout at `place`, any small number that the model gives to its places.

        With `versions` every replica has that many streams, [R * versions], version s of replica
        r at r * versions + s; the first is the replica's own. `rate` is the rate of this place
        where it has one of its own.
        """
        key = (place, versions, rate)
        if key not in self._places:
            rates = self.rates if rate is None else (rate,) * len(self.rates)
            rates = tuple(rate for rate in rates for _ in range(versions))
            words = [
                _key(seed, place + version * _VERSION)
                for seed in self.seeds
                for version in range(versions)
            ]
            keys = torch.tensor(words, dtype=torch.int64, device=self.device)
            thresholds = [int(rate * 2**32) for rate in rates]
            scales = [1.0 / (1.0 - rate) for rate in rates]
            self._places[key] = DropoutAt(
                keys,
                torch.tensor(thresholds, dtype=torch.int64, device=self.device),
                torch.tensor(scales, dtype=torch.float64, device=self.device),
                self.epoch,
            )
        return self._places[key]


def _key(seed: int, place: int) -> tuple[int, int]:
    """Two 32-bit words from a seed of any size and a place."""
    key = stream_key(seed, place)
    return key & 0xFFFFFFFF, key >> 32


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


class RowDropoutLink(DropoutLink):
    """Whole rows set to zero at each replica's rate, the rest scaled up.

    The random number of a row is that of dropout's entry in column 0.
    """

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


def dropout(h: Tensor, row_ids: Tensor, drop: DropoutAt | None, *, backend: str = "auto") -> Tensor:
    """`h` [R, n, d] with entries set to zero at each replica's rate and the rest scaled up.

    `row_ids` [n] are the rows' labels in the whole graph, by which the random numbers are drawn.
    Without a `drop` (evaluation) `h` comes back as it is.
    """
    return h if drop is None else run_chain([DropoutLink(row_ids, drop, backend)], h)


WORD = 0xFFFFFFFF
# 2^32 over the golden ratio: multiples of it, one for each column, spread evenly over 32 bits.
GOLDEN = 0x9E3779B9


def mix(x: Tensor) -> Tensor:
    """A 32-bit hash with full avalanche (two multiplications, three shifts), in int64 storage."""
    # The constants of C. Wellons' lowbias32, found by a search for the least biased ones.
    x = x ^ (x >> 16)
    x = (x * 0x7FEB352D) & WORD
    x = x ^ (x >> 15)
    x = (x * 0x846CA68B) & WORD
    return x ^ (x >> 16)


def random_words(drop: DropoutAt, rows: Tensor, columns: Tensor) -> Tensor:
    """One uniform 32-bit word for each entry (rows[k], columns[k]); [R, k] int64."""
    # [R, 1]
    row_key = drop.keys[:, :1]
    epoch_key = drop.keys[:, 1:]
    epoch = mix((drop.epoch & WORD) ^ epoch_key)
    row_state = mix((rows + epoch) & WORD) ^ row_key
    return mix((row_state + columns * GOLDEN) & WORD)


def factors(drop: DropoutAt, rows: Tensor, columns: Tensor, dtype: torch.dtype) -> Tensor:
    """What each entry is multiplied by: 0 where dropped, 1 / (1 - rate) where kept; [R, k]."""
    is_kept = random_words(drop, rows, columns) >= drop.thresholds[:, None]
    return is_kept.to(dtype) * drop.scales.to(dtype)[:, None]


def forward(h: Tensor, row_ids: Tensor, drop: DropoutAt) -> Tensor:
    """`h` [R, n, d] times its factors; row k of `h` draws the numbers of row `row_ids[k]`."""
    _, n, d = h.shape
    rows = row_ids[:, None].expand(n, d).reshape(-1)
    columns = torch.arange(d, device=h.device).repeat(n)
    return h * factors(drop, rows, columns, h.dtype).view(h.shape)


# Dropout is linear in h and symmetric: the gradient is dropped by the same factors.
backward = forward
