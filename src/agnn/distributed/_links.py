"""A model's chain of operations on one rank's part of a graph.

Operations on single rows stay as they are, those with weights run block by block, and those that
read neighbours exchange the halo: rows whose neighbours are all here are computed meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.distributed._ranks import Exchange, Ranks
from agnn.distributed._sums import BlockSums, Subtrees, SumsLink
from agnn.errors import InputError
from agnn.graph import DenseFeatures, FeatureMatrix, Features, Graph, Part, ReceptiveField, View
from agnn.kernels import (
    ELU,
    FACTS,
    Anchor,
    Blend,
    CosineAttentionLink,
    DenseLinearLink,
    Dropout,
    DropoutLink,
    FirstLayerLink,
    HopMean,
    HopState,
    Link,
    PartRows,
    PropagateLink,
    ReLU,
    RowDropoutLink,
    Runs,
    check_betas,
    part_rows,
)
from agnn.nn import ChainModel

_CANNOT = "this method cannot be trained on a graph whose rows are divided among ranks"
_OVER_EDGES = (CosineAttentionLink, PropagateLink)
_BY_ROW = (ReLU, ELU, Anchor, Blend, DropoutLink, HopMean, HopState, RowDropoutLink)


class TwoRuns(NamedTuple):
    """Rows in two groups: those whose neighbours are all their rank's own, and the others."""

    inner: Runs
    border: Runs

    @classmethod
    def of(
        cls,
        is_border: NDArray[np.bool_],
        offsets: NDArray[np.int64],
        chosen: NDArray[np.bool_] | None = None,
    ) -> TwoRuns:
        """All rows of a part, or the chosen ones."""
        wanted = np.ones_like(is_border) if chosen is None else chosen
        return cls(Runs.of(wanted & ~is_border, offsets), Runs.of(wanted & is_border, offsets))


class LastLayer(NamedTuple):
    """The last layer over edges, where only some rows count.

    Edges without one of them at an end are left out: they would add zeros to the gradient.
    """

    graph: Graph
    rows: TwoRuns  # that it computes
    reached: TwoRuns  # all rows, for the backward pass


