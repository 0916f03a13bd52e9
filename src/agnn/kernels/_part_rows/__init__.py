"""Attention and propagation at some rows of a rank's part, with what other ranks know given.

A layer on a part needs two calls: the rows whose neighbours are all its own while the halo
travels, then the others. So rows are given in runs, and what a neighbour must know about a row to
take its gradient stands in `facts`: the inverse length of its state, the inverse sum of its
unnormalised weights and g . o. docs/kernels.md derives the backward pass, which reads rows only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.errors import UnavailableError
from agnn.graph import Graph, Propagation
from agnn.kernels._backends import implementation

FACTS: Final = 4  # numbers per row, in 16 bytes; the last is unused
INVERSE_NORM = 0
INVERSE_TOTAL = 1
SLOPE = 2
# Below this beta a whole row could underflow under the constant shift of the scores.
_LOWEST_BETA: Final = -40.0
_LONGEST_RUN: Final = 256  # rows, so that threads can share them
_LONGEST_ROW: Final = 1024  # entries that one of several rows of a program of a GPU may have


@dataclass(frozen=True, eq=False)
class Runs:
    """Rows as runs of consecutive ones; run k is from `starts[k]` to before `ends[k]`."""

    starts: NDArray[np.uint64]
    ends: NDArray[np.uint64]
    edges: int  # that the rows hold, for the division among threads
    long: NDArray[np.int64]  # the rows with many entries
    known: dict[torch.device, tuple[Tensor, Tensor]] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: NDArray[np.bool_], offsets: NDArray[np.int64]) -> Runs:
        """The rows for which `rows` [n] is true; `offsets` [n + 1] are the graph's."""
        steps = np.diff(np.concatenate([[False], rows, [False]]).astype(np.int8))
        starts = np.flatnonzero(steps == 1)
        ends = np.flatnonzero(steps == -1)
        counts = -(-(ends - starts) // _LONGEST_RUN)
        place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        first = np.repeat(starts, counts) + place * _LONGEST_RUN
        last = np.minimum(first + _LONGEST_RUN, np.repeat(ends, counts))
        lengths = np.diff(offsets) * rows
        long = np.flatnonzero(lengths > _LONGEST_ROW)
        return cls(first.astype(np.uint64), last.astype(np.uint64), int(lengths.sum()), long)

    def on(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """The rows with few entries and those with many, on a device."""
        if device not in self.known:
            spans = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
            rows = np.concatenate([np.zeros(0, np.int64), *(np.arange(*each) for each in spans)])
            short = np.setdiff1d(rows, self.long, assume_unique=True)
            found = (torch.from_numpy(each).to(device) for each in (short, self.long))
            self.known[device] = (next(found), next(found))
        return self.known[device]


class PartRows(Protocol):
    """What a backend offers; states are [R, own + halo, width(d)], zero beyond column d."""

    def width(self, d: int) -> int:
        """The columns that states of d numbers take."""

    def norms(self, h: Tensor, facts: Tensor, first: int, last: int) -> None:
        """Write the inverse lengths of rows first..last of `h` into `facts`; 0 for a zero row."""

    def attend(
        self, graph: Graph, h: Tensor, beta: Tensor, facts: Tensor, runs: Runs, out: Tensor
    ) -> None:
        """Write the new states of the rows in `runs`, and their inverse totals."""

    def slopes(self, gradient: Tensor, out: Tensor, facts: Tensor, rows: int) -> None:
        """Write g_i . o_i of the first rows into `facts`."""

    def attend_back(
        self,
        graph: Graph,
        h: Tensor,
        g: Tensor,
        beta: Tensor,
        facts: Tensor,
        runs: Runs,
        out: tuple[Tensor, Tensor],
    ) -> None:
        """Write the gradient at the rows in `runs`, and their parts of the gradient at beta.

        `out` is where they go: [R, own + halo, width(d)] and [R, own].
        """

    def propagate(self, propagation: Propagation, h: Tensor, runs: Runs, out: Tensor) -> None:
        """Write P h at the rows in `runs`."""

    def block_sums(self, parts: Tensor, bounds: NDArray[np.int64]) -> Tensor:
        """The sums of `parts` [R, own] over each block, in double precision; [blocks, R]."""


def part_rows(backend: str, device: str) -> PartRows:
    """The row operations of a backend on a type of device."""
    return cast(PartRows, implementation("part_rows", backend, device))


def check_betas(beta: Tensor) -> None:
    """Raise where a beta is too low for the constant shift."""
    lowest = float(beta.detach().min())
    if lowest < _LOWEST_BETA:
        raise UnavailableError(
            f"a beta is {lowest:.1f}; below {_LOWEST_BETA:.0f} a graph in parts cannot be trained. "
            f"Use a lower learning rate, or one process."
        )
