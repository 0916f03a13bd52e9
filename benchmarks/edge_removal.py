"""Does attention show what a prediction rests on? Edges are removed and the prediction is compared.

Orders of edges, the falls in probability when the first k go, and how far replicas agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import torch

from agnn.errors import InputError
from agnn.explanation import Removal, explain, explained_run, model_paths, reach_of
from agnn.metrics import Summary
from agnn.runs import Run

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from agnn.graph import ReceptiveField
    from agnn.networks import Paths


COUNTS: Final = (1, 2, 3, 5)
_DRAWS: Final = 5  # random sets of edges, whose mean stands for chance


@dataclass(frozen=True, eq=False)
class Falls:
    """What happens to the prediction at one node when k edges are removed, for some k.

    A fall is the probability of the predicted class before, less that of the same class after; an
    entry of -0.1 says that it became more probable. NaN where there are not more than k edges.
    """

    fall: NDArray[np.float64]  # [k]
    is_changed: NDArray[np.float64]  # [k] 1 where another class is predicted then; else 0


def falls(
    removal: Removal, order: Sequence[tuple[int, int]], counts: Iterable[int] = COUNTS
) -> Falls:
    """The falls without the first k edges of an order, for each k of `counts`."""
    before = removal.probabilities(())
    answer = int(before.argmax())
    fall, is_changed = [], []
    for k in counts:
        if len(order) <= k:
            fall.append(np.nan)
            is_changed.append(np.nan)
            continue
        after = removal.probabilities(order[:k])
        fall.append(float(before[answer] - after[answer]))
        is_changed.append(float(after.argmax() != answer))
    return Falls(np.array(fall), np.array(is_changed))


def chance_falls(
    removal: Removal,
    pool: Sequence[tuple[int, int]],
    source: np.random.Generator,
    counts: Iterable[int] = COUNTS,
) -> Falls:
    """The mean falls without k edges drawn from the pool, over a few draws."""
    drawn = []
    for _ in range(_DRAWS):
        order = [pool[k] for k in source.permutation(len(pool))]
        drawn.append(falls(removal, order, counts))
    return Falls(
        np.mean([each.fall for each in drawn], axis=0),
        np.mean([each.is_changed for each in drawn], axis=0),
    )


def order_by_trial(removal: Removal, pool: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The edges by how far the answer falls without each of them alone, the farthest first."""
    before = removal.probabilities(())
    answer = int(before.argmax())
    left = [float(removal.probabilities([pair])[answer]) for pair in pool]
    return [pool[k] for k in np.argsort(left, kind="stable")]


def sampled_test_nodes(opened: Run, count: int, seed: int = 0) -> list[int]:
    """Up to `count` test nodes of the first split that have two neighbours or more, drawn."""
    test = np.asarray(opened.split.test)
    degrees = opened.graph.degrees.numpy()[test]
    able = test[degrees >= 2]
    if not able.size:
        raise InputError("no test node has two neighbours or more: there is nothing to remove.")
    drawn: list[int] = np.random.default_rng(seed).permutation(able)[:count].tolist()
    return drawn


def attended_edges(opened: Run, node: int, *, is_own: bool) -> list[tuple[int, int]]:
    """The edges around a node, or its own alone, the most attended first."""
    found = edge_flow(opened, node)
    pairs = (found.at(node) if is_own else found).pairs.tolist()
    return [(i, j) for i, j in pairs]


def contributing_edges(opened: Run, node: int) -> list[tuple[int, int]]:
    """A node's own edges, those first whose other end adds most to the predicted class's logit.

    "Adds" as in an explanation's `toward_answer`.
    """
    nodes = explain(opened, node, limit=opened.data.nodes).neighbours
    beside = [each for each in nodes if each.hops == 1]
    return [(node, each.node) for each in sorted(beside, key=lambda each: -each.toward_answer)]


def summaries(values: Sequence[NDArray[np.float64]]) -> list[Summary | None]:
    """Each k's values over the nodes that have enough edges; None where no node has."""
    table = np.stack(values)
    columns = [column[~np.isnan(column)].tolist() for column in table.T]
    return [Summary(column) if column else None for column in columns]