@dataclass(frozen=True, eq=False)
class LocalGraph:
    """A part as the links read it: its graph, its rows in two groups, its blocks and its halo."""

    part: Part
    graph: Graph
    is_border: NDArray[np.bool_]  # [own] whether a row has a neighbour on another rank
    rows: TwoRuns  # all of them
    features: tuple[Features, ...]  # of each block
    sums: BlockSums
    ranks: Ranks
    send_rows: Tensor
    wire: torch.dtype | None  # that states travel in; None: as they are

    @classmethod
    def of(cls, part: Part, ranks: Ranks, wire: torch.dtype | None = None) -> LocalGraph:
        """The part of this rank."""
        if part.rank != ranks.rank or part.ranks != ranks.size:
            raise InputError(
                f"part {part.rank} of {part.ranks} was given to rank {ranks.rank} of {ranks.size}."
            )
        graph = part.graph.to(ranks.device)
        far = np.add.reduceat(
            np.append(part.columns >= part.own, False),
            np.minimum(part.offsets[:-1], part.columns.size),
        )
        is_border = (far > 0) & (np.diff(part.offsets) > 0)
        return cls(
            part=part,
            graph=graph,
            is_border=is_border,
            rows=TwoRuns.of(is_border, part.offsets),
            features=tuple(_block_features(part, str(ranks.device))),
            sums=BlockSums(ranks, part.bounds),
            ranks=ranks,
            send_rows=torch.from_numpy(np.array(part.send_rows)).to(ranks.device),
            wire=wire,
        )

    @property
    def blocks(self) -> list[slice]:
        """The rows of every own block."""
        bounds = self.part.blocks.tolist()
        return [slice(first, last) for first, last in pairwise(bounds)]

    def view(self, hops: int) -> View:
        """The own rows as targets, for models that state their links; features of one block."""
        part, device = self.part, self.graph.device
        nodes = torch.arange(part.first, part.first + part.own, device=device)
        field = ReceptiveField(self.graph, nodes, None, (part.own,) * (hops + 1))
        degrees = torch.from_numpy(np.array(part.degrees)).to(device)
        return View(self.features[0], field, degrees)

    def around(self, rows: NDArray[np.int64]) -> LastLayer:
        """What a last layer needs that computes no rows but these and those of other ranks."""
        part = self.part
        chosen = np.zeros(part.own + part.halo.size, dtype=bool)
        chosen[rows] = True
        sent = torch.from_numpy(chosen[: part.own].astype(np.float32)).view(1, -1, 1)
        coming = self.ranks.exchange(
            sent.to(self.ranks.device).index_select(1, self.send_rows).transpose(0, 1),
            part.send_counts.tolist(),
            part.receive_counts.tolist(),
        )
        chosen[part.own :] = coming.wait().flatten().cpu().numpy() > 0
        receivers = np.repeat(np.arange(part.own), np.diff(part.offsets))
        kept = chosen[receivers] | chosen[part.columns]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(receivers[kept], minlength=part.own))])
        ends = np.full(part.halo.size, offsets[-1])
        graph = Graph(
            torch.from_numpy(np.concatenate([offsets, ends])),
            torch.from_numpy(np.asarray(part.columns)[kept]),
        ).to(self.graph.device)
        return LastLayer(
            graph, TwoRuns.of(self.is_border, part.offsets, chosen[: part.own]),
            TwoRuns.of(self.is_border, offsets),
        )  # fmt: skip

    def send(self, *states: Tensor) -> Exchange:
        """Begin to send rows of states [R, own, k] to where they are needed."""
        found = [each.index_select(1, self.send_rows).transpose(0, 1) for each in states]
        if self.wire is not None:  # what follows the states is exact: two short numbers each
            found = [
                found[0].to(self.wire),
                *(each.contiguous().view(self.wire) for each in found[1:]),
            ]
        packed = torch.cat(found, 2)
        counts = self.part.send_counts.tolist(), self.part.receive_counts.tolist()
        return self.ranks.exchange(packed, *counts)

    def receive(self, exchange: Exchange, width: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """The halo's rows of the first `width` numbers and of the exact ones, [R, h, .] each."""
        came = exchange.wait().transpose(0, 1)
        exact = came[..., width:]
        if self.wire is not None:
            exact = exact.contiguous().view(dtype)
        return came[..., :width].to(dtype), exact


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


def local_links(
    model: ChainModel,
    view: View,
    dropout: Dropout | None,
    local: LocalGraph,
    last: LastLayer | None = None,
) -> list[Link]:
    """The chain of a model on a part; a link that a part cannot compute is refused.

    `last` says what the last link over edges computes; None: all rows. The others are zero.
    """
    backend, found = model.backend, list[Link]()
    rows, links = part_rows(backend, local.graph.device.type), model.links(view, dropout)
    over_edges = [k for k, each in enumerate(links) if isinstance(each, _OVER_EDGES)]
    for k, link in enumerate(links):
        own = last if over_edges[-1:] == [k] else None
        if isinstance(link, FirstLayerLink):
            found.append(_BlockedLink(link, local, _first_layers(link, local, backend)))
        elif isinstance(link, DenseLinearLink):
            found.append(_BlockedLink(link, local, _dense_layers(link, local, backend)))
        elif isinstance(link, CosineAttentionLink):
            found.append(_AttentionLink(link, local, rows, own))
        elif isinstance(link, PropagateLink) and link.propagation is view.symmetric_propagation:
            found.append(_PropagateLink(link, local, rows, own))
        elif isinstance(link, _BY_ROW):
            found.append(link)
        else:
            raise InputError(f"{_CANNOT}: {type(link).__name__} has no form for a part of a graph.")
    return [SumsLink(local.sums), *found]


def _first_layers(link: FirstLayerLink, local: LocalGraph, backend: str) -> list[Link]:
    kind: Callable[..., Link] = type(link)
    return [kind(x, link.weight, link.bias, link.drop, backend) for x in local.features]


def _dense_layers(link: DenseLinearLink, local: LocalGraph, backend: str) -> list[Link]:
    return [
        DenseLinearLink(link.weight, link.bias, link.row_ids[rows], link.drop, backend)
        for rows in local.blocks
    ]


class _BlockedLink(Link):
    """A linear layer block by block: a product may have other bits for other numbers of rows."""

    def __init__(
        self, link: FirstLayerLink | DenseLinearLink, local: LocalGraph, inner: Sequence[Link]
    ) -> None:
        self.local, self.inner, self.width = local, inner, link.weight.shape[2]
        self.reads_states = isinstance(link, DenseLinearLink)
        self.parameters, self.watched = link.parameters, link.watched

    def forward(self, x: Tensor) -> Tensor:
        weight = self.parameters[0]
        out = weight.new_empty(len(weight), self.local.part.own, self.width)
        for rows, link in zip(self.local.blocks, self.inner, strict=True):
            if rows.stop > rows.start:
                out[:, rows] = link.forward(x[:, rows].clone() if self.reads_states else x)
                link.saved = ()
        self.saved = (x,) if self.reads_states else ()
        return out

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        sums, tree = self.local.sums, Subtrees()
        before = torch.empty_like(self.saved[0]) if self.reads_states else gradient
        size = sum(each.numel() for each in self.parameters)
        for place, (rows, link) in enumerate(zip(self.local.blocks, self.inner, strict=True)):
            found = gradient.new_zeros(size, dtype=torch.float64)
            if rows.stop > rows.start:
                if self.reads_states:
                    link.saved = (self.saved[0][:, rows].clone(),)
                dx, own = link.backward(gradient[:, rows].clone())
                link.saved = ()
                found = torch.cat([each.flatten() for each in own]).double()
                if self.reads_states:
                    before[:, rows] = dx
            tree.add(sums.first + place, found)
        results = tuple(torch.empty_like(each) for each in self.parameters)
        sums.later(tree, results)
        return before, results


def _room(x: Tensor, rows: int, width: int) -> Tensor:
    """States [R, rows, width] that start with `x` [R, own, d]; zero in the columns beyond d."""
    full = x.new_empty(x.shape[0], rows, width)
    full[:, : x.shape[1], : x.shape[2]] = x
    full[:, :, x.shape[2] :] = 0
    return full


def _outputs(x: Tensor, width: int, *, is_all: bool) -> Tensor:
    """States for the own rows [R, own, width]; zeros unless all rows are computed."""
    make = x.new_empty if is_all else x.new_zeros
    return make(x.shape[0], x.shape[1], width)


class _AttentionLink(Link):
    """Cosine attention at the own rows."""

    def __init__(
        self,
        link: CosineAttentionLink,
        local: LocalGraph,
        rows: PartRows,
        last: LastLayer | None,
    ) -> None:
        self.local, self.rows, self.beta = local, rows, link.beta
        self.layer = last or LastLayer(local.graph, local.rows, local.rows)
        self.parameters = link.parameters

    def forward(self, x: Tensor) -> Tensor:
        local, rows, (replicas, own, d) = self.local, self.rows, x.shape
        check_betas(self.beta)
        n = local.graph.nodes
        coming = local.send(x)
        full = _room(x, n, rows.width(d))
        # Zeros: a row that is not computed attends to nothing.
        facts = x.new_zeros(replicas, n, FACTS)
        graph, runs, _ = self.layer
        out = _outputs(x, full.shape[2], is_all=runs is local.rows)
        rows.norms(full, facts, 0, own)
        rows.attend(graph, full, self.beta, facts, runs.inner, out)
        full[:, own:, :d] = local.receive(coming, d, x.dtype)[0]
        rows.norms(full, facts, own, n)
        rows.attend(graph, full, self.beta, facts, runs.border, out)
        self.saved = (full, facts, out)
        return out[..., :d].contiguous()

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        local, rows, (full, facts, out) = self.local, self.rows, self.saved
        replicas, own, d = gradient.shape
        g = _room(gradient, local.graph.nodes, full.shape[2])
        rows.slopes(g[:, :own], out, facts)
        coming = local.send(gradient, facts[:, :own, 1:3])
        dh, parts = torch.empty_like(out), gradient.new_empty(replicas, own)
        graph, _, reached = self.layer
        there = (graph, full, g, self.beta, facts)
        rows.attend_back(*there, reached.inner, dh, parts)
        g[:, own:, :d], facts[:, own:, 1:3] = local.receive(coming, d, gradient.dtype)
        rows.attend_back(*there, reached.border, dh, parts)
        tree = Subtrees()
        for place, each in enumerate(rows.block_sums(parts, local.part.blocks), local.sums.first):
            tree.add(place, each.to(gradient.device))
        result = torch.empty_like(self.beta)
        local.sums.later(tree, [result])
        return dh[..., :d].contiguous(), (result,)


class _PropagateLink(Link):
    """Fixed propagation at the own rows, by a symmetric matrix: there and back are the same."""

    def __init__(
        self, link: PropagateLink, local: LocalGraph, rows: PartRows, last: LastLayer | None
    ) -> None:
        self.local, self.rows, self.propagation = local, rows, link.propagation
        self.runs = local.rows if last is None else last.rows

    def forward(self, x: Tensor) -> Tensor:
        return self._product(x, self.runs)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        return self._product(gradient, self.local.rows), ()

    def _product(self, x: Tensor, runs: TwoRuns) -> Tensor:
        local, rows, (_, own, d) = self.local, self.rows, x.shape
        coming = local.send(x)
        full = _room(x, local.graph.nodes, rows.width(d))
        out = _outputs(x, full.shape[2], is_all=runs is local.rows)
        rows.propagate(self.propagation, full, runs.inner, out)
        full[:, own:, :d] = local.receive(coming, d, x.dtype)[0]
        rows.propagate(self.propagation, full, runs.border, out)
        return out[..., :d].contiguous()
