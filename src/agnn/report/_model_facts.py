"""What a run attends to, and what happened in its training epoch by epoch."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.explanation import (
    LayerRanking,
    Relevance,
    model_paths,
)
from agnn.methods import Method, NetworkMethod
from agnn.metrics import MEASURES, Summary
from agnn.report._node_facts import Absent
from agnn.runs import Run
from agnn.tables import Cell, Column, ResultTable, shown_text
from agnn.training import History

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
        """Return the values for JSON."""
        ranked = self.ranking
        shares = None
        if ranked is not None:
            shares = {
                "edges_at_either_end": ranked.count,
                "top": ranked.top,
                "bottom": ranked.bottom,
                "all": ranked.everywhere,
                "ranked": ranked.ranked,
                "left_out": ranked.left_out,
            }
        return {"layer": self.layer, "class_relevance": self.relevance, "within_class": shares}


@dataclass(frozen=True, eq=False)
class AttentionFacts:
    """All layers, and the edges at either end of the last one's ranking."""

    layers: tuple[LayerFacts, ...]
    listed_layer: int | None  # the last layer that does not attend evenly; None where all do
    most: tuple[EdgeFact, ...]  # the most relevant first
    least: tuple[EdgeFact, ...]  # the least relevant first

    @property
    def ranking_table(self) -> ResultTable | None:
        """How often the edges at either end join nodes of one class; None where nothing is ranked.

        Percent, with the standard error over the replicas.
        """
        rankings = [layer.ranking for layer in self.layers if layer.ranking is not None]
        if not rankings:
            return None
        count = rankings[0].count
        columns = (
            Column("layer", of="layer"),
            Column(f"the {count} most relevant", digits=1, is_number=True, of=_percent("top")),
            Column("all", digits=1, is_number=True, of=lambda ranking: 100 * ranking.everywhere),
            Column(f"the {count} least relevant", digits=1, is_number=True, of=_percent("bottom")),
        )
        caption = "Percent of edges whose ends have the same class, mean ± standard error over the "
        return ResultTable.of(columns, rankings, f"{caption}replicas")

    @property
    def edge_tables(self) -> list[ResultTable]:
        """The edges at either end of the ranking."""
        has_weights = any(edge.weight is not None for edge in (*self.most, *self.least))
        columns = (
            Column("receiver", of="receiver", is_name=True),
            Column("its class", of="receiver_class", is_name=True),
            Column("sender", of="sender", is_name=True),
            Column("its class", of=_sender_class, is_name=True),
            *([Column("edge weight", of="weight", is_number=True)] if has_weights else []),
            Column("P", digits=3, is_number=True, of="attention"),
            Column("R", digits=2, is_number=True, is_signed=True, of="relevance"),
        )
        lists = {"The most relevant edges": self.most, "The least relevant edges": self.least}
        return [ResultTable.of(columns, edges, title) for title, edges in lists.items()]

    def to_dict(self) -> dict[str, Any]:
        """Return the values for JSON."""
        return {
            "layers": self.layers,
            "edges": {
                "layer": self.listed_layer,
                "most_relevant": self.most,
                "least_relevant": self.least,
            },
        }


def _percent(name: str) -> Callable[[LayerRanking], Summary | None]:
    """Return what gives a share of a ranking in percent."""

    def summary(ranking: LayerRanking) -> Summary | None:
        share: Summary | None = getattr(ranking, name)
        return None if share is None else Summary([100 * value for value in share.values])

    return summary


def _sender_class(edge: EdgeFact) -> Cell:
    """Return the class; one that is not the receiver's stands out."""
    is_other = edge.sender_class != edge.receiver_class
    return Cell(shown_text(edge.sender_class), kind="other" if is_other else "")