class EdgeFlow(NamedTuple):
    """Undirected edges around a node, the most attended first."""

    pairs: NDArray[np.int64]  # [e, 2] indices in the data, the smaller first
    flow: NDArray[np.float64]  # [e] averaged over the replicas

    def at(self, node: int) -> EdgeFlow:
        """Those with this node at one end."""
        is_own = (self.pairs == node).any(1)
        return EdgeFlow(self.pairs[is_own], self.flow[is_own])


def edge_flow(trained: Run, node: int) -> EdgeFlow:
    """Attention by edge, over all layers: one number an edge, for one target i.

        flow(u - v) = sum over t of (P(l)...P(t+1))_iu P(t)_uv + (P(l)...P(t+1))_iv P(t)_vu

    A walk that starts at i and goes from receiver to sender by P(l), then P(l-1), down to P(1),
    takes the edge so many times on average. Equal edges stand by their ends.
    """
    view = trained.view_of(node)
    field, paths = view.field, model_paths(trained.network, view)
    ends = torch.stack([field.graph.receivers, field.graph.senders], 1).cpu()
    flow = torch.zeros(len(ends), dtype=torch.float64)
    for layer in edge_flows(field, paths, reach_of(trained, node).rows):
        flow[: layer.shape[1]] += layer.mean(0)
    return _both_ways(field.nodes.cpu().numpy()[ends], flow.numpy())


def edge_flows(field: ReceptiveField, paths: Paths, rows: Sequence[Tensor]) -> list[Tensor]:
    """Return how much of what arrives at the target crosses each edge; [R, m'] by layer.

    In layer t it is the part of the new state at i that arrives, times keep P(t)[i, j]. Followed
    backwards it is a walk from the target, and the flow is how often the walk takes the edge.
    """
    receivers = field.graph.receivers.cpu()
    last = torch.full((rows[0].shape[0], 1), paths.combination[-1], dtype=torch.float64)
    return [
        hop.keep * row[:, receivers[: hop.attention.edges.shape[1]]] * hop.attention.edges
        for hop, row in zip(paths.hops, [*rows[1:], last], strict=True)
    ]


def _both_ways(ends: NDArray[np.int64], flow: NDArray[np.float64]) -> EdgeFlow:
    """The flow of both directions of each edge together, the largest first."""
    pairs, place = np.unique(np.sort(ends, axis=1), axis=0, return_inverse=True)
    total = np.zeros(len(pairs))
    np.add.at(total, place.ravel(), flow)
    order = np.argsort(-total, kind="stable")
    return EdgeFlow(pairs[order], total[order])


def attention_agreement(opened: Run, nodes: Iterable[int], *, fewest: int = 3) -> Summary:
    """Spearman's rank correlation of two replicas' path attention over a node's neighbours.

    The mean over all pairs of replicas, one value a node with at least `fewest` neighbours: 1 is
    the same order in all replicas, 0 is what chance gives.
    """
    if opened.replicas < 2:
        raise InputError(f"agreement needs 2 replicas or more; the run has {opened.replicas}.")
    values = []
    for node in nodes:
        reach = reach_of(explained_run(opened), node)
        graph = opened.graph
        beside = graph.senders[graph.offsets[node] : graph.offsets[node + 1]]
        if beside.numel() >= fewest:
            values.append(
                _mean_correlation(reach.rows[0][:, torch.isin(reach.nodes, beside)].numpy())
            )
    if not values:
        raise InputError(f"none of the nodes has {fewest} neighbours or more.")
    return Summary(values)


def _mean_correlation(weights: NDArray[np.float64]) -> float:
    """The mean rank correlation of all pairs of rows [R, k]; rows without an order count as 0."""
    from scipy.stats import rankdata

    ranks = rankdata(weights, axis=1)
    ranks -= ranks.mean(1, keepdims=True)
    lengths = np.linalg.norm(ranks, axis=1, keepdims=True)
    units = np.divide(ranks, lengths, out=np.zeros_like(ranks), where=lengths > 0)
    among = (units @ units.T)[np.triu_indices(len(units), k=1)]
    return float(among.mean())
