"""A rank's part of a graph in training: what every layer computes, sends and receives.

Outputs at some nodes depend on ever more rows from the last layer to the first. A layer computes
the rows that some rank's next layer reads, and only those travel. No bit depends on it: the rows
that are left out would add zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.distributed._ranks import Exchange, Ranks
from agnn.distributed._sums import BlockSums
from agnn.errors import InputError
from agnn.graph import DenseFeatures, FeatureMatrix, Features, Graph, Part, ReceptiveField, View
from agnn.kernels import Runs

Mask = NDArray[np.bool_]
# The share of a layer's edges, or of a block's rows, from which it is cheaper to take all of them.
_NEARLY_ALL: Final = 0.8
_ROWS_AT_ONCE: Final = 100_000


class TwoRuns(NamedTuple):
    """Rows in two groups: those whose neighbours are all their rank's own, and the others."""

    inner: Runs
    border: Runs
    is_all: bool  # whether they are all rows of the rank

    @classmethod
    def of(cls, chosen: Mask, offsets: NDArray[np.int64], inner: int) -> TwoRuns:
        """The chosen rows of a part, of which the first are inner ones."""
        is_inner = np.arange(chosen.size) < inner
        first, second = (Runs.of(chosen & each, offsets) for each in (is_inner, ~is_inner))
        return cls(first, second, bool(chosen.all()))


class Blocks(NamedTuple):
    """Some rows of every own block, in the order of the nodes."""

    rows: tuple[slice | Tensor, ...]
    is_all: bool  # whether they are all rows of the rank


class Route(NamedTuple):
    """Rows on their way between ranks: where they stand there and where they come to here."""

    rows: Tensor  # own rows that are sent, by receiving rank
    counts: list[int]  # of them, by receiving rank
    places: Tensor | slice  # local rows that arrive, by sending rank
    arriving: list[int]  # of them, by sending rank
    halo: int  # rows of the whole halo
    is_all: bool  # whether all of them arrive


class Layer(NamedTuple):
    """A layer over edges: its rows there and back, and what it needs of other ranks."""

    graph: Graph  # edges without a computed row at an end may be left out
    rows: TwoRuns  # that it computes
    reached: TwoRuns  # those and their neighbours: the gradient elsewhere is zero
    there: Route  # states, for the rows and for the gradient
    back: Route  # gradients


class Needed(NamedTuple):
    """What the outputs at some rows of all ranks depend on."""

    rows: Tensor  # of the outputs, in the order of the nodes
    of_outputs: Blocks  # among them
    layers: tuple[Layer, ...]  # over edges, first to last
    blocks: tuple[Blocks, ...]  # of the rows that each of the layers reads, then of the outputs
    features: tuple[Features, ...]  # of the first of these blocks


