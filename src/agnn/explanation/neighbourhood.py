"""The surroundings of one node as data: who is there, and how much of each reaches the node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from agnn.errors import InputError
from agnn.explanation.flow import path_rows
from agnn.explanation.layer_inside import LayerInside, layers_inside
from agnn.explanation.lookup import Lookup
from agnn.explanation.neighbour_choice import most_attended, parents
from agnn.graph import hop_rings, row_edges

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from agnn.data import Split
    from agnn.explanation.trained_model import TrainedModel
    from agnn.graph import Graph


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The nodes within some hops of a target, the edges among them, and every layer's weights.

    The k nodes stand target first, then by hop, and inside a hop the most attended first. An
    edge names its ends by their positions there and stands twice, once a direction.
    """

    nodes: NDArray[np.int64]  # [k] indices in the data
    ids: tuple[str, ...]  # [k] the data's own names
    hops: NDArray[np.int64]  # [k] distance from the target
    parents: NDArray[np.int64]  # [k] position of the most attended neighbour one hop nearer; -1
    labels: NDArray[np.int64]  # [k] true classes; -1 where there is none
    scores: NDArray[np.float64]  # [R, k, c] class probabilities
    is_train: NDArray[np.bool_]  # [k] whether its label was revealed
    weights: NDArray[np.float64]  # [R, k] the target's row of P(l)...P(1)
    elsewhere: NDArray[np.float64]  # [R] the weight of all nodes that are not here
    left_out: int  # nodes within these hops that are not here, being less attended
    edges: NDArray[np.int64]  # [2, e] receiver and sender
    layers: tuple[LayerInside, ...]  # [l] from first to last

    @property
    def target(self) -> int:
        """The target's index in the data."""
        return int(self.nodes[0])

    @property
    def predictions(self) -> NDArray[np.int64]:
        """The classes with the highest mean probability over the replicas; [k]."""
        answers: NDArray[np.int64] = self.scores.mean(0).argmax(-1)
        return answers

    @property
    def shares(self) -> NDArray[np.float64]:
        """Each node's share of all that reaches the target, averaged over the replicas; [k].

        For AGNN these are the weights. The rows of GCN's matrix do not sum to 1: its shares are
        what compares with them.
        """
        total = self.weights.sum(1) + self.elsewhere
        shares: NDArray[np.float64] = (self.weights / total[:, None]).mean(0)
        return shares


def neighbourhood(
    trained: TrainedModel, node: int, split: Split, *, hops: int = 2, limit: int | None = None
) -> Neighbourhood:
    """All nodes within `hops` of `node`, or the `limit` most attended of them.

    Costs what the model reads for this one node, whatever the size of the graph.
    """
    if hops < 0:
        raise InputError(f"`hops` must not be negative; got {hops}.")
    if limit is not None and limit < 1:
        raise InputError(f"`limit` must be at least 1, or None for all nodes; got {limit}.")
    graph, data = trained.graph, trained.data
    field, paths = trained.paths_around(node)
    rows = path_rows(field, paths)
    rings = hop_rings(graph, torch.tensor([node]), hops)
    near, distance = torch.cat(rings), _ring_numbers(rings)
    own = Lookup(field.nodes.cpu()).values(rows[0], near, 0.0).numpy()
    shown, way_home = _choice(graph, near, distance, own.mean(0), limit or near.numel())
    nodes = near[torch.from_numpy(shown)]
    edges, edge_ids = _edges_among(graph, nodes)
    return Neighbourhood(
        nodes=nodes.numpy(),
        ids=tuple(data.node_ids[i] for i in nodes.tolist()),
        hops=distance[shown],
        parents=way_home,
        labels=data.labels[nodes.numpy()],
        scores=trained.scores_at(nodes).double().numpy(),
        is_train=np.isin(nodes.numpy(), split.train),
        weights=own[:, shown],
        elsewhere=np.maximum(rows[0].sum(1).numpy() - own[:, shown].sum(1), 0.0),
        left_out=near.numel() - nodes.numel(),
        edges=edges,
        layers=layers_inside(field, [hop.attention for hop in paths.hops], rows, nodes, edge_ids),
    )


def _choice(
    graph: Graph,
    near: Tensor,
    distance: NDArray[np.int64],
    weight: NDArray[np.float64],
    limit: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which positions of `near` are shown, in which order, and their parents by place in it."""
    way_home = parents(distance, weight, _inward_edges(graph, near, distance))
    shown = most_attended(weight, way_home, limit)
    shown = shown[np.lexsort((-weight[shown], distance[shown]))]  # stable: then by index
    return shown, _positions(way_home[shown], shown)


def _inward_edges(graph: Graph, near: Tensor, distance: NDArray[np.int64]) -> NDArray[np.int64]:
    """Every edge [2, e] from a node to one nearer the target, by position, and some others.

    They stand in the rows of the nearer ends too, so the outermost nodes' rows, which are most of
    all and may be long, are not read.
    """
    inner = near[: int((distance < distance[-1]).sum())]  # they stand by ring
    senders = graph.columns[row_edges(graph, inner)].to(torch.int64)  # all of them near
    order = torch.argsort(near)
    far = order[torch.searchsorted(near[order], senders)]
    nearer = torch.repeat_interleave(torch.arange(inner.numel()), graph.degrees[inner])
    return torch.stack([far, nearer]).numpy()


def _ring_numbers(rings: list[Tensor]) -> NDArray[np.int64]:
    sizes = [ring.numel() for ring in rings]
    return np.repeat(np.arange(len(rings)), sizes)


def _edges_among(graph: Graph, nodes: Tensor) -> tuple[NDArray[np.int64], Tensor]:
    """The edges [2, e] whose ends are both in `nodes`, by position there, and where they stand."""
    edge_ids = row_edges(graph, nodes)
    order = torch.argsort(nodes)
    ascending = nodes[order]
    senders = graph.columns[edge_ids].to(torch.int64)
    place = torch.searchsorted(ascending, senders).clamp(max=nodes.numel() - 1)
    kept = ascending[place] == senders
    i = torch.repeat_interleave(torch.arange(nodes.numel()), graph.degrees[nodes])[kept]
    return torch.stack([i, order[place[kept]]]).numpy(), edge_ids[kept]


def _positions(values: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each of `values` stands in `places`; -1 stays -1."""
    order = np.argsort(places)
    found = order[np.searchsorted(places, values, sorter=order).clip(max=places.size - 1)]
    return np.where(values < 0, -1, found)
