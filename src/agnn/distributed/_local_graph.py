"""A rank's part of a graph in training: what every layer computes, sends and receives.

Outputs at some nodes depend on ever more rows from the last layer to the first. A layer computes
the rows that some rank's next layer reads, and only those travel. No bit depends on it: the rows
that are left out would add zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.distributed._ranks import Exchange, Ranks
from agnn.distributed._sums import BlockSums
from agnn.errors import InputError
from agnn.graph import DenseFeatures, Features, Graph, Part, ReceptiveField, SparseFeatures, View
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
        """Return the chosen rows of a part, of which the first are inner ones."""
        is_inner = np.arange(chosen.size) < inner
        inner_runs = Runs.of(chosen & is_inner, offsets)
        border_runs = Runs.of(chosen & ~is_inner, offsets)
        return cls(inner_runs, border_runs, bool(chosen.all()))


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
    edges_before: int  # stored edges of the ranks before
    known: dict[str, Any] = field(default_factory=dict)  # see `reverse` and `edge_ids`

    @classmethod
    def of(cls, part: Part, ranks: Ranks, wire: torch.dtype | None = None) -> LocalGraph:
        """Return the part of this rank."""
        if part.rank != ranks.rank or part.ranks != ranks.size:
            raise InputError(
                f"part {part.rank} of {part.ranks} was given to rank {ranks.rank} of {ranks.size}."
            )
        is_border = _any_by_row(part.columns >= part.own, part.offsets)
        order = np.argsort(is_border, kind="stable")
        positions = np.empty_like(order)
        positions[order] = np.arange(part.own)
        offsets = part.offsets
        columns = np.asarray(part.columns)
        weights = part.weights
        if is_border.any():
            offsets, columns, weights = _arrange(part, order, positions)
        sizes = [int(size) for size in ranks.gather(torch.tensor([columns.size]))]
        return cls(
            part=part,
            offsets=offsets,
            columns=columns,
            order=order,
            places=positions,
            inner=part.own - int(is_border.sum()),
            graph=_graph(offsets, columns, weights, part.halo.size).to(ranks.device),
            features=tuple(_block_features(part, str(ranks.device))),
            sums=BlockSums(ranks, part.bounds),
            ranks=ranks,
            wire=wire,
            edges_before=sum(sizes[: part.rank]),
        )

    @property
    def is_as_given(self) -> bool:
        """Whether the rows stand in the order of the nodes."""
        return self.inner in (0, self.part.own)

    def view(self, hops: int) -> View:
        """Return the own rows as targets of a view, which models state their links for."""
        sizes = (self.part.own,) * (hops + 1)
        field = _PartField(self.graph, self._nodes, None, sizes, self)
        return View(self.features[0], field, self._degrees)

    @cached_property
    def _nodes(self) -> Tensor:
        """The global numbers of the own rows; [own]."""
        return torch.from_numpy(self.part.first + self.order).to(self.graph.device)

    @cached_property
    def _degrees(self) -> Tensor:
        """The degrees of the own rows and the halo; [own + h]."""
        degrees = np.array(self.part.degrees)
        degrees[: self.part.own] = degrees[self.order]
        return torch.from_numpy(degrees).to(self.graph.device)

    def around(self, rows: NDArray[np.int64], hops: int) -> Needed:
        """Return what the outputs at these rows of the part, and of other ranks, depend on."""
        chosen = np.zeros(self.part.own, dtype=bool)
        chosen[self.places[rows]] = True
        layers = list[Layer]()
        blocks = [self._blocks_of(self._picks(chosen))]
        for _ in range(hops):
            layer, chosen = self._layer(chosen)
            layers.append(layer)
            blocks.append(self._blocks_of(self._picks(chosen)))
        features = (
            block if picks is None else block.select(torch.from_numpy(picks).to(self.graph.device))
            for block, picks in zip(self.features, self._picks(chosen), strict=True)
        )
        bounds = np.searchsorted(rows, self.part.blocks).tolist()
        return Needed(
            rows=torch.from_numpy(self.places[rows]).to(self.graph.device),
            of_outputs=Blocks(tuple(slice(*block) for block in pairwise(bounds)), is_all=True),
            layers=tuple(layers[::-1]),
            blocks=tuple(blocks[::-1]),
            features=tuple(features),
        )

    def _layer(self, chosen: Mask) -> tuple[Layer, Mask]:
        """Return the layer that computes these rows, and those that it reads."""
        part = self.part
        columns = self.columns
        degrees = np.diff(self.offsets)
        sent = chosen[self.places[part.send_rows]]
        marked = np.concatenate([chosen, self._flags(sent)])
        is_end = marked[columns]  # of every edge, whether its sender is computed
        reached = chosen | _any_by_row(is_end, self.offsets)
        is_read = np.repeat(chosen, degrees)
        # The gradient at a row needs the states of the computed rows that read it, too.
        is_needed = marked.copy()
        is_needed[columns[is_read]] = True
        is_kept = is_read | is_end
        del is_read, is_end
        graph = self.graph
        offsets = self.offsets
        if is_kept.size and is_kept.mean() < _NEARLY_ALL:
            counts = np.zeros(part.own, np.int64)
            filled = degrees > 0  # see _any_by_row
            counts[filled] = np.add.reduceat(is_kept, offsets[:-1][filled], dtype=np.int64)
            offsets = np.concatenate([[0], np.cumsum(counts)])
            weights = None if graph.weights is None else graph.weights.cpu().numpy()[is_kept]
            pruned = _graph(offsets, columns[is_kept], weights, part.halo.size)
            graph = pruned.to(graph.device)
        layer = Layer(
            graph,
            TwoRuns.of(chosen, offsets, self.inner),
            TwoRuns.of(reached, offsets, self.inner),
            self._route(self._flags(is_needed[part.own :], is_back=True), is_needed[part.own :]),
            self._route(sent, marked[part.own :]),
        )
        return layer, reached

    def _flags(self, mask: Mask, *, is_back: bool = False) -> Mask:
        """Return the flags of the halo's rows for those of the rows sent, or the reverse."""
        counts = [self.part.send_counts.tolist(), self.part.receive_counts.tolist()]
        packed = torch.from_numpy(mask.astype(np.uint8))[:, None].to(self.ranks.device)
        exchange = self.ranks.exchange(packed, *(reversed(counts) if is_back else counts))
        flags: Mask = exchange.wait()[:, 0].cpu().numpy() > 0
        return flags

    def _route(self, is_sent: Mask, arrives: Mask) -> Route:
        part = self.part
        device = self.ranks.device
        is_all = bool(arrives.all())
        positions = torch.from_numpy(np.flatnonzero(arrives) + part.own).to(device)
        return Route(
            rows=torch.from_numpy(self.places[part.send_rows[is_sent]]).to(device),
            counts=_count_by_group(is_sent, part.send_counts),
            places=slice(part.own, None) if is_all else positions,
            arriving=_count_by_group(arrives, part.receive_counts),
            halo=arrives.size,
            is_all=is_all,
        )

    def _picks(self, chosen: Mask) -> list[NDArray[np.int64] | None]:
        """Return which rows of every block are chosen; None for all, where nearly all are."""
        picks = list[NDArray[np.int64] | None]()
        for first, last in pairwise(self.part.blocks.tolist()):
            block = chosen[self.places[first:last]]
            is_nearly_all = block.sum() >= _NEARLY_ALL * block.size
            picks.append(None if is_nearly_all else np.flatnonzero(block))
        return picks

    def _blocks_of(self, picks: Sequence[NDArray[np.int64] | None]) -> Blocks:
        blocks = list[slice | Tensor]()
        for (first, last), pick in zip(pairwise(self.part.blocks.tolist()), picks, strict=True):
            if pick is None and self.is_as_given:
                blocks.append(slice(first, last))
                continue
            rows = self.places[first:last]
            rows = rows if pick is None else rows[pick]
            blocks.append(torch.from_numpy(rows).to(self.graph.device))
        return Blocks(tuple(blocks), all(pick is None for pick in picks))

    @property
    def edge_ids(self) -> Tensor:
        """Where each stored edge stands in the whole graph; [m] int64."""
        if "edge_ids" not in self.known:
            shifts = self.part.offsets[self.order] - self.offsets[:-1] + self.edges_before
            numbers = np.repeat(shifts, np.diff(self.offsets)) + np.arange(self.columns.size)
            self.known["edge_ids"] = torch.from_numpy(numbers).to(self.graph.device)
        ids: Tensor = self.known["edge_ids"]
        return ids

    def reverse(self, values: Tensor) -> Tensor:
        """Return the numbers [R, m] of the stored edges at the places of the reverse edges.

        Those of edges to other ranks are their owners': all ranks call this together.
        """
        # No cached property: its lock would be held while the ranks wait for each other.
        if "reverse" not in self.known:
            self.known["reverse"] = _ReverseEdges.of(self)
        routes: _ReverseEdges = self.known["reverse"]
        sent = values.index_select(1, routes.sent).transpose(0, 1).contiguous()
        exchange = self.ranks.exchange(sent, routes.counts, routes.counts)
        reverse = values.index_select(1, routes.own)
        return reverse.index_copy_(1, routes.arriving, exchange.wait().transpose(0, 1))

    def send(self, route: Route, *states: Tensor) -> Exchange:
        """Begin to send rows of states [R, own, k] to where they are needed."""
        main_state, *exact = states
        if self.wire is not None:  # what follows the states is exact: two short numbers each
            exact = [state.contiguous().view(self.wire) for state in exact]
        columns = [main_state, *exact]
        shape = (len(route.rows), len(main_state), sum(state.shape[2] for state in columns))
        packed = main_state.new_empty(shape, dtype=self.wire or main_state.dtype)
        begin = 0
        for state in columns:
            end = begin + state.shape[2]
            packed[..., begin:end] = state.index_select(1, route.rows).transpose(0, 1)
            begin = end
        return self.ranks.exchange(packed, route.counts, route.arriving)

    def receive(self, exchange: Exchange, width: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Return the rows that came, the first `width` numbers and the exact ones; [R, h, .]."""
        rows = exchange.wait().transpose(0, 1)
        exact = rows[..., width:]
        if self.wire is not None:
            exact = exact.contiguous().view(dtype)
        return rows[..., :width].to(dtype), exact


@dataclass(frozen=True, eq=False)
class _PartField(ReceptiveField):
    """The own rows of a part as targets, whose edges are numbered as in the whole graph."""

    local: LocalGraph

    @property
    def edge_ids(self) -> Tensor:
        """Where each edge stands in the whole graph; [m'] int64."""
        return self.local.edge_ids


class _ReverseEdges(NamedTuple):
    """Where the reverse of every stored edge stands: here, or on another rank."""

    own: Tensor  # [m] the place of the reverse edge; anything where another rank has it
    sent: Tensor  # places of the edges to other ranks, in the order in which they are sent
    arriving: Tensor  # the same places in the order in which the reverse edges come
    counts: list[int]  # of them, by rank; as many are sent as come

    @classmethod
    def of(cls, local: LocalGraph) -> _ReverseEdges:
        part = local.part
        device = local.graph.device
        receivers = part.first + np.repeat(local.order, np.diff(local.offsets))
        senders = np.concatenate([part.first + local.order, part.halo])[local.columns]
        is_cut = local.columns >= part.own
        by_receiver = np.lexsort((senders, receivers))
        by_sender = np.lexsort((receivers, senders))
        # The k-th edge of one order is the reverse of the k-th of the other; without cut edges
        # the two have the same pairs.
        reverse = np.empty(local.columns.size, np.int64)
        reverse[by_receiver[~is_cut[by_receiver]]] = by_sender[~is_cut[by_sender]]
        reverse[is_cut] = 0
        owners = np.searchsorted(part.bounds, senders, side="right") - 1
        cut = by_receiver[is_cut[by_receiver]]
        sent = cut[np.argsort(owners[cut], kind="stable")]
        arriving = by_sender[is_cut[by_sender]]  # senders ascend, so their owners do
        return cls(
            own=torch.from_numpy(reverse).to(device),
            sent=torch.from_numpy(sent).to(device),
            arriving=torch.from_numpy(arriving).to(device),
            counts=np.bincount(owners[is_cut], minlength=part.ranks).tolist(),
        )


def _any_by_row(flags: Mask, offsets: NDArray[np.int64]) -> Mask:
    """Return whether any of a row's entries is true; [rows]."""
    result = np.zeros(offsets.size - 1, dtype=bool)
    # `reduceat` has no sum of nothing, so it gets no empty rows: each would end the one before.
    filled = np.diff(offsets) > 0
    if flags.size:
        result[filled] = np.logical_or.reduceat(flags, offsets[:-1][filled])
    return result


def _arrange(
    part: Part, order: NDArray[np.int64], places: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.floating] | None]:
    """Return offsets, columns and weights of the rows in this order.

    Some rows at a time, for the memory.
    """
    degrees = np.diff(part.offsets)[order]
    offsets = np.concatenate([[0], np.cumsum(degrees)])
    halo = np.arange(part.own, part.own + part.halo.size)
    numbers = np.concatenate([places, halo]).astype(np.int32)
    columns = np.empty(part.columns.size, np.int32)
    weights = None if part.weights is None else np.empty_like(part.weights)
    for start in range(0, part.own, _ROWS_AT_ONCE):
        rows = slice(start, min(start + _ROWS_AT_ONCE, part.own))
        begin, end = offsets[[rows.start, rows.stop]].tolist()
        shifts = part.offsets[order[rows]] - offsets[rows]
        entries = np.repeat(shifts, degrees[rows]) + np.arange(begin, end)
        columns[begin:end] = numbers[part.columns[entries]]
        if weights is not None and part.weights is not None:
            weights[begin:end] = part.weights[entries]
    return offsets, columns, weights


def _graph(
    offsets: NDArray[np.int64],
    columns: NDArray[np.int32],
    weights: NDArray[np.floating] | None,
    halo: int,
) -> Graph:
    """Return the own rows as the kernels read them, followed by empty rows for the halo."""
    ends = np.full(halo, offsets[-1])
    return Graph(
        torch.from_numpy(np.concatenate([offsets, ends])),
        torch.from_numpy(columns),
        weights=None if weights is None else torch.from_numpy(weights),
    )


def _count_by_group(chosen: Mask, sizes: NDArray[np.int64]) -> list[int]:
    """Return how many rows of each of consecutive groups are chosen."""
    chosen_before = np.concatenate([[0], np.cumsum(chosen)])
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    counts: list[int] = np.diff(chosen_before[bounds]).tolist()
    return counts


def _block_features(part: Part, device: str) -> list[Features]:
    """Return the features of each block in memory of their own, so that all have one alignment.

    Rows in a file that are whole cache lines stay there.
    """
    blocks: list[Features] = []
    for first, last in pairwise(part.blocks.tolist()):
        ids = torch.arange(part.first + first, part.first + last)
        rows = part.features[first:last]
        if isinstance(rows, np.ndarray):
            is_mapped = isinstance(rows, np.memmap) and rows.shape[1] % 16 == 0
            values = torch.from_numpy(rows if is_mapped else np.array(rows, dtype=np.float32))
            blocks.append(DenseFeatures(values, ids).to(device))
            continue
        matrix = SparseFeatures.from_scipy(rows)
        block = SparseFeatures(matrix.offsets, matrix.columns, matrix.values, ids, matrix.width)
        blocks.append(block.to(device))
    return blocks