@dataclass(frozen=True, eq=False)
class LocalGraph:
    """A part as the links read it, with its own rows in another order.

    Rows whose neighbours are all here come first, then the others, each in the order of the nodes:
    rows that are computed together stand together. Sums over rows run in the order of the nodes.
    """

    part: Part
    offsets: NDArray[np.int64]  # [own + 1]
    columns: NDArray[np.int32]  # [m]
    order: NDArray[np.int64]  # [own] which row of the part each row is
    places: NDArray[np.int64]  # [own] where each row of the part is
    inner: int  # rows whose neighbours are all here
    graph: Graph
    features: tuple[Features, ...]  # of each block
    sums: BlockSums
    ranks: Ranks
    wire: torch.dtype | None  # that states travel in; None: as they are

    @classmethod
    def of(cls, part: Part, ranks: Ranks, wire: torch.dtype | None = None) -> LocalGraph:
        """The part of this rank."""
        if part.rank != ranks.rank or part.ranks != ranks.size:
            raise InputError(
                f"part {part.rank} of {part.ranks} was given to rank {ranks.rank} of {ranks.size}."
            )
        is_border = _any_by_row(part.columns >= part.own, part.offsets)
        order = np.argsort(is_border, kind="stable")
        places = np.empty_like(order)
        places[order] = np.arange(part.own)
        offsets, columns = part.offsets, np.asarray(part.columns)
        if is_border.any():
            offsets, columns = _arranged(part, order, places)
        return cls(
            part=part,
            offsets=offsets,
            columns=columns,
            order=order,
            places=places,
            inner=part.own - int(is_border.sum()),
            graph=_graph(offsets, columns, part.halo.size).to(ranks.device),
            features=tuple(_block_features(part, str(ranks.device))),
            sums=BlockSums(ranks, part.bounds),
            ranks=ranks,
            wire=wire,
        )

    @property
    def is_as_given(self) -> bool:
        """Whether the rows stand in the order of the nodes."""
        return self.inner in (0, self.part.own)

    def view(self, hops: int) -> View:
        """The own rows as targets, for models that state their links; features of one block."""
        part, device = self.part, self.graph.device
        nodes = torch.from_numpy(part.first + self.order).to(device)
        field = ReceptiveField(self.graph, nodes, None, (part.own,) * (hops + 1))
        degrees = np.array(part.degrees)
        degrees[: part.own] = degrees[self.order]
        return View(self.features[0], field, torch.from_numpy(degrees).to(device))

    def around(self, rows: NDArray[np.int64], hops: int) -> Needed:
        """What the outputs at these rows of the part, and those of other ranks, depend on."""
        chosen = np.zeros(self.part.own, dtype=bool)
        chosen[self.places[rows]] = True
        layers, blocks = list[Layer](), [self._blocks_of(self._picks(chosen))]
        for _ in range(hops):
            layer, chosen = self._layer(chosen)
            layers.append(layer)
            blocks.append(self._blocks_of(self._picks(chosen)))
        features = (
            own if picks is None else own.select(torch.from_numpy(picks).to(self.graph.device))
            for own, picks in zip(self.features, self._picks(chosen), strict=True)
        )
        bounds = np.searchsorted(rows, self.part.blocks).tolist()
        return Needed(
            torch.from_numpy(self.places[rows]).to(self.graph.device),
            Blocks(tuple(slice(first, last) for first, last in pairwise(bounds)), is_all=True),
            tuple(layers[::-1]),
            tuple(blocks[::-1]),
            tuple(features),
        )

    def _layer(self, chosen: Mask) -> tuple[Layer, Mask]:
        """The layer that computes these rows, and those that it reads."""
        part, columns, degrees = self.part, self.columns, np.diff(self.offsets)
        sent = chosen[self.places[part.send_rows]]
        marked = np.concatenate([chosen, self._flags(sent)])
        is_end = marked[columns]  # of every edge, whether its sender is computed
        reached = chosen | _any_by_row(is_end, self.offsets)
        is_read = np.repeat(chosen, degrees)
        # The gradient at a row needs the states of the computed rows that read it, too.
        wanted = marked.copy()
        wanted[columns[is_read]] = True
        kept = is_read | is_end
        del is_read, is_end
        graph, offsets = self.graph, self.offsets
        if kept.size and kept.mean() < _NEARLY_ALL:
            counts = np.zeros(part.own, np.int64)
            filled = degrees > 0  # see _any_by_row
            counts[filled] = np.add.reduceat(kept, offsets[:-1][filled], dtype=np.int64)
            offsets = np.concatenate([[0], np.cumsum(counts)])
            graph = _graph(offsets, columns[kept], part.halo.size).to(graph.device)
        layer = Layer(
            graph,
            TwoRuns.of(chosen, offsets, self.inner),
            TwoRuns.of(reached, offsets, self.inner),
            self._route(self._flags(wanted[part.own :], is_back=True), wanted[part.own :]),
            self._route(sent, marked[part.own :]),
        )
        return layer, reached

    def _flags(self, own: Mask, *, is_back: bool = False) -> Mask:
        """The flags of the halo's rows for those of the rows sent, or the other way round."""
        part = self.part
        counts = part.send_counts.tolist(), part.receive_counts.tolist()
        packed = torch.from_numpy(own.astype(np.uint8))[:, None].to(self.ranks.device)
        found = self.ranks.exchange(packed, *(counts[::-1] if is_back else counts))
        flags: Mask = found.wait()[:, 0].cpu().numpy() > 0
        return flags

    def _route(self, is_sent: Mask, arrives: Mask) -> Route:
        part, device = self.part, self.ranks.device
        is_all = bool(arrives.all())
        places = torch.from_numpy(np.flatnonzero(arrives) + part.own).to(device)
        return Route(
            torch.from_numpy(self.places[part.send_rows[is_sent]]).to(device),
            _counted(is_sent, part.send_counts),
            slice(part.own, None) if is_all else places,
            _counted(arrives, part.receive_counts),
            arrives.size,
            is_all,
        )

    def _picks(self, chosen: Mask) -> list[NDArray[np.int64] | None]:
        """Which rows of every block are chosen; None for all of them, where nearly all are."""
        found = list[NDArray[np.int64] | None]()
        for first, last in pairwise(self.part.blocks.tolist()):
            own = chosen[self.places[first:last]]
            found.append(None if own.sum() >= _NEARLY_ALL * own.size else np.flatnonzero(own))
        return found

    def _blocks_of(self, picks: Sequence[NDArray[np.int64] | None]) -> Blocks:
        found = list[slice | Tensor]()
        for (first, last), own in zip(pairwise(self.part.blocks.tolist()), picks, strict=True):
            if own is None and self.is_as_given:
                found.append(slice(first, last))
                continue
            rows = self.places[first:last]
            some = torch.from_numpy(rows if own is None else rows[own])
            found.append(some.to(self.graph.device))
        return Blocks(tuple(found), all(own is None for own in picks))

    def send(self, route: Route, *states: Tensor) -> Exchange:
        """Begin to send rows of states [R, own, k] to where they are needed."""
        found = [each.index_select(1, route.rows).transpose(0, 1) for each in states]
        if self.wire is not None:  # what follows the states is exact: two short numbers each
            found = [
                found[0].to(self.wire),
                *(each.contiguous().view(self.wire) for each in found[1:]),
            ]
        packed = torch.cat(found, 2) if len(found) > 1 else found[0]
        return self.ranks.exchange(packed, route.counts, route.arriving)

    def receive(self, exchange: Exchange, width: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """The rows that came, the first `width` numbers and the exact ones; [R, h, .] each."""
        came = exchange.wait().transpose(0, 1)
        exact = came[..., width:]
        if self.wire is not None:
            exact = exact.contiguous().view(dtype)
        return came[..., :width].to(dtype), exact


def _any_by_row(flags: Mask, offsets: NDArray[np.int64]) -> Mask:
    """Whether any of a row's entries is true; [rows]."""
    found = np.zeros(offsets.size - 1, dtype=bool)
    # `reduceat` has no sum of nothing, so it gets no empty rows: each would end the one before.
    filled = np.diff(offsets) > 0
    if flags.size:
        found[filled] = np.logical_or.reduceat(flags, offsets[:-1][filled])
    return found


def _arranged(
    part: Part, order: NDArray[np.int64], places: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The offsets and columns of the rows in this order; some at a time, for the memory."""
    degrees = np.diff(part.offsets)[order]
    offsets = np.concatenate([[0], np.cumsum(degrees)])
    numbers = np.concatenate([places, np.arange(part.own, part.own + part.halo.size)])
    numbers, columns = numbers.astype(np.int32), np.empty(part.columns.size, np.int32)
    for first in range(0, part.own, _ROWS_AT_ONCE):
        rows = slice(first, min(first + _ROWS_AT_ONCE, part.own))
        own = slice(int(offsets[rows.start]), int(offsets[rows.stop]))
        shifts = part.offsets[order[rows]] - offsets[rows]
        entries = np.repeat(shifts, degrees[rows]) + np.arange(own.start, own.stop)
        columns[own] = numbers[part.columns[entries]]
    return offsets, columns


def _graph(offsets: NDArray[np.int64], columns: NDArray[np.int32], halo: int) -> Graph:
    """The own rows as the kernels read them, followed by empty rows for the halo."""
    ends = np.full(halo, offsets[-1])
    return Graph(torch.from_numpy(np.concatenate([offsets, ends])), torch.from_numpy(columns))


def _counted(chosen: Mask, counts: NDArray[np.int64]) -> list[int]:
    """How many of consecutive groups of `counts` rows are chosen."""
    ends = np.concatenate([[0], np.cumsum(chosen)])[np.concatenate([[0], np.cumsum(counts)])]
    found: list[int] = np.diff(ends).tolist()
    return found


def _block_features(part: Part, device: str) -> list[Features]:
    """The features of each block with memory of their own, so that all have one alignment.

    Rows in a file that are whole cache lines stay there.
    """
    found: list[Features] = []
    bounds = part.blocks.tolist()
    for first, last in pairwise(bounds):
        ids = torch.arange(part.first + first, part.first + last)
        rows = part.features[first:last]
        if isinstance(rows, np.ndarray):
            is_mapped = isinstance(rows, np.memmap) and rows.shape[1] % 16 == 0
            values = torch.from_numpy(rows if is_mapped else np.array(rows, dtype=np.float32))
            found.append(DenseFeatures(values, ids).to(device))
            continue
        matrix = FeatureMatrix.from_scipy(rows)
        own = FeatureMatrix(matrix.offsets, matrix.columns, matrix.values, ids, matrix.width)
        found.append(own.to(device))
    return found
