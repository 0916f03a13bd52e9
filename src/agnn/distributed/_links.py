"""A model's chain of operations on one rank's part of a graph.

Operations on single rows stay as they are, those with weights run block by block, and those that
read neighbours exchange the halo: rows whose neighbours are all here are computed meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from agnn.distributed._local_graph import Blocks, Layer, LocalGraph, Needed, Route, TwoRuns
from agnn.distributed._sums import Subtrees, SumsLink
from agnn.errors import UnavailableError
from agnn.graph import View
from agnn.kernels import (
    FACTS,
    CosineAttentionLink,
    DenseLinearLink,
    Dropout,
    FirstLayerLink,
    Link,
    Matrices,
    PropagateLink,
    WeightedSumLink,
    part_rows,
)
from agnn.networks import NodeModel

# Below this beta a whole row could underflow under the constant shift of the scores.
_LOWEST_BETA: Final = -40.0


def local_links(
    model: NodeModel, view: View, dropout: Dropout | None, local: LocalGraph, needed: Needed
) -> list[Link]:
    """Return the chain of a model on a part, up to the outputs at the rows that are needed.

    A link that a part cannot compute is refused. Rows that nothing needs are zero.
    """
    links = model.links(view, dropout)
    forms = _Forms(local, needed, model.backend)
    chain: list[Link] = [SumsLink(local.sums)]
    is_linear = [isinstance(link, DenseLinearLink) for link in links]
    hops = sum(link.is_over_edges for link in links)
    for k, link in enumerate(links):
        # The last layer alone: an anchor before it holds all rows, and those that blend with it
        # must be the same ones.
        if forms.layers_done == hops and is_linear[k] and not any(is_linear[k + 1 :]):
            forms.is_chosen = True
            chain.append(_ChosenRows(local, needed.rows))
        chain.append(link.on_part(forms))
        forms.layers_done += link.is_over_edges
    return chain if forms.is_chosen else [*chain, _ChosenRows(local, needed.rows)]


class _Forms:
    """The forms of links on a part, each in the layer that the chain has reached."""

    def __init__(self, local: LocalGraph, needed: Needed, backend: str) -> None:
        self.local = local
        self.needed = needed
        self.backend = backend
        self.rows = part_rows(backend, local.graph.device.type)
        self.layers_done = 0  # over edges
        self.is_chosen = False  # whether only the rows of the outputs are left
        self.states = _StatesWithHalo()
        self.gradients = _StatesWithHalo()

    def first_layer(self, link: FirstLayerLink) -> Link:
        """Return a first layer, block by block."""
        inner = [
            type(link)(features, link.weight, link.bias, link.drop, self.backend)
            for features in self.needed.features
        ]
        return _BlockedLink(link, self.local, self.needed.blocks[0], inner, reads_states=False)

    def linear(self, link: DenseLinearLink) -> Link:
        """Return a linear layer, block by block."""
        ids = link.row_ids
        blocks = self.needed.blocks[self.layers_done]
        if self.is_chosen:
            ids = ids[self.needed.rows]
            blocks = self.needed.of_outputs
        inner = [
            DenseLinearLink(link.weight, link.bias, ids[rows], link.drop, self.backend)
            for rows in blocks.rows
        ]
        return _BlockedLink(link, self.local, blocks, inner, reads_states=True)

    def attention(self, link: CosineAttentionLink) -> Link:
        """Return attention by cosine."""
        return _AttentionLink(link, self)

    def propagation(self, link: PropagateLink) -> Link:
        """Return propagation by a symmetric matrix."""
        return _SumLink(self, Matrices.of(link.propagation), is_symmetric=True)

    def weighted_sum(self, link: WeightedSumLink) -> Link:
        """Return sums by given weights, which differ between the two directions of an edge."""
        matrices = Matrices(link.graph, link.edges[:, :, 0], link.loops[:, :, 0])
        return _SumLink(self, matrices, is_symmetric=False)

    @property
    def layer(self) -> Layer:
        """The layer over edges that comes next."""
        return self.needed.layers[self.layers_done]


class _ChosenRows(Link):
    """The rows of the outputs, in the order of the nodes, out of all own rows."""

    def __init__(self, local: LocalGraph, rows: Tensor) -> None:
        self.rows = rows
        self.own = local.part.own
        self.is_all = local.is_as_given and len(rows) == self.own

    def forward(self, x: Tensor) -> Tensor:
        return x if self.is_all else x.index_select(1, self.rows)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        if self.is_all:
            return gradient, ()
        every = gradient.new_zeros(gradient.shape[0], self.own, gradient.shape[2])
        return every.index_copy_(1, self.rows, gradient), ()


class _BlockedLink(Link):
    """A linear layer block by block: a product may have other bits for other numbers of rows."""

    def __init__(
        self,
        link: Link,
        local: LocalGraph,
        blocks: Blocks,
        inner: Sequence[Link],
        *,
        reads_states: bool,
    ) -> None:
        self.sums = local.sums
        self.own = local.part.own
        self.blocks = blocks
        self.inner = inner
        self.reads_states = reads_states
        self.parameters = link.parameters
        self.watched = link.watched

    def forward(self, x: Tensor) -> Tensor:
        weight = self.parameters[0]
        rows = x.shape[1] if self.reads_states else self.own
        out = _new(weight, (len(weight), rows, weight.shape[2]), rows, is_all=self.blocks.is_all)
        for block, link in zip(self.blocks.rows, self.inner, strict=True):
            if _size(block):
                _put(out, block, link.forward(_copy(x, block) if self.reads_states else x))
                link.saved = ()
        self.saved = (x,) if self.reads_states else ()
        return out

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        tree = Subtrees()
        before = gradient
        if self.reads_states:
            x = self.saved[0]
            before = _new(gradient, x.shape, x.shape[1], is_all=self.blocks.is_all)
        size = sum(parameter.numel() for parameter in self.parameters)
        blocks = zip(self.blocks.rows, self.inner, strict=True)
        for number, (block, link) in enumerate(blocks, self.sums.first):
            block_sum = gradient.new_zeros(size, dtype=torch.float64)
            if _size(block):
                if self.reads_states:
                    link.saved = (_copy(self.saved[0], block),)
                dx, slopes = link.backward(_copy(gradient, block))
                link.saved = ()
                block_sum = torch.cat([slope.flatten() for slope in slopes]).double()
                if self.reads_states:
                    _put(before, block, dx)
            tree.add(number, block_sum)
        results = tuple(torch.empty_like(parameter) for parameter in self.parameters)
        self.sums.later(tree, results)
        return before, results


def _size(block: slice | Tensor) -> int:
    return int(block.stop - block.start) if isinstance(block, slice) else block.numel()


def _copy(x: Tensor, block: slice | Tensor) -> Tensor:
    """Return some rows in memory of their own, so that all blocks have one alignment."""
    return x[:, block].clone() if isinstance(block, slice) else x.index_select(1, block)


def _put(x: Tensor, rows: slice | Tensor, values: Tensor) -> None:
    """Write some rows; without torch's general indexing, which handles number by number."""
    if isinstance(rows, slice):
        x[:, rows] = values
    else:
        x.index_copy_(1, rows, values)