def attention_facts(run: Run, title: str, listed: int) -> AttentionFacts | Absent:
    """Return the attention of a model with `listed` edges at either end, or why there is none."""
    no_attention = Absent(f"Relevance is defined for attention, which {title} does not learn.")
    if run.network.unexplained is not None:
        return no_attention
    paths = model_paths(run.network, run.whole_view())
    if not paths.is_attention:
        return no_attention
    relevance = Relevance(run.graph, run.data, [hop.attention for hop in paths.hops])
    tables = relevance.by_class()
    count = min(_RANKED, relevance.labelled_edges.numel() // 2)
    rankings = relevance.rankings(count) if count else [None] * len(tables)
    layers = tuple(
        LayerFacts(t, table.numpy(), ranking)
        for t, (table, ranking) in enumerate(zip(tables, rankings, strict=True), 1)
    )
    uneven = [layer.layer for layer in layers if layer.ranking and layer.ranking.top is not None]
    if not uneven:
        return AttentionFacts(layers, None, (), ())
    most, least = _ends(run, relevance, uneven[-1], min(listed, count))
    return AttentionFacts(layers, uneven[-1], most, least)


def _ends(
    run: Run, relevance: Relevance, layer: int, count: int
) -> tuple[tuple[EdgeFact, ...], tuple[EdgeFact, ...]]:
    """Return the edges between labelled nodes with the highest and lowest mean in a layer."""
    values = relevance.by_edge()[layer - 1].mean(0, dtype=torch.float64)
    share = relevance.attention[layer - 1].edges.mean(0, dtype=torch.float64)
    labelled = relevance.labelled_edges
    order = labelled[torch.argsort(values[labelled], descending=True, stable=True)]

    def edge_facts(edges: Tensor) -> tuple[EdgeFact, ...]:
        return tuple(
            _edge_fact(run, edge, float(share[edge]), float(values[edge]))
            for edge in edges.tolist()
        )

    return edge_facts(order[:count]), edge_facts(order.flip(0)[:count])


def _edge_fact(run: Run, edge: int, share: float, relevance: float) -> EdgeFact:
    data = run.data
    receiver = int(run.graph.receivers[edge])
    sender = int(run.graph.senders[edge])
    weights = run.graph.weights
    return EdgeFact(
        receiver=data.node_ids[receiver],
        sender=data.node_ids[sender],
        receiver_class=data.class_names[data.labels[receiver]],
        sender_class=data.class_names[data.labels[sender]],
        attention=share,
        relevance=relevance,
        weight=None if weights is None else float(weights[edge]),
    )


@dataclass(frozen=True, eq=False)
class Curve:
    """A number that every replica has in every epoch; each [epochs]."""

    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Training:
    """The epochs of all replicas."""

    part: str  # whose score was watched: "validation" or "test"
    loss: Curve
    accuracy: Curve | None  # that score of the watched nodes; None where nothing was watched
    betas: tuple[Curve, ...]  # one a layer; none where the model has no attention
    kept: Summary  # the epochs whose weights were kept
    kept_accuracy: tuple[float, ...]  # [R] at these epochs; empty where nothing was watched
    metric: str = "accuracy"  # the score that was watched, as in `agnn.metrics.MEASURES`

    def to_dict(self) -> dict[str, Any]:
        """Return the values for JSON."""
        return {
            "epochs": self.loss.mean.size,
            "watched": self.part,
            "watched_metric": self.metric,
            "selected_epochs": self.kept,
            "training_loss": self.loss,
            "watched_accuracy": self.accuracy,
            "betas": self.betas,
        }


def training_facts(
    history: History | None, method: Method, metric: str = "accuracy"
) -> Training | Absent:
    """Return the curves of a history in which `metric` was watched, or why there are none."""
    if history is None:
        return Absent(_why_none(method))
    watched = history.watched_accuracy.numel() > 0
    epochs = history.selected_epochs.tolist()
    # Shares in percent; what was watched of a log loss is the loss with its sign turned.
    values = (-1.0 if MEASURES[metric].is_loss else 100.0) * history.watched_accuracy.double()
    at_kept = [float(values[epoch - 1, r]) for r, epoch in enumerate(epochs)] if watched else []
    layers = () if history.betas is None else history.betas.unbind(-1)
    return Training(
        part=method.recipe().selection.on if isinstance(method, NetworkMethod) else "validation",
        metric=metric,
        loss=_curve(history.training_loss),
        accuracy=_curve(values) if watched else None,
        betas=tuple(_curve(layer) for layer in layers),
        kept=Summary(epochs),
        kept_accuracy=tuple(at_kept),
    )


def watched_metric(run: Run) -> str:
    """Return the name of the score that was watched in every epoch of a run."""
    if run.metric is not None:
        return run.metric
    metric = "accuracy"
    if isinstance(run.method, NetworkMethod):
        metric = run.method.recipe().selection.metric
    if metric != "best":
        return metric
    return "auc" if run.data.classes == 2 else "accuracy"


def _curve(values: Tensor) -> Curve:
    """Return the curve of values [epochs, R], over the replicas that were still training."""
    finite = np.ma.masked_invalid(values.double().cpu().numpy())
    return Curve(
        mean=finite.mean(1).filled(np.nan),
        low=finite.min(1).filled(np.nan),
        high=finite.max(1).filled(np.nan),
    )


def _why_none(method: Method) -> str:
    if not isinstance(method, NetworkMethod):
        return f"{method.title} is not trained epoch by epoch: there are no curves to draw."
    return (
        "The run was saved by a version that did not keep its epochs; trained and saved again, it "
        "has curves here."
    )
