"""Attention and propagation at some rows of a rank's part, with what other ranks know given.

A layer on a part needs two calls: the rows whose neighbours are all its own while the halo
travels, then the others. So rows are given in runs, and what a neighbour must know about a row to
take its gradient stands in `facts`: the inverse length of its state, the inverse sum of its
unnormalised weights and g . o. docs/notes/kernels.md derives the backward pass, which
reads rows only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.graph import Graph, Propagation
from agnn.kernels._backends import implementation

FACTS: Final = 4  # numbers per row, in 16 bytes; the last is unused
INVERSE_NORM = 0
INVERSE_TOTAL = 1
SLOPE = 2
_LONGEST_RUN: Final = 256  # rows, so that threads can share them
_LONGEST_ROW: Final = 1024  # entries that one of several rows of a block of a GPU may have


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
        number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        begins = np.repeat(starts, counts) + number * _LONGEST_RUN
        stops = np.minimum(begins + _LONGEST_RUN, np.repeat(ends, counts))
        lengths = np.diff(offsets) * rows
        long = np.flatnonzero(lengths > _LONGEST_ROW)
        return cls(begins.astype(np.uint64), stops.astype(np.uint64), int(lengths.sum()), long)

    def on(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """The rows with few entries and those with many, on a device."""
        if device not in self.known:
            spans = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
            rows = np.concatenate([np.zeros(0, np.int64), *(np.arange(*span) for span in spans)])
            short = np.setdiff1d(rows, self.long, assume_unique=True)
            self.known[device] = (
                torch.from_numpy(short).to(device),
                torch.from_numpy(self.long).to(device),
            )
        return self.known[device]


class Matrices(NamedTuple):
    """Weights of a graph's edges and of the nodes themselves: one matrix, or one per replica."""

    graph: Graph
    edges: Tensor  # [1 or R, m]
    loops: Tensor  # [1 or R, rows]

    @classmethod
    def of(cls, propagation: Propagation) -> Self:
        """The matrix of a propagation."""
        return cls(
            propagation.graph, propagation.edge_weights[None], propagation.loop_weights[None]
        )


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

    def propagate(self, matrices: Matrices, h: Tensor, runs: Runs, out: Tensor) -> None:
        """Write P h at the rows in `runs`."""

    def block_sums(self, parts: Tensor, bounds: NDArray[np.int64]) -> Tensor:
        """The sums of `parts` [R, own] over each block, in double precision; [blocks, R]."""


def part_rows(backend: str, device: str) -> PartRows:
    """The row operations of a backend on a type of device."""
    return cast(PartRows, implementation("part_rows", backend, device))


# The definition, in plain torch.


def width(d: int) -> int:
    """As they are."""
    return d


def norms(h: Tensor, facts: Tensor, first: int, last: int) -> None:
    """1 / |h_i|, 0 for a zero row."""
    length = h[:, first:last].norm(dim=2)
    inverse = torch.where(length > 0, 1 / length.where(length > 0, 1.0), 0.0)
    facts[:, first:last, INVERSE_NORM] = inverse


def _edges(graph: Graph, runs: Runs) -> tuple[Tensor, Tensor]:
    """The rows of the runs, and each of their edges."""
    spans = zip(runs.starts.tolist(), runs.ends.tolist(), strict=True)
    rows = torch.cat([torch.zeros(0, dtype=torch.int64), *(torch.arange(*s) for s in spans)])
    is_row = torch.zeros(graph.nodes, dtype=torch.bool, device=graph.device)
    is_row[rows.to(graph.device)] = True
    return rows.to(graph.device), is_row[graph.receivers].nonzero().squeeze(1)


def _weights(h: Tensor, beta: Tensor, facts: Tensor, i: Tensor, j: Tensor) -> tuple[Tensor, Tensor]:
    """exp(beta cos - shift) of edges (i, j) [R, k], 1 where row i is zero; and the cosines."""
    inverse = facts[:, :, INVERSE_NORM]
    cosine = inverse[:, i] * inverse[:, j] * (h[:, i] * h[:, j]).sum(-1)
    e = (beta[:, None] * cosine - beta[:, None].clamp(min=0)).exp()
    return torch.where(inverse[:, i] > 0, e, 1.0), cosine


def _edge_weights(graph: Graph, edges: Tensor, dtype: torch.dtype) -> Tensor:
    """The weights that the graph has for these edges; ones where it has none."""
    weights = graph.weights_as(dtype)
    return torch.ones(1, dtype=dtype, device=edges.device) if weights is None else weights[edges]


