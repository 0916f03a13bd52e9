"""The randomness of dropout: one stream for a set of replicas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.errors import InputError
from agnn.kernels._counter import stream_key

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
        own = slice(replica, replica + 1)
        return DropoutAt(self.keys[own], self.thresholds[own], self.scales[own], self.epoch)

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
    captured program sees it move.
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
        wanted = (place, versions, rate)
        if wanted not in self._places:
            rates = self.rates if rate is None else (rate,) * len(self.rates)
            rates = tuple(each for each in rates for _ in range(versions))
            words = [
                _key(seed, place + version * _VERSION)
                for seed in self.seeds
                for version in range(versions)
            ]
            keys = torch.tensor(words, dtype=torch.int64, device=self.device)
            thresholds = [int(each * 2**32) for each in rates]
            scales = [1.0 / (1.0 - each) for each in rates]
            self._places[wanted] = DropoutAt(
                keys,
                torch.tensor(thresholds, dtype=torch.int64, device=self.device),
                torch.tensor(scales, dtype=torch.float64, device=self.device),
                self.epoch,
            )
        return self._places[wanted]


def _key(seed: int, place: int) -> tuple[int, int]:
    """Two 32-bit words from a seed of any size and a place."""
    key = stream_key(seed, place)
    return key & 0xFFFFFFFF, key >> 32
