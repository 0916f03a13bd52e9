"""What a run attends to: classes, and single edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from agnn.explanation import (
    LayerRanking,
    class_relevance,
    edge_relevance,
    labelled_edges,
    model_paths,
    rankings_of,
)
from agnn.report._facts.absent import Absent

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray
    from torch import Tensor

    from agnn.kernels import Attention
    from agnn.runs import Run

_RANKED: Final = 100  # edges at either end, as in the paper's Table 6


@dataclass(frozen=True)
class EdgeFact:
    """A directed edge: how much the receiver listens to the sender."""

    receiver: Hashable
    sender: Hashable
    receiver_class: str
    sender_class: str
    attention: float  # P[i, j], averaged over the replicas
    relevance: float  # R(j -> i), likewise
    weight: float | None = None  # of the edge itself, where edges have weights

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class LayerFacts:
    """One attention layer."""

    layer: int  # from 1
    relevance: NDArray[np.float64]  # [c, c] row receives, column sends; NaN where no edge joins
    ranking: LayerRanking | None  # None where too few edges join labelled nodes

    @property
    def is_even(self) -> bool:
        """Whether all neighbours count alike, as far as that can be told."""
        return self.ranking is not None and self.ranking.top is None

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        ranked = self.ranking
        shares = None if ranked is None else {
            "edges_at_either_end": ranked.count,
            "top": None if ranked.top is None else ranked.top.to_dict(),
            "bottom": None if ranked.bottom is None else ranked.bottom.to_dict(),
            "all": ranked.everywhere,
            "ranked": ranked.ranked,
            "left_out": ranked.left_out,
        }  # fmt: skip
        return {
            "layer": self.layer,
            "class_relevance": self.relevance.tolist(),
            "within_class": shares,
        }


@dataclass(frozen=True, eq=False)
class AttentionFacts:
    """All layers, and the edges at either end of the last one's ranking."""

    layers: tuple[LayerFacts, ...]
    listed_layer: int | None  # the last layer that does not attend evenly; None where all do
    most: tuple[EdgeFact, ...]  # the most relevant first
    least: tuple[EdgeFact, ...]  # the least relevant first

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "layers": [layer.to_dict() for layer in self.layers],
            "edges": {
                "layer": self.listed_layer,
                "most_relevant": [edge.to_dict() for edge in self.most],
                "least_relevant": [edge.to_dict() for edge in self.least],
            },
        }


def attention_facts(run: Run, title: str, listed: int) -> AttentionFacts | Absent:
    """The attention of a model with `listed` edges at either end, or why there is none."""
    no_attention = Absent(f"Relevance is defined for attention, which {title} does not learn.")
    if run.network.unexplained is not None:
        return no_attention
    data, graph = run.data, run.graph
    paths = model_paths(run.network, run.whole_view())
    if not paths.is_attention:
        return no_attention
    weights = [hop.attention for hop in paths.hops]
    known = labelled_edges(graph, data.labels)
    count = min(_RANKED, known.numel() // 2)
    rankings = rankings_of(graph, data.labels, weights, count) if count else [None] * len(weights)
    layers = tuple(
        LayerFacts(t, class_relevance(graph, each, data.labels, data.classes).numpy(), ranking)
        for t, (each, ranking) in enumerate(zip(weights, rankings, strict=True), 1)
    )
    uneven = [each.layer for each in layers if each.ranking and each.ranking.top is not None]
    if not uneven:
        return AttentionFacts(layers, None, (), ())
    most, least = _ends(run, weights[uneven[-1] - 1], known, min(listed, count))
    return AttentionFacts(layers, uneven[-1], most, least)


def _ends(
    run: Run, attention: Attention, known: Tensor, count: int
) -> tuple[tuple[EdgeFact, ...], tuple[EdgeFact, ...]]:
    """The edges among `known` [k] with the highest and lowest mean relevance."""
    relevance = edge_relevance(run.graph, attention).edges.mean(0, dtype=torch.float64)
    share = attention.edges.mean(0, dtype=torch.float64)
    order = known[torch.argsort(relevance[known], descending=True, stable=True)]

    def listed(places: Tensor) -> tuple[EdgeFact, ...]:
        return tuple(
            _edge(run, place, float(share[place]), float(relevance[place]))
            for place in places.tolist()
        )

    return listed(order[:count]), listed(order.flip(0)[:count])


def _edge(run: Run, place: int, share: float, relevance: float) -> EdgeFact:
    data, graph = run.data, run.graph
    i, j = int(graph.receivers[place]), int(graph.senders[place])
    names = data.class_names
    return EdgeFact(
        receiver=data.node_ids[i], sender=data.node_ids[j],
        receiver_class=names[data.labels[i]], sender_class=names[data.labels[j]],
        attention=share, relevance=relevance,
        weight=None if graph.weights is None else float(graph.weights[place]),
    )  # fmt: skip
