"""The surroundings of one node as data: which nodes are there, and how much of each reaches it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch

from agnn.errors import InputError
from agnn.explanation._explained_run import explained_run
from agnn.explanation._flow import edge_flows
from agnn.explanation._margin import margin
from agnn.explanation._reach import reach_of
from agnn.explanation._relevance import edge_relevance
from agnn.explanation._removed_edges import removal_effects
from agnn.graph import hop_rings, row_edges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from agnn.data import Split
    from agnn.explanation._margin import Margin
    from agnn.explanation._reach import Reach
    from agnn.graph import Graph, ReceptiveField
    from agnn.nn import Paths
    from agnn.runs import Run


@dataclass(frozen=True, eq=False)
class LayerInside:
    """One layer's weights among k nodes and e edges.

    A layer with s layers after it bears on the target through the rows within s hops of it.
    The weights of those rows are here; all others are NaN.
    """

    reach: NDArray[np.float64]  # [R, k] how much of the state that the layer reads arrives
    flow: NDArray[np.float64]  # [R, e] how much of what arrives crosses the edge in this layer
    attention: NDArray[np.float64]  # [R, e] P[i, j]
    loops: NDArray[np.float64]  # [R, k] P[i, i]
    relevance: NDArray[np.float64]  # [R, e] R(j -> i), Eq. (9)
    loop_relevance: NDArray[np.float64]  # [R, k]


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The nodes within some hops of a target, the edges among them, and every layer's weights.

    The k nodes are ordered: the target first, then by hop, and within a hop the most attended
    first. An edge names its ends by their positions and is there twice, once per direction.
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
    farther: NDArray[np.float64]  # [R] the part of it that is from beyond these hops
    left_out: int  # nodes within these hops that are not here, being less attended
    edges: NDArray[np.int64]  # [2, e] receiver and sender
    layers: tuple[LayerInside, ...]  # [l] from first to last
    lead: Margin | None = None  # of the target's prediction over the second class
    effects: NDArray[np.float64] | None = None  # [k] of removals by `removal_effects`; NaN: untried
    edge_weights: NDArray[np.float64] | None = None  # [e] where the edges have weights

    @cached_property
    def contributions(self) -> NDArray[np.float64]:
        """What each node adds to the lead of the predicted class over the second; [k]."""
        if self.lead is None:
            raise InputError("the neighbourhood was made without the margin: give `lead`.")
        return _at(self.lead, self.nodes)

    @property
    def contribution_shares(self) -> NDArray[np.float64]:
        """The size of each contribution as a share of the sizes of all nodes' together; [k]."""
        total = 0.0 if self.lead is None else float(np.abs(self.lead.added).sum())
        return np.abs(self.contributions) / max(total, 1e-12)

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
    run: Run,
    node: int,
    split: Split,
    *,
    hops: int = 2,
    limit: int | None = None,
    reach: Reach | None = None,
    lead: Margin | None = None,
) -> Neighbourhood:
    """All nodes within `hops` of `node`, or the `limit` most attended of them.

    The cost is that of the model's input for this one node, whatever the size of the graph, or
    less where its `reach` is known. With `lead`, the node's own by `margin`, attention and
    contribution count alike for the choice.
    """
    if hops < 0:
        raise InputError(f"`hops` must not be negative; got {hops}.")
    if limit is not None and limit < 1:
        raise InputError(f"`limit` must be at least 1, or None for all nodes; got {limit}.")
    run = explained_run(run)
    graph, data = run.graph, run.data
    reach = reach_of(run, node) if reach is None else reach
    field, paths, rows = reach.field, reach.paths, reach.rows
    rings = hop_rings(graph, torch.tensor([node]), hops)
    near, distance = torch.cat(rings), _ring_numbers(rings)
    own = _Lookup(field.nodes.cpu()).values(rows[0], near, 0.0).numpy()
    weight = own.mean(0)
    if lead is not None:
        added = np.abs(_at(lead, near.numpy()))
        weight = weight / max(weight.sum(), 1e-12) + added / max(np.abs(lead.added).sum(), 1e-12)
    shown, way_home = _choice(graph, near, distance, weight, limit or near.numel())
    nodes = near[torch.from_numpy(shown)]
    edges, edge_ids = _edges_among(graph, nodes)
    weights = graph.weights_as(torch.float64)
    return Neighbourhood(
        nodes=nodes.numpy(),
        ids=tuple(data.node_ids[i] for i in nodes.tolist()),
        hops=distance[shown],
        parents=way_home,
        labels=data.labels[nodes.numpy()],
        scores=run.scores_at(nodes).double().numpy(),
        is_train=np.isin(nodes.numpy(), split.train),
        weights=own[:, shown],
        elsewhere=np.maximum(rows[0].sum(1).numpy() - own[:, shown].sum(1), 0.0),
        farther=np.maximum(rows[0].sum(1).numpy() - own.sum(1), 0.0),
        left_out=near.numel() - nodes.numel(),
        edges=edges,
        layers=_layers_inside(field, paths, rows, nodes, edge_ids),
        lead=lead,
        edge_weights=None if weights is None else weights[edge_ids].numpy(),
    )


