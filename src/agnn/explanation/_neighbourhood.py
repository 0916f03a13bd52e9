"""The surroundings of one node as data: which nodes are there, and how much of each reaches it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.data import Split
from agnn.errors import InputError
from agnn.explanation._changes import explained_run
from agnn.explanation._margin import Margin
from agnn.explanation._reach import Reach, reach_of
from agnn.explanation._relevance import relevance
from agnn.explanation._removed_edges import Removal
from agnn.explanation._steps import Step, group_steps
from agnn.graph import Graph
from agnn.runs import Run

_MOST_EDGES: Final = 150  # in a picture of single nodes


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
    effects: NDArray[np.float64] | None = None  # [k] of removals by `Removal`; NaN: untried
    edge_weights: NDArray[np.float64] | None = None  # [e] where the edges have weights
    attention_groups: tuple[
        Step, ...
    ] = ()  # shares of all others by group, where some are not here

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
    def is_hub(self) -> bool:
        """Whether a picture of single nodes would be a tangle, or leave out most of them."""
        is_tangle = self.edges.shape[1] > 2 * _MOST_EDGES  # every edge stands there both ways
        return self.lead is not None and (is_tangle or self.left_out > self.nodes.size)

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

    @classmethod
    def of(
        cls,
        run: Run,
        node: int,
        split: Split,
        *,
        hops: int = 2,
        limit: int | None = None,
        reach: Reach | None = None,
        lead: Margin | None = None,
    ) -> Neighbourhood:
        """Return all nodes within `hops` of `node`, or the `limit` most attended of them.

        The cost is that of the model's input for this one node, whatever the size of the graph, or
        less where its `reach` is known. With `lead`, the node's own margin, attention and
        contribution count alike for the choice.
        """
        if hops < 0:
            raise InputError(f"`hops` must not be negative; got {hops}.")
        if limit is not None and limit < 1:
            raise InputError(f"`limit` must be at least 1, or None for all nodes; got {limit}.")
        run = explained_run(run)
        graph = run.graph
        data = run.data
        reach = reach_of(run, node) if reach is None else reach
        is_reached = hops <= len(reach.sizes) - 1
        rings = (
            reach.rings[: hops + 1] if is_reached else graph.hop_rings(torch.tensor([node]), hops)
        )
        near = torch.cat(rings)
        distance = np.repeat(np.arange(len(rings)), [ring.numel() for ring in rings])
        # They stand in the same order: farther nodes alone are missing in one of the two.
        reaching = _first_columns(reach.rows[0].numpy(), near.numel())
        weight = reaching.mean(0)
        if lead is not None:
            added = np.abs(_at(lead, near.numpy()))
            weight = weight / max(weight.sum(), 1e-12) + added / max(
                np.abs(lead.added).sum(), 1e-12
            )
        chosen, parents = _choice(graph, rings, distance, weight, limit or near.numel())
        nodes = near[torch.from_numpy(chosen)]
        edges, edge_ids = _edges_among(graph, nodes)
        weights = graph.weights_as(torch.float64)
        arriving = reach.rows[0].numpy().sum(1)
        left_out = near.numel() - nodes.numel()
        return Neighbourhood(
            nodes=nodes.numpy(),
            ids=tuple(data.node_ids[i] for i in nodes.tolist()),
            hops=distance[chosen],
            parents=parents,
            labels=data.labels[nodes.numpy()],
            scores=run.scores_at(nodes).double().numpy(),
            is_train=np.isin(nodes.numpy(), split.train),
            weights=reaching[:, chosen],
            elsewhere=np.maximum(arriving - reaching[:, chosen].sum(1), 0.0),
            farther=np.maximum(arriving - reaching.sum(1), 0.0),
            left_out=left_out,
            edges=edges,
            layers=_layers_inside(graph, reach, nodes, chosen, edges[0], edge_ids),
            lead=lead,
            edge_weights=None if weights is None else weights[edge_ids].numpy(),
            attention_groups=_attention_groups(run, reach, lead) if lead and left_out else (),
        )

    @classmethod
    def with_effects(
        cls,
        run: Run,
        node: int,
        split: Split,
        *,
        hops: int = 2,
        limit: int | None = None,
        trials: int = 20,
    ) -> Neighbourhood:
        """Return the neighbourhood with contributions and the effects of removing neighbours.

        At most `trials` edges are removed: those of the neighbours that contribute most.
        """
        run = explained_run(run)
        around = Neighbourhood.of(
            run, node, split, hops=hops, limit=limit, lead=Margin.of(run, node)
        )
        beside = np.flatnonzero(around.hops == 1)
        order = np.argsort(-np.abs(around.contributions[beside]), kind="stable")
        tried = beside[order][:trials]
        effects = np.full(around.nodes.size, np.nan)
        effects[tried] = Removal(run, node).effects([(node, int(k)) for k in around.nodes[tried]])
        return replace(around, effects=effects)


def _attention_groups(run: Run, reach: Reach, lead: Margin) -> tuple[Step, ...]:
    """Return the shares of all that arrives from other nodes, by hop and label."""
    hops = np.searchsorted(reach.sizes, np.arange(reach.sizes[-1]), side="right")
    labels = run.data.labels[reach.nodes.numpy()]
    classes = (lead.answer, lead.second), run.data.class_names
    return tuple(group_steps(reach.shares.mean(0)[1:], hops[1:], labels[1:], classes))


def _first_columns(values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return the first `count` columns of [R, k], zeros behind the last."""
    return np.pad(values[:, :count], ((0, 0), (0, max(count - values.shape[1], 0))))