def _new(like: Tensor, shape: Sequence[int], own: int, *, is_all: bool) -> Tensor:
    """Return states to be written, whose own rows are zero unless all of them will be.

    The halo rows behind them take no memory before they are written.
    """
    states = like.new_empty(shape)
    if not is_all:
        states[:, :own] = 0
    return states


class _StatesWithHalo:
    """States [R, own + halo, width], of which a link gives the own rows on as its output.

    Where the next link over edges gets these very rows, the halo rows are behind them already, and
    nothing is copied.
    """

    def __init__(self) -> None:
        self.kept: Tensor | None = None

    def give(self, full: Tensor, own: int, d: int) -> Tensor:
        """Return the own rows, and keep all of them."""
        self.kept = full
        return full[:, :own, :d]

    def take(self, x: Tensor, rows: int, width: int) -> Tensor:
        """Return states that start with `x` [R, own, d]; zero in the columns beyond d."""
        full = self.kept
        self.kept = None
        own, d = x.shape[1:]
        if full is None or full.data_ptr() != x.data_ptr() or x.shape != full[:, :own, :d].shape:
            full = x.new_empty(x.shape[0], rows, width)
            full[:, :own, :d] = x
            full[:, :own, d:] = 0
        full[:, own:, d:] = 0
        return full