def weighed_neighbourhood(
    run: Run, node: int, split: Split, *, hops: int = 2, limit: int | None = None, trials: int = 20
) -> Neighbourhood:
    """The neighbourhood with contributions, and with the effects of removing direct neighbours.

    At most `trials` edges are removed: those of the neighbours that contribute most.
    """
    run = explained_run(run)
    found = neighbourhood(run, node, split, hops=hops, limit=limit, lead=margin(run, node))
    beside = np.flatnonzero(found.hops == 1)
    order = np.argsort(-np.abs(found.contributions[beside]), kind="stable")
    tried = beside[order][:trials]
    effects = np.full(found.nodes.size, np.nan)
    effects[tried] = removal_effects(run, node, [(node, int(k)) for k in found.nodes[tried]])
    return replace(found, effects=effects)


def _at(lead: Margin, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
    """What these nodes add; 0 for one that does not reach the target."""
    order = np.argsort(lead.nodes)
    place = order[np.searchsorted(lead.nodes, nodes, sorter=order).clip(max=order.size - 1)]
    return np.where(lead.nodes[place] == nodes, lead.added[place], 0.0)


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


def parents(
    hops: NDArray[np.int64], weights: NDArray[np.float64], edges: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Each node's most attended neighbour among those one hop nearer the target; the target's -1.

    `hops` [k] and `weights` [k] are by node, `edges` [2, e] joins positions in them, both ways.
    Of equally attended neighbours the first is taken.
    """
    i, j = edges
    inward = hops[j] == hops[i] - 1
    i, j = i[inward], j[inward]
    best = np.lexsort((j, -weights[j], i))  # by receiver; inside, the most attended first
    found = np.full(hops.size, -1, dtype=np.int64)
    children, first = np.unique(i[best], return_index=True)
    found[children] = j[best][first]
    return found


def most_attended(
    weights: NDArray[np.float64], parent: NDArray[np.int64], limit: int
) -> NDArray[np.int64]:
    """At most `limit` positions, ascending: the most attended whose way to the target fits in.

    A node is never shown without its parent, so that everything shown hangs together.
    """
    if weights.size <= limit:
        return np.arange(weights.size)
    shown: set[int] = set()
    for node in np.argsort(-weights, kind="stable").tolist():
        way = []
        while node >= 0 and node not in shown:
            way.append(node)
            node = int(parent[node])
        if len(shown) + len(way) <= limit:
            shown.update(way)
        if len(shown) == limit:
            break
    return np.array(sorted(shown), dtype=np.int64)


def _layers_inside(
    field: ReceptiveField,
    paths: Paths,
    rows: Sequence[Tensor],
    nodes: Tensor,
    edge_ids: Tensor,
) -> tuple[LayerInside, ...]:
    """Every layer's weights at `nodes` [k] and at the edges `edge_ids` [e] of the whole graph.

    `rows` are the path rows in the field.
    """
    graph = field.graph.to("cpu")
    by_node, by_edge = _Lookup(field.nodes.cpu()), _Lookup(field.edge_ids.cpu())

    def at_nodes(values: Tensor, missing: float) -> NDArray[np.float64]:
        return by_node.values(values, nodes, missing).numpy()

    def at_edges(values: Tensor, missing: float = np.nan) -> NDArray[np.float64]:
        return by_edge.values(values, edge_ids, missing).numpy()

    found = []
    for hop, row, flow in zip(paths.hops, rows, edge_flows(field, paths, rows), strict=True):
        weight, relevance = hop.attention, edge_relevance(graph, hop.attention)
        found.append(
            LayerInside(
                reach=at_nodes(row, 0.0),
                flow=at_edges(flow, 0.0),
                attention=at_edges(weight.edges),
                loops=at_nodes(weight.loops, np.nan),
                relevance=at_edges(relevance.edges),
                loop_relevance=at_nodes(relevance.loops, np.nan),
            )
        )
    return tuple(found)


class _Lookup:
    """The positions of distinct keys [f] in any order, sorted once for all look-ups."""

    def __init__(self, keys: Tensor) -> None:
        self._ascending, self._order = torch.sort(keys)

    def values(self, values: Tensor, wanted: Tensor, missing: float) -> Tensor:
        """The values of the `wanted` keys [k], `missing` where there is none; [R, k] float64.

        `values` [R, g] belong to the first g keys; those behind them have none.
        """
        if not values.shape[1]:
            return torch.full((values.shape[0], wanted.numel()), missing, dtype=torch.float64)
        last = self._ascending.numel() - 1
        near = torch.searchsorted(self._ascending, wanted).clamp(max=last)
        place = self._order[near]
        is_there = (self._ascending[near] == wanted) & (place < values.shape[1])
        found = values[:, torch.where(is_there, place, 0)].double()
        return torch.where(is_there, found, missing)
