"""A node that reaches the one that is explained: who it is, and what it brings."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

from agnn.files import plain_id


@dataclass(frozen=True)
class ReachingNode:
    """One node among those that the answer is made of; numbers are means over the replicas."""

    node: int  # index in the data
    id: Hashable  # the data's own
    hops: int  # distance; 0 is the explained node itself
    weight: float  # its share of all that arrives: the row of P(l)...P(1), made to sum to 1
    attention: tuple[float, ...] | None  # [l] P(t)[i, j] at the explained node's row; None beyond
    relevance: tuple[float, ...] | None  # [l] R(j -> i), Eq. (9), of the same row; None beyond
    label: str | None  # its class in the data, where that is known
    trained_in: float  # the share of replicas that were shown that label
    prediction: str | None  # None where computing it would be too costly: see `explain`
    confidence: float | None  # of the prediction, at the run's temperature
    toward_answer: float  # what it adds to the answer's logit, less the mean over all classes
    over_second: float  # what it adds to the answer's logit, less the second class's

    @property
    def class_name(self) -> str | None:
        """The known class, or else the predicted one."""
        return self.prediction if self.label is None else self.label

    @property
    def class_from(self) -> str:
        """Where `class_name` is from: "training label", "label", "prediction" or "nowhere"."""
        if self.label is None:
            return "nowhere" if self.prediction is None else "prediction"
        return "training label" if self.trained_in > 0 else "label"

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "id": plain_id(self.id),
            "node": self.node,
            "hops": self.hops,
            "weight": self.weight,
            "attention": None if self.attention is None else list(self.attention),
            "relevance": None if self.relevance is None else list(self.relevance),
            "class": self.class_name,
            "class_from": self.class_from,
            "label": self.label,
            "trained_in": self.trained_in,
            "prediction": self.prediction,
            "confidence": self.confidence,
            "toward_answer": self.toward_answer,
            "over_second": self.over_second,
        }


class Rest(NamedTuple):
    """Nodes that are counted and not listed."""

    nodes: int
    weight: float
    toward_answer: float
    over_second: float


class TrainingClass(NamedTuple):
    """The training nodes of one class that reach the explained node."""

    class_name: str
    nodes: int  # with their label shown to some replica
    weight: float  # of them together, each replica's own training nodes counted


class FeatureShare(NamedTuple):
    """One input feature, over all nodes that reach the explained node."""

    feature: int  # column of the data's features
    name: str
    toward_answer: float
    over_second: float
    own: float  # the part of `toward_answer` that is the node's own feature
