"""The surroundings of one node as data: which nodes are there, and how much of each reaches it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch

from agnn.errors import InputError
from agnn.explanation._explained_run import explained_run
from agnn.explanation._margin import margin
from agnn.explanation._reach import reach_of
from agnn.explanation._relevance import relevance
from agnn.explanation._removed_edges import removal_effects
from agnn.graph import hop_rings, row_edges

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from agnn.data import Split
    from agnn.explanation._margin import Margin
    from agnn.explanation._reach import Reach
    from agnn.graph import Graph
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
    layers = len(reach.sizes) - 1
    rings = reach.rings[: hops + 1] if hops <= layers else _rings(graph, node, hops)
    near, distance = torch.cat(rings), _ring_numbers(rings)
    # They stand in the same order: farther nodes alone are missing in one of the two.
    own = _longer(reach.rows[0].numpy(), near.numel())
    weight = own.mean(0)
    if lead is not None:
        added = np.abs(_at(lead, near.numpy()))
        weight = weight / max(weight.sum(), 1e-12) + added / max(np.abs(lead.added).sum(), 1e-12)
    shown, way_home = _choice(graph, rings, distance, weight, limit or near.numel())
    nodes = near[torch.from_numpy(shown)]
    edges, edge_ids = _edges_among(graph, nodes)
    weights = graph.weights_as(torch.float64)
    arriving = reach.rows[0].numpy().sum(1)
    return Neighbourhood(
        nodes=nodes.numpy(),
        ids=tuple(data.node_ids[i] for i in nodes.tolist()),
        hops=distance[shown],
        parents=way_home,
        labels=data.labels[nodes.numpy()],
        scores=run.scores_at(nodes).double().numpy(),
        is_train=np.isin(nodes.numpy(), split.train),
        weights=own[:, shown],
        elsewhere=np.maximum(arriving - own[:, shown].sum(1), 0.0),
        farther=np.maximum(arriving - own.sum(1), 0.0),
        left_out=near.numel() - nodes.numel(),
        edges=edges,
        layers=_layers_inside(graph, reach, nodes, torch.from_numpy(shown), edges[0], edge_ids),
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


def _rings(graph: Graph, node: int, hops: int) -> tuple[Tensor, ...]:
    return tuple(hop_rings(graph, torch.tensor([node]), hops))


def _ring_numbers(rings: Sequence[Tensor]) -> NDArray[np.int64]:
    sizes = [ring.numel() for ring in rings]
    return np.repeat(np.arange(len(rings)), sizes)


def _longer(values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """The first `count` columns of [R, k], zeros behind the last."""
    return np.pad(values[:, :count], ((0, 0), (0, max(count - values.shape[1], 0))))


def _at(lead: Margin, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
    """What these nodes add; 0 for one that does not reach the target."""
    both = min(lead.nodes.size, nodes.size)
    if np.array_equal(lead.nodes[:both], nodes[:both]):  # all within some hops, in the same order
        own: NDArray[np.float64] = _longer(lead.added[None], nodes.size)[0]
        return own
    # Of the many around a hub few are asked for.
    there = np.flatnonzero(np.isin(lead.nodes, nodes))
    there = there[np.argsort(lead.nodes[there])]
    place = np.searchsorted(lead.nodes[there], nodes).clip(max=max(there.size - 1, 0))
    if not there.size:
        return np.zeros(nodes.size)
    found = there[place]
    return np.where(lead.nodes[found] == nodes, lead.added[found], 0.0)


def _choice(
    graph: Graph,
    rings: Sequence[Tensor],
    distance: NDArray[np.int64],
    weight: NDArray[np.float64],
    limit: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which places of the rings' nodes are shown, in which order, and their parents by place."""
    home = WayHome(graph, rings, weight)
    shown = most_attended(weight, home, limit)
    shown = shown[np.lexsort((-weight[shown], distance[shown]))]  # stable: then by index
    home.look_up(shown)
    return shown, _positions(np.array([home[k] for k in shown.tolist()]), shown)


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


