"""A model's chain of operations on one rank's part of a graph.

Operations on single rows stay as they are, those with weights run block by block, and those that
read neighbours exchange the halo: rows whose neighbours are all here are computed meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from agnn.distributed._local_graph import Blocks, Layer, LocalGraph, Needed, Route, TwoRuns
from agnn.distributed._sums import Subtrees, SumsLink
from agnn.errors import InputError
from agnn.graph import View
from agnn.kernels import (
    FACTS,
    CosineAttentionLink,
    DenseLinearLink,
    Dropout,
    FirstLayerLink,
    Link,
    PartRows,
    PropagateLink,
    check_betas,
    part_rows,
)
from agnn.nn import ChainModel

_CANNOT = "this method cannot be trained on a graph whose rows are divided among ranks"


def local_links(
    model: ChainModel, view: View, dropout: Dropout | None, local: LocalGraph, needed: Needed
) -> list[Link]:
    """The chain of a model on a part, up to the outputs at the rows that are needed.

    A link that a part cannot compute is refused. Rows that nothing needs are zero.
    """
    backend, found = model.backend, list[Link]()
    rows, links = part_rows(backend, local.graph.device.type), model.links(view, dropout)
    done, last = 0, sum(link.is_over_edges for link in links)  # over edges
    chosen, is_chosen = _ChosenRows(local, needed.rows), False
    there, back = _StatesWithHalo(), _StatesWithHalo()
    linear = [k for k, link in enumerate(links) if isinstance(link, DenseLinearLink)]
    for k, link in enumerate(links):
        # The last layer alone: an anchor before it holds all rows, and those that blend with it
        # must be the same ones.
        if done == last and linear and k == linear[-1]:
            is_chosen = True  # the rest is about these rows alone
            found.append(chosen)
        if isinstance(link, FirstLayerLink):
            kind: Callable[..., Link] = type(link)
            parts = [kind(x, link.weight, link.bias, link.drop, backend) for x in needed.features]
            found.append(_BlockedLink(link, local, needed.blocks[0], parts))
        elif isinstance(link, DenseLinearLink):
            ids, blocks = link.row_ids, needed.blocks[done]
            if is_chosen:
                ids, blocks = ids[needed.rows], needed.of_outputs
            parts = [
                DenseLinearLink(link.weight, link.bias, ids[each], link.drop, backend)
                for each in blocks.rows
            ]
            found.append(_BlockedLink(link, local, blocks, parts))
        elif isinstance(link, CosineAttentionLink):
            found.append(_AttentionLink(link, local, rows, needed.layers[done], there, back))
        elif isinstance(link, PropagateLink) and link.propagation.is_gcn:
            found.append(_PropagateLink(link, local, rows, needed.layers[done]))
        elif link.is_by_row:
            found.append(link)
        else:
            raise InputError(f"{_CANNOT}: {link.title} has no form for a part of a graph.")
        done += link.is_over_edges
    return [SumsLink(local.sums), *found, *([] if is_chosen else [chosen])]


class _ChosenRows(Link):
    """The rows of the outputs, in the order of the nodes, out of all own rows."""

    def __init__(self, local: LocalGraph, rows: Tensor) -> None:
        self.rows, self.own = rows, local.part.own
        self.is_all = local.is_as_given and len(rows) == self.own

    def forward(self, x: Tensor) -> Tensor:
        return x if self.is_all else x.index_select(1, self.rows)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        if self.is_all:
            return gradient, ()
        found = gradient.new_zeros(gradient.shape[0], self.own, gradient.shape[2])
        return found.index_copy_(1, self.rows, gradient), ()


class _BlockedLink(Link):
    """A linear layer block by block: a product may have other bits for other numbers of rows."""

    def __init__(
        self,
        link: FirstLayerLink | DenseLinearLink,
        local: LocalGraph,
        blocks: Blocks,
        inner: Sequence[Link],
    ) -> None:
        self.sums, self.own, self.blocks, self.inner = local.sums, local.part.own, blocks, inner
        self.reads_states = isinstance(link, DenseLinearLink)
        self.parameters, self.watched = link.parameters, link.watched

    def forward(self, x: Tensor) -> Tensor:
        weight, rows = self.parameters[0], x.shape[1] if self.reads_states else self.own
        out = _new(weight, (len(weight), rows, weight.shape[2]), is_all=self.blocks.is_all)
        for block, link in zip(self.blocks.rows, self.inner, strict=True):
            if _size(block):
                _put(out, block, link.forward(_copied(x, block) if self.reads_states else x))
                link.saved = ()
        self.saved = (x,) if self.reads_states else ()
        return out

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        tree, before = Subtrees(), gradient
        if self.reads_states:
            before = _new(gradient, self.saved[0].shape, is_all=self.blocks.is_all)
        size = sum(each.numel() for each in self.parameters)
        parts = zip(self.blocks.rows, self.inner, strict=True)
        for place, (block, link) in enumerate(parts, self.sums.first):
            found = gradient.new_zeros(size, dtype=torch.float64)
            if _size(block):
                if self.reads_states:
                    link.saved = (_copied(self.saved[0], block),)
                dx, own = link.backward(_copied(gradient, block))
                link.saved = ()
                found = torch.cat([each.flatten() for each in own]).double()
                if self.reads_states:
                    _put(before, block, dx)
            tree.add(place, found)
        results = tuple(torch.empty_like(each) for each in self.parameters)
        self.sums.later(tree, results)
        return before, results


def _size(block: slice | Tensor) -> int:
    return int(block.stop - block.start) if isinstance(block, slice) else block.numel()


def _copied(x: Tensor, block: slice | Tensor) -> Tensor:
    """Some rows in memory of their own, so that all blocks have one alignment."""
    return x[:, block].clone() if isinstance(block, slice) else x.index_select(1, block)


def _put(x: Tensor, rows: slice | Tensor, values: Tensor) -> None:
    """Write some rows; without torch's general indexing, which handles number by number."""
    if isinstance(rows, slice):
        x[:, rows] = values
    else:
        x.index_copy_(1, rows, values)