def _own_weights(beta: Tensor, facts: Tensor, rows: Tensor) -> Tensor:
    e = (beta - beta.clamp(min=0)).exp()[:, None]
    return torch.where(facts[:, rows, INVERSE_NORM] > 0, e, 1.0)


def attend(graph: Graph, h: Tensor, beta: Tensor, facts: Tensor, runs: Runs, out: Tensor) -> None:
    """o_i = (e_ii h_i + sum of e_ij h_j) / Z_i."""
    rows, edges = _edges(graph, runs)
    i = graph.receivers[edges]
    j = graph.senders[edges]
    e = _weights(h, beta, facts, i, j)[0] * _edge_weights(graph, edges, h.dtype)
    loops = _own_weights(beta, facts, rows)
    total = h.new_zeros(h.shape[:2])
    state = torch.zeros_like(h)
    total[:, rows] = loops
    state[:, rows] = loops[..., None] * h[:, rows]
    total.index_add_(1, i, e)
    state.index_add_(1, i, e[..., None] * h[:, j])
    facts[:, rows, INVERSE_TOTAL] = 1 / total[:, rows]
    out[:, rows] = state[:, rows] / total[:, rows, None]


def slopes(gradient: Tensor, out: Tensor, facts: Tensor, rows: int) -> None:
    """g_i . o_i."""
    facts[:, :rows, SLOPE] = (gradient[:, :rows] * out[:, :rows]).sum(-1)


def attend_back(
    graph: Graph,
    h: Tensor,
    g: Tensor,
    beta: Tensor,
    facts: Tensor,
    runs: Runs,
    out: tuple[Tensor, Tensor],
) -> None:
    """Row i gathers what its neighbours' rows and its own give it: e_ij = e_ji."""
    dh, parts = out
    rows, edges = _edges(graph, runs)
    i = graph.receivers[edges]
    j = graph.senders[edges]
    inverse = facts[:, :, 0]
    scale = facts[:, :, 1]
    slope = facts[:, :, 2]
    weights = _edge_weights(graph, edges, h.dtype)
    e, cosine = _weights(h, beta, facts, i, j)
    e = e * weights
    back = _weights(h, beta, facts, j, i)[0] * weights  # of the weight alone where row j is zero
    pull = ((g[:, i] * h[:, j]).sum(-1) - slope[:, i]) * scale[:, i]
    push = ((g[:, j] * h[:, i]).sum(-1) - slope[:, j]) * scale[:, j]
    is_turned = (inverse[:, i] > 0) & (inverse[:, j] > 0)
    by_cosine = torch.where(is_turned, beta[:, None] * e * (pull + push), 0.0)
    unit = h * inverse[..., None]
    turned = torch.zeros_like(h).index_add_(1, i, by_cosine[..., None] * unit[:, j])
    along = torch.zeros_like(scale).index_add_(1, i, by_cosine * cosine)
    loops = _own_weights(beta, facts, rows) * scale[:, rows]
    valued = torch.zeros_like(h)
    valued[:, rows] = loops[..., None] * g[:, rows]
    valued.index_add_(1, i, (back * scale[:, j])[..., None] * g[:, j])
    change = (turned - along[..., None] * unit) * inverse[..., None]
    dh[:, rows] = (valued + change)[:, rows]
    of_beta = torch.zeros_like(scale).index_add_(1, i, torch.where(is_turned, e * pull * cosine, 0))
    alone = loops * ((g[:, rows] * h[:, rows]).sum(-1) - slope[:, rows])
    of_beta[:, rows] += torch.where(inverse[:, rows] > 0, alone, 0.0)
    parts[:, rows] = of_beta[:, rows]


def propagate(matrices: Matrices, h: Tensor, runs: Runs, out: Tensor) -> None:
    """P_ii h_i + sum of P_ij h_j."""
    graph = matrices.graph
    rows, edges = _edges(graph, runs)
    total = torch.zeros_like(h)
    total[:, rows] = matrices.loops[:, rows, None] * h[:, rows]
    weighted = matrices.edges[:, edges, None] * h[:, graph.senders[edges]]
    total.index_add_(1, graph.receivers[edges], weighted)
    out[:, rows] = total[:, rows]


def block_sums(parts: Tensor, bounds: NDArray[np.int64]) -> Tensor:
    """Block by block."""
    spans = zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    return torch.stack([parts[:, first:last].double().sum(1) for first, last in spans])
