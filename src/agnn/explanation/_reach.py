"""What reaches one node, and what is kept of a whole graph so that it can be looked up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import torch

from agnn.explanation._flow import LayerRows, arriving_rows, field_layers, model_paths
from agnn.kernels import holding, run_chain

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from agnn.graph import Features, Graph, View
    from agnn.kernels import FirstStates, Link
    from agnn.networks import NodeModel, Paths
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
        return np.asarray(gradient.cpu().double().numpy())


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
    paths: Paths  # how the model propagates; the weights themselves are in `layers`
    layers: list[LayerRows]  # from first to last
    whole: WholeGraph | None = None  # in which it was looked up

    @classmethod
    def of_view(cls, model: NodeModel, view: View) -> Reach:
        """Compute the reach of a view's one target."""
        paths = model_paths(model, view)
        field = view.field
        return cls(field.nodes.cpu(), field.sizes, paths, field_layers(field, paths))

    @cached_property
    def rows(self) -> list[Tensor]:
        """How much of each state of each node arrives: see `path_rows`."""
        return arriving_rows(self.paths, self.sizes, self.layers)

    @property
    def rings(self) -> tuple[Tensor, ...]:
        """The nodes by their distance from the target."""
        return self.nodes.tensor_split(self.sizes[:-1])

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Each node's share of all that arrives in a replica; [R, k]."""
        arriving = self.rows[0].numpy()
        return np.asarray(arriving / arriving.sum(1, keepdims=True))


def reach_of(run: Run, node: int, whole: WholeGraph | None = None) -> Reach:
    """Return the reach of one node, given by its index; computed, or looked up in `whole`."""
    if whole is None:
        return Reach.of_view(run.network, run.view_of(node))
    run.check_node(node)
    return _looked_up_reach(run.graph, node, whole)


def _looked_up_reach(graph: Graph, node: int, whole: WholeGraph) -> Reach:
    """Return the reach in a whole graph, at a cost in proportion to the edges that it reads."""
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
    sizes = tuple(accumulate(ring.size for ring in rings))
    place = np.empty(graph.nodes, dtype=np.int32)  # only entries of `nodes` are read
    place[nodes] = np.arange(nodes.size)
    layers = []
    for hop, count in zip(paths.hops, sizes[-2::-1], strict=True):
        edges, lengths = _edges_of(graph, nodes[:count])
        of_edges, of_loops = (values.numpy() for values in hop.attention)
        senders = place[columns[edges]]
        layers.append(LayerRows(lengths, senders, of_edges[:, edges], of_loops[:, nodes[:count]]))
    return Reach(torch.from_numpy(nodes), sizes, paths, layers, whole)


def _edges_of(graph: Graph, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of the stored edges of some rows, and how many each row has."""
    offsets = graph.offsets.numpy()
    lengths = offsets[rows + 1] - offsets[rows]
    ends = np.cumsum(lengths)
    return np.repeat(offsets[rows + 1] - ends, lengths) + np.arange(lengths.sum()), lengths