class WayHome:
    """Each node's most attended neighbour one hop nearer the target, its parent; the target's -1.

    Nodes are places in the rings joined. Parents are looked up for those that may be shown: around
    a hub there may be a million others. Of equally attended neighbours the first is taken.
    """

    def __init__(self, graph: Graph, rings: Sequence[Tensor], weight: NDArray[np.float64]) -> None:
        self._graph, self._rings, self._weight = graph, rings, weight
        self._starts = np.cumsum([0, *(ring.numel() for ring in rings)])
        self._known: dict[int, int] = {0: -1}

    def __getitem__(self, place: int) -> int:
        if place not in self._known:
            self.look_up(np.array([place]))
        return self._known[place]

    def look_up(self, places: NDArray[np.int64]) -> None:
        """Find the parents of these nodes together."""
        for hop in range(1, len(self._rings)):
            low, high = self._starts[hop : hop + 2]
            own = places[(places >= low) & (places < high)]
            if hop == 1:
                self._known.update(dict.fromkeys(own.tolist(), 0))
            elif own.size:
                self._look_up_ring(hop, own)

    def _look_up_ring(self, hop: int, places: NDArray[np.int64]) -> None:
        graph, inner = self._graph, self._rings[hop - 1]
        children = self._rings[hop][torch.from_numpy(places - self._starts[hop])]
        senders = graph.columns[row_edges(graph, children)].to(torch.int64)
        found = torch.searchsorted(inner, senders).clamp(max=inner.numel() - 1)
        is_inner = (inner[found] == senders).numpy()
        child = np.repeat(np.arange(places.size), graph.degrees[children].numpy())[is_inner]
        parent = self._starts[hop - 1] + found.numpy()[is_inner]
        best = np.lexsort((parent, -self._weight[parent], child))
        rows, first = np.unique(child[best], return_index=True)
        own = zip(places[rows].tolist(), parent[best][first].tolist(), strict=True)
        self._known.update(own)


def most_attended(weights: NDArray[np.float64], home: WayHome, limit: int) -> NDArray[np.int64]:
    """At most `limit` places, ascending: the most attended whose way to the target fits in.

    A node is never shown without its parent, so that everything shown hangs together.
    """
    if weights.size <= limit:
        return np.arange(weights.size)
    shown: set[int] = set()
    for some in _by_weight(weights, 4 * limit):
        home.look_up(some)
        for each in some.tolist():
            way, node = [], each
            while node >= 0 and node not in shown:
                way.append(node)
                node = home[node]
            if len(shown) + len(way) <= limit:
                shown.update(way)
            if len(shown) == limit:
                return np.array(sorted(shown), dtype=np.int64)
    return np.array(sorted(shown), dtype=np.int64)


def _by_weight(weights: NDArray[np.float64], first: int) -> Iterator[NDArray[np.int64]]:
    """All places, the heaviest first and equal ones by place; some, then more, then all."""
    left, count = np.arange(weights.size), first
    while left.size > count:
        own = weights[left]
        least = np.partition(own, left.size - count)[left.size - count]
        chosen = left[own >= least]
        yield chosen[np.argsort(-weights[chosen], kind="stable")]
        left, count = left[own < least], 16 * count
    yield left[np.argsort(-weights[left], kind="stable")]


def _layers_inside(
    graph: Graph,
    reach: Reach,
    nodes: Tensor,
    places: Tensor,
    receivers: NDArray[np.int64],
    edge_ids: Tensor,
) -> tuple[LayerInside, ...]:
    """Every layer's weights at `nodes` [k] and at the edges `edge_ids` [e] of the whole graph.

    `places` [k] are those of the nodes in the reach, `receivers` [e] positions in `nodes`.
    """
    paths = reach.paths
    last = torch.full((reach.rows[0].shape[0], 1), paths.combination[-1], dtype=torch.float64)
    ends = torch.from_numpy(receivers)
    degrees = graph.degrees[nodes]
    found = []
    for layer, (row, after) in enumerate(zip(reach.rows, [*reach.rows[1:], last], strict=True)):
        weights = reach.weights_at(layer, places, edge_ids)
        is_known = places < after.shape[1]  # the layer computes this row
        used = _values_at(after, places)[:, ends]
        known_edge, edges = is_known[ends], weights.edges.double()
        found.append(
            LayerInside(
                reach=_values_at(row, places).numpy(),
                flow=torch.where(known_edge, paths.hops[layer].keep * used * edges, 0.0).numpy(),
                attention=torch.where(known_edge, edges, np.nan).numpy(),
                loops=torch.where(is_known, weights.loops.double(), np.nan).numpy(),
                relevance=torch.where(
                    known_edge, relevance(weights.edges, degrees[ends]).double(), np.nan
                ).numpy(),
                loop_relevance=torch.where(
                    is_known, relevance(weights.loops, degrees).double(), np.nan
                ).numpy(),
            )
        )
    return tuple(found)


def _values_at(values: Tensor, places: Tensor) -> Tensor:
    """The values [R, g] at places [k], 0 behind the last."""
    found = values[:, places.clamp(max=values.shape[1] - 1)]
    return torch.where(places < values.shape[1], found, 0.0)