def _new(like: Tensor, shape: Sequence[int], *, is_all: bool) -> Tensor:
    """States to be written; zeros unless all rows will be."""
    return like.new_empty(shape) if is_all else like.new_zeros(shape)


class _StatesWithHalo:
    """States [R, own + halo, width], of which a link gives the own rows on as its output.

    Where the next link over edges gets these very rows, the halo rows are behind them already, and
    nothing is copied.
    """

    def __init__(self) -> None:
        self.kept: Tensor | None = None

    def give(self, full: Tensor, own: int, d: int) -> Tensor:
        """The own rows."""
        self.kept = full
        return full[:, :own, :d]

    def take(self, x: Tensor, rows: int, width: int) -> Tensor:
        """States that start with `x` [R, own, d]; zero in the columns beyond d."""
        full, self.kept = self.kept, None
        own, d = x.shape[1:]
        if full is None or full.data_ptr() != x.data_ptr() or x.shape != full[:, :own, :d].shape:
            full = x.new_empty(x.shape[0], rows, width)
            full[:, :own, :d] = x
            full[:, :own, d:] = 0
        full[:, own:, d:] = 0
        return full


class _AttentionLink(Link):
    """Cosine attention at the own rows."""

    def __init__(
        self,
        link: CosineAttentionLink,
        local: LocalGraph,
        rows: PartRows,
        layer: Layer,
        there: _StatesWithHalo,
        back: _StatesWithHalo,
    ) -> None:
        self.local, self.rows, self.layer, self.beta = local, rows, layer, link.beta
        self.there, self.back = there, back
        self.parameters = link.parameters

    def forward(self, x: Tensor) -> Tensor:
        local, rows, (graph, runs, _, route, _) = self.local, self.rows, self.layer
        replicas, own, d = x.shape
        check_betas(self.beta)
        coming = local.send(route, x)
        full = self.there.take(x, local.graph.nodes, rows.width(d))
        # Zeros: a row that is not computed attends to nothing.
        facts = x.new_zeros(replicas, local.graph.nodes, FACTS)
        out = _new(x, full.shape, is_all=runs.is_all)
        rows.norms(full, facts, 0, own)
        rows.attend(graph, full, self.beta, facts, runs.inner, out)
        _arrive(full, route, local.receive(coming, d, x.dtype)[0])
        rows.norms(full, facts, own, local.graph.nodes)
        rows.attend(graph, full, self.beta, facts, runs.border, out)
        self.saved = (full, facts, out)
        return self.there.give(out, own, d)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        local, rows, (full, facts, out) = self.local, self.rows, self.saved
        graph, _, reached, _, route = self.layer
        replicas, own, d = gradient.shape
        g = self.back.take(gradient, local.graph.nodes, full.shape[2])
        rows.slopes(g, out, facts, own)
        coming = local.send(route, gradient, facts[:, :own, 1:3])
        dh = _new(gradient, full.shape, is_all=reached.is_all)
        parts = _new(gradient, (replicas, own), is_all=reached.is_all)
        there = (graph, full, g, self.beta, facts)
        rows.attend_back(*there, reached.inner, (dh, parts))
        came, exact = local.receive(coming, d, gradient.dtype)
        _arrive(g, route, came)
        _put(facts[:, :, 1:3], route.places, exact)
        rows.attend_back(*there, reached.border, (dh, parts))
        if not local.is_as_given:
            parts = parts.index_select(1, torch.from_numpy(local.places).to(parts.device))
        tree = Subtrees()
        for place, each in enumerate(rows.block_sums(parts, local.part.blocks), local.sums.first):
            tree.add(place, each.to(gradient.device))
        result = torch.empty_like(self.beta)
        local.sums.later(tree, [result])
        return self.back.give(dh, own, d), (result,)


def _arrive(full: Tensor, route: Route, came: Tensor) -> None:
    """Put the rows that came into their places; the rest of the halo is zero."""
    if not route.is_all:
        full[:, full.shape[1] - route.halo :] = 0
    _put(full[:, :, : came.shape[2]], route.places, came)


class _PropagateLink(Link):
    """Fixed propagation at the own rows, by a symmetric matrix: there and back are the same."""

    def __init__(
        self, link: PropagateLink, local: LocalGraph, rows: PartRows, layer: Layer
    ) -> None:
        self.local, self.rows, self.layer = local, rows, layer
        self.propagation = link.propagation

    def forward(self, x: Tensor) -> Tensor:
        return self._product(x, self.layer.rows, self.layer.there)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        return self._product(gradient, self.layer.reached, self.layer.back), ()

    def _product(self, x: Tensor, runs: TwoRuns, route: Route) -> Tensor:
        local, rows, (_, own, d) = self.local, self.rows, x.shape
        coming = local.send(route, x)
        full = _StatesWithHalo().take(x, local.graph.nodes, rows.width(d))
        out = _new(x, full.shape, is_all=runs.is_all)
        rows.propagate(self.propagation, full, runs.inner, out)
        _arrive(full, route, local.receive(coming, d, x.dtype)[0])
        rows.propagate(self.propagation, full, runs.border, out)
        return out[:, :own, :d]