class _AttentionLink(Link):
    """Cosine attention at the own rows."""

    def __init__(self, link: CosineAttentionLink, forms: _Forms) -> None:
        self.local = forms.local
        self.rows = forms.rows
        self.layer = forms.layer
        self.beta = link.beta
        self.states = forms.states
        self.gradients = forms.gradients
        self.parameters = link.parameters

    def forward(self, x: Tensor) -> Tensor:
        local = self.local
        rows = self.rows
        graph, runs, _, route, _ = self.layer
        replicas, own, d = x.shape
        _check_betas(self.beta)
        coming = local.send(route, x)
        full = self.states.take(x, local.graph.nodes, rows.width(d))
        # Zeros: a row that is not computed attends to nothing.
        facts = x.new_zeros(replicas, local.graph.nodes, FACTS)
        out = _new(x, full.shape, own, is_all=runs.is_all)
        rows.norms(full, facts, 0, own)
        rows.attend(graph, full, self.beta, facts, runs.inner, out)
        _put_halo(full, route, local.receive(coming, d, x.dtype)[0])
        rows.norms(full, facts, own, local.graph.nodes)
        rows.attend(graph, full, self.beta, facts, runs.border, out)
        self.saved = (full, facts, out)
        return self.states.give(out, own, d)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        local = self.local
        rows = self.rows
        full, facts, out = self.saved
        graph, _, reached, _, route = self.layer
        replicas, own, d = gradient.shape
        g = self.gradients.take(gradient, local.graph.nodes, full.shape[2])
        rows.slopes(g, out, facts, own)
        coming = local.send(route, gradient, facts[:, :own, 1:3])
        # Nothing reads the output any more: the links behind this one are done. Its rows that are
        # not reached were not computed either, so they are zero.
        dh = out
        dbeta = _new(gradient, (replicas, own), own, is_all=reached.is_all)  # by row
        operands = (graph, full, g, self.beta, facts)
        rows.attend_back(*operands, reached.inner, (dh, dbeta))
        halo_gradient, halo_facts = local.receive(coming, d, gradient.dtype)
        _put_halo(g, route, halo_gradient)
        _put(facts[:, :, 1:3], route.places, halo_facts)
        del halo_gradient, halo_facts
        rows.attend_back(*operands, reached.border, (dh, dbeta))
        if not local.is_as_given:
            dbeta = dbeta.index_select(1, torch.from_numpy(local.places).to(dbeta.device))
        tree = Subtrees()
        block_sums = rows.block_sums(dbeta, local.part.blocks)
        for number, block_sum in enumerate(block_sums, local.sums.first):
            tree.add(number, block_sum.to(gradient.device))
        result = torch.empty_like(self.beta)
        local.sums.later(tree, [result])
        return self.gradients.give(dh, own, d), (result,)


def _check_betas(beta: Tensor) -> None:
    """Raise where a beta is too low for the constant shift of scores on a part."""
    lowest = float(beta.detach().min())
    if lowest < _LOWEST_BETA:
        raise UnavailableError(
            f"a beta is {lowest:.1f}; below {_LOWEST_BETA:.0f} a graph in parts cannot be trained. "
            f"Use a lower learning rate, or one process."
        )


def _put_halo(full: Tensor, route: Route, received: Tensor) -> None:
    """Put the rows that came into their places; the rest of the halo is zero."""
    if not route.is_all:
        full[:, full.shape[1] - route.halo :] = 0
    _put(full[:, :, : received.shape[2]], route.places, received)


class _SumLink(Link):
    """Fixed sums over neighbours at the own rows."""

    def __init__(self, forms: _Forms, matrices: Matrices, *, is_symmetric: bool) -> None:
        self.local = forms.local
        self.rows = forms.rows
        self.layer = forms.layer
        self.matrices = matrices
        self.is_symmetric = is_symmetric

    def forward(self, x: Tensor) -> Tensor:
        return self._product(self.matrices, x, self.layer.rows, self.layer.there)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        matrices = self.matrices
        if not self.is_symmetric:
            matrices = matrices._replace(edges=self.local.reverse(matrices.edges))
        return self._product(matrices, gradient, self.layer.reached, self.layer.back), ()

    def _product(self, matrices: Matrices, x: Tensor, runs: TwoRuns, route: Route) -> Tensor:
        local = self.local
        _, own, d = x.shape
        coming = local.send(route, x)
        full = _StatesWithHalo().take(x, local.graph.nodes, self.rows.width(d))
        out = _new(x, full.shape, own, is_all=runs.is_all)
        self.rows.propagate(matrices, full, runs.inner, out)
        _put_halo(full, route, local.receive(coming, d, x.dtype)[0])
        self.rows.propagate(matrices, full, runs.border, out)
        return out[:, :own, :d]
