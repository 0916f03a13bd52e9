"""What reaches one node, and what is kept of a whole graph so that it can be looked up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import torch

from agnn.explanation._flow import arriving_rows, model_paths, path_rows
from agnn.kernels import Attention, holding, run_chain

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from agnn.graph import Features, Graph, ReceptiveField, View
    from agnn.kernels import FirstStates, Link
    from agnn.nn import NodeModel, Paths
    from agnn.runs import Run


@dataclass(frozen=True, eq=False)
class ByRow:
    """What a model does to the row of each node, apart from how it propagates."""

    links: tuple[Link, ...]  # from Z = X W0 + b0 to the logits
    first: FirstStates  # Z and W0
    constant: Tensor  # [R, c] the logits of a node whose Z is 0
    values: Tensor  # [R, n, c] what a node adds to each logit if all of it arrives

    @classmethod
    def of(cls, model: NodeModel, view: View) -> ByRow | None:
        """Return None where the two cannot be separated."""
        links = model.row_links(view)
        if links is None:
            return None
        with torch.no_grad(), holding() as held:
            states = run_chain(links[:1], view.features.values)
            logits = run_chain(links[1:], states)
            constant = run_chain(links[1:], torch.zeros_like(states[:, :1]))
        values = (logits - constant).cpu()
        return cls(tuple(links[1:]), held.first[0], constant[:, 0].cpu(), values)

    def gradient(self, nodes: Tensor, combination: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gradient of a combination [c] of the values of some nodes at Z; [R, p, d]."""
        with torch.enable_grad(), holding():
            states = self.first.states[:, nodes.to(self.first.states.device)].requires_grad_()
            logits = run_chain(self.links, states)
            total = (logits @ torch.from_numpy(combination).to(logits)).sum()
            (gradient,) = torch.autograd.grad(total, states)
        found: NDArray[np.float64] = gradient.cpu().double().numpy()
        return found


@dataclass(frozen=True, eq=False)
class WholeGraph:
    """A model's weights on the whole graph, kept for many questions about single nodes.

    Where what a model does to single rows can be separated from how it propagates, a node adds its
    path weight times `values`; `by_row` is None for other models.
    """

    paths: Paths
    features: Features
    by_row: ByRow | None = None

    @classmethod
    @torch.no_grad()
    def of(cls, run: Run) -> WholeGraph:
        """Compute everything now."""
        view = run.whole_view()
        return cls(model_paths(run.network, view), view.features, ByRow.of(run.network, view))


@dataclass(frozen=True, eq=False)
class Reach:
    """The nodes that reach a target, and how much of each state of theirs arrives.

    A layer with s layers after it computes the first `sizes[s]` of the nodes.
    """

    nodes: Tensor  # [k] indices in the data: the target, then by hop, ascending inside a hop
    sizes: tuple[int, ...]  # how many of them are within 0, 1, ... hops
    paths: Paths  # of the whole graph, or at the rows of the target's own field
    rows: list[Tensor]  # see `path_rows`
    field: ReceptiveField | None  # None: looked up in the whole graph
    whole: WholeGraph | None = None

    @property
    def rings(self) -> tuple[Tensor, ...]:
        """The nodes by their distance from the target."""
        return self.nodes.tensor_split(self.sizes[:-1])

    def weights_at(self, layer: int, places: Tensor, edge_ids: Tensor) -> Attention:
        """P of a layer at the nodes at these places [k], and at these edges of the whole graph [e].

        What the layer does not compute has any value.
        """
        weights = self.paths.hops[layer].attention
        if self.field is None:
            nodes = self.nodes[places.clamp(max=self.nodes.numel() - 1)]
            return Attention(weights.edges[:, edge_ids], weights.loops[:, nodes])
        own = [self._place_in_field(edge_ids), places]
        return Attention(*(
            values[:, each.clamp(max=values.shape[1] - 1)] if values.shape[1] else
            values.new_zeros(values.shape[0], each.numel())
            for values, each in zip((weights.edges, weights.loops), own, strict=True)
        ))  # fmt: skip

    def _place_in_field(self, edge_ids: Tensor) -> Tensor:
        ascending, order = self._field_edges
        if not ascending.numel():
            return torch.zeros_like(edge_ids)
        return order[torch.searchsorted(ascending, edge_ids).clamp(max=ascending.numel() - 1)]

    @cached_property
    def _field_edges(self) -> tuple[Tensor, Tensor]:
        assert self.field is not None  # noqa: S101
        ascending, order = torch.sort(self.field.edge_ids.cpu())
        return ascending, order


def reach_of(run: Run, node: int, whole: WholeGraph | None = None) -> Reach:
    """The reach of one node, given by its index; computed, or looked up in the whole graph."""
    if whole is not None:
        run.check_node(node)
        return _looked_up(run.graph, node, whole)
    view = run.view_of(node)
    paths, field = model_paths(run.network, view), view.field
    return Reach(field.nodes.cpu(), field.sizes, paths, path_rows(field, paths), field)


def _looked_up(graph: Graph, node: int, whole: WholeGraph) -> Reach:
    """The reach in a whole graph, at a cost in proportion to the edges of what is reached."""
    paths = whole.paths
    columns = graph.columns.numpy()
    rings = [np.array([node])]
    is_seen = np.zeros(graph.nodes, dtype=np.bool_)
    is_seen[node] = True
    for _ in paths.hops:
        before = is_seen.copy()
        is_seen[columns[_edges_of(graph, rings[-1])[0]]] = True
        rings.append(np.flatnonzero(is_seen & ~before))
    nodes = np.concatenate(rings)
    sizes = tuple(accumulate(each.size for each in rings))
    place = np.empty(graph.nodes, dtype=np.int32)  # only entries of `nodes` are read
    place[nodes] = np.arange(nodes.size)

    def spread(layer: int, sent: NDArray[np.float64], width: int) -> NDArray[np.float64]:
        weights = paths.hops[layer].attention.edges.numpy()
        edges, lengths = _edges_of(graph, nodes[: sent.shape[1]])
        senders = place[columns[edges]]
        totals = [
            np.bincount(senders, np.repeat(amounts, lengths) * of_edges[edges], width)
            for amounts, of_edges in zip(sent, weights, strict=True)
        ]
        return np.stack(totals).astype(np.float64)  # without edges there are whole numbers

    loops = [
        hop.attention.loops[:, torch.from_numpy(nodes[:count])].numpy()
        for hop, count in zip(paths.hops, sizes[-2::-1], strict=True)
    ]
    rows = arriving_rows(paths, sizes, loops, spread)
    return Reach(torch.from_numpy(nodes), sizes, paths, rows, None, whole)


def _edges_of(graph: Graph, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of the stored edges of some rows, row by row, and how many each row has."""
    offsets = graph.offsets.numpy()
    lengths = offsets[rows + 1] - offsets[rows]
    ends = np.cumsum(lengths)
    return np.repeat(offsets[rows + 1] - ends, lengths) + np.arange(lengths.sum()), lengths
