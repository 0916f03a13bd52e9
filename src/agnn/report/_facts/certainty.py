"""The nodes that a run is surest and least sure of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from agnn.metrics import leads

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from agnn.data import NodeData
    from agnn.report._facts.answers import Answers


@dataclass(frozen=True)
class NodeAnswer:
    """What is said about one node."""

    node: int
    id: Hashable
    answer: str
    probability: float
    second: str | None  # the class with the second highest probability
    truth: str | None  # None where the node has no label
    disagreement: float  # share of the replicas that answer otherwise
    lead: float  # of the answer's probability over the second

    @property
    def is_right(self) -> bool | None:
        """Whether the answer is the truth; None where that is not known."""
        return None if self.truth is None else self.answer == self.truth

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "id": self.id,
            "prediction": self.answer,
            "probability": self.probability,
            "second": self.second,
            "true_label": self.truth,
            "disagreement": self.disagreement,
        }


@dataclass(frozen=True)
class Certainty:
    """Nodes by the probability of their answer."""

    nodes: int  # among how many
    most: tuple[NodeAnswer, ...]  # the surest first
    least: tuple[NodeAnswer, ...]  # the least sure first
    mistakes: tuple[NodeAnswer, ...]  # wrong answers, the surest first

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        lists = {"most": self.most, "least": self.least, "surest_mistakes": self.mistakes}
        return {
            "nodes": self.nodes,
            **{name: [each.to_dict() for each in rows] for name, rows in lists.items()},
        }


def certainty(found: Answers, data: NodeData, count: int) -> Certainty:
    """The `count` nodes at either end, and the `count` surest mistakes.

    Equally sure nodes stand in the order of the data.
    """
    order = np.argsort(-found.confidence, kind="stable")
    upwards = np.argsort(found.confidence, kind="stable")
    wrong = order[(found.truth[order] >= 0) & ~found.is_right[order]]
    return Certainty(
        found.nodes.size,
        _listed(found, data, order[:count]),
        _listed(found, data, upwards[:count]),
        _listed(found, data, wrong[:count]),
    )


def _listed(found: Answers, data: NodeData, places: NDArray[np.int64]) -> tuple[NodeAnswer, ...]:
    return tuple(_answer(found, data, place) for place in places.tolist())


def _answer(found: Answers, data: NodeData, place: int) -> NodeAnswer:
    node, own = int(found.nodes[place]), found.probabilities[place]
    ranked = np.argsort(-own, kind="stable")
    truth = int(found.truth[place])
    return NodeAnswer(
        node=node,
        id=data.node_ids[node],
        answer=data.class_names[ranked[0]],
        probability=float(own[ranked[0]]),
        second=data.class_names[ranked[1]] if ranked.size > 1 else None,
        truth=data.class_names[truth] if truth >= 0 else None,
        disagreement=float(found.disagreement[place]),
        lead=float(leads(own[None])[0]),
    )