def _at(lead: Margin, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what these nodes add; 0 for one that does not reach the target."""
    size = min(lead.nodes.size, nodes.size)
    if np.array_equal(lead.nodes[:size], nodes[:size]):  # all within some hops, in the same order
        return np.asarray(_first_columns(lead.added[None], nodes.size)[0])
    # Of the many around a hub few are asked for.
    shared = np.flatnonzero(np.isin(lead.nodes, nodes))
    if not shared.size:
        return np.zeros(nodes.size)
    shared = shared[np.argsort(lead.nodes[shared])]
    nearest = shared[np.searchsorted(lead.nodes[shared], nodes).clip(max=shared.size - 1)]
    return np.where(lead.nodes[nearest] == nodes, lead.added[nearest], 0.0)


def _choice(
    graph: Graph,
    rings: Sequence[Tensor],
    distance: NDArray[np.int64],
    weight: NDArray[np.float64],
    limit: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of the rings' nodes that are shown, in order, and their parents."""
    parents = Parents(graph, rings, weight)
    chosen = choose_places(weight, parents, limit)
    chosen = chosen[np.lexsort((-weight[chosen], distance[chosen]))]  # stable: then by index
    parents.look_up(chosen)
    return chosen, _positions(np.array([parents[k] for k in chosen.tolist()]), chosen)


def _edges_among(graph: Graph, nodes: Tensor) -> tuple[NDArray[np.int64], Tensor]:
    """Return the edges [2, e] among `nodes`, by position there, and where they stand."""
    edge_ids = graph.row_edges(nodes)
    order = torch.argsort(nodes)
    ascending = nodes[order]
    senders = graph.columns[edge_ids].to(torch.int64)
    position = torch.searchsorted(ascending, senders).clamp(max=nodes.numel() - 1)
    is_inside = ascending[position] == senders
    i = torch.repeat_interleave(torch.arange(nodes.numel()), graph.degrees[nodes])[is_inside]
    return torch.stack([i, order[position[is_inside]]]).numpy(), edge_ids[is_inside]


def _positions(values: NDArray[np.int64], nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each of `values` stands in `nodes`; -1 stays -1."""
    order = np.argsort(nodes)
    positions = order[np.searchsorted(nodes, values, sorter=order).clip(max=nodes.size - 1)]
    return np.where(values < 0, -1, positions)


class Parents:
    """Each node's most attended neighbour one hop nearer the target; -1 for the target itself.

    Nodes are places in the rings joined. Parents are looked up for those that may be shown: around
    a hub there may be a million others. Of equally attended neighbours the first is taken.
    """

    def __init__(self, graph: Graph, rings: Sequence[Tensor], weight: NDArray[np.float64]) -> None:
        self._graph = graph
        self._rings = rings
        self._weight = weight
        self._starts = np.cumsum([0, *(ring.numel() for ring in rings)])
        self._known: dict[int, int] = {0: -1}

    def __getitem__(self, position: int) -> int:
        if position not in self._known:
            self.look_up(np.array([position]))
        return self._known[position]

    def look_up(self, positions: NDArray[np.int64]) -> None:
        """Find the parents of these nodes together."""
        for hop in range(1, len(self._rings)):
            low, high = self._starts[hop : hop + 2]
            in_ring = positions[(positions >= low) & (positions < high)]
            if hop == 1:
                self._known.update(dict.fromkeys(in_ring.tolist(), 0))
            elif in_ring.size:
                self._look_up_ring(hop, in_ring)

    def _look_up_ring(self, hop: int, positions: NDArray[np.int64]) -> None:
        graph = self._graph
        inner = self._rings[hop - 1]
        children = self._rings[hop][torch.from_numpy(positions - self._starts[hop])]
        senders = graph.columns[graph.row_edges(children)].to(torch.int64)
        nearest = torch.searchsorted(inner, senders).clamp(max=inner.numel() - 1)
        is_inner = (inner[nearest] == senders).numpy()
        child = np.repeat(np.arange(positions.size), graph.degrees[children].numpy())[is_inner]
        parent = self._starts[hop - 1] + nearest.numpy()[is_inner]
        best = np.lexsort((parent, -self._weight[parent], child))
        rows, index = np.unique(child[best], return_index=True)
        self._known.update(zip(positions[rows].tolist(), parent[best][index].tolist(), strict=True))


def choose_places(weights: NDArray[np.float64], parents: Parents, limit: int) -> NDArray[np.int64]:
    """Return at most `limit` places, ascending: the most attended whose way to the target fits in.

    A node is never shown without its parent, so that everything shown hangs together.
    """
    if weights.size <= limit:
        return np.arange(weights.size)
    chosen: set[int] = set()
    for heaviest in _by_weight(weights, 4 * limit):
        parents.look_up(heaviest)
        for position in heaviest.tolist():
            way = []
            while position >= 0 and position not in chosen:
                way.append(position)
                position = parents[position]
            if len(chosen) + len(way) <= limit:
                chosen.update(way)
            if len(chosen) == limit:
                return np.array(sorted(chosen), dtype=np.int64)
    return np.array(sorted(chosen), dtype=np.int64)


def _by_weight(weights: NDArray[np.float64], first: int) -> Iterator[NDArray[np.int64]]:
    """Return all places, the heaviest first and equal ones by place; some, then more, then all."""
    remaining = np.arange(weights.size)
    count = first
    while remaining.size > count:  # sorting a million places would take longer than the answer may
        least = np.partition(weights[remaining], remaining.size - count)[remaining.size - count]
        heaviest = remaining[weights[remaining] >= least]
        yield heaviest[np.argsort(-weights[heaviest], kind="stable")]
        remaining = remaining[weights[remaining] < least]
        count *= 16
    yield remaining[np.argsort(-weights[remaining], kind="stable")]


def _layers_inside(
    graph: Graph,
    reach: Reach,
    nodes: Tensor,
    positions: NDArray[np.int64],
    receivers: NDArray[np.int64],
    edge_ids: Tensor,
) -> tuple[LayerInside, ...]:
    """Return every layer's weights at `nodes` [k] and at edges of the whole graph, `edge_ids` [e].

    `positions` [k] are those of the nodes in the reach, `receivers` [e] positions in `nodes`.
    """
    paths = reach.paths
    last = torch.full((reach.rows[0].shape[0], 1), paths.combination[-1], dtype=torch.float64)
    ranks = (edge_ids - graph.offsets[nodes[receivers]]).numpy()
    degrees = graph.degrees[nodes]
    inside = []
    for layer, (row, after) in enumerate(zip(reach.rows, [*reach.rows[1:], last], strict=True)):
        weights = reach.layers[layer].weights_at(positions, receivers, ranks)
        edges = weights.edges.double()
        flow = paths.hops[layer].keep * _values_at(after, positions)[:, receivers] * edges
        inside.append(
            LayerInside(
                reach=_values_at(row, positions).numpy(),
                flow=torch.where(edges.isnan(), 0.0, flow).numpy(),
                attention=edges.numpy(),
                loops=weights.loops.double().numpy(),
                relevance=relevance(weights.edges, degrees[receivers]).double().numpy(),
                loop_relevance=relevance(weights.loops, degrees).double().numpy(),
            )
        )
    return tuple(inside)


def _values_at(values: Tensor, positions: NDArray[np.int64]) -> Tensor:
    """Return the values [R, g] at places [k], 0 behind the last."""
    index = torch.from_numpy(positions)
    clamped = values[:, index.clamp(max=values.shape[1] - 1)]
    return torch.where(index < values.shape[1], clamped, 0.0)
