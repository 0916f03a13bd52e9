"""The reasons for one node's answer, as data."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agnn.explanation.explanation_words import in_words
from agnn.explanation.reaching_node import (
    FeatureShare,
    ReachingNode,
    Rest,
    TrainingClass,
)
from agnn.files import plain_id

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pandas import DataFrame


@dataclass(frozen=True, eq=False)
class Explanation:
    """What a run answers for one node, how sure it is, and who and what the answer is made of.

    `weight` is attention multiplied over the layers, so the weights of the node itself, of the
    listed neighbours and of the rest sum to 1. `toward_answer` and `over_second` take the mean
    logits of the replicas apart, exactly, with attention and active units held: see
    `contributions`.
    """

    node: int  # index in the data
    id: Hashable  # the data's own
    data_name: str
    method: str  # its title
    replicas: int
    class_names: tuple[str, ...]  # [c]
    answer: int  # the class with the highest probability
    second: int  # the class after it
    probabilities: NDArray[np.float64]  # [c] the mean over the replicas, at the temperature
    uncalibrated: NDArray[np.float64]  # [c] the mean as it is
    temperature: float
    disagreement: float  # the share of replicas whose own answer is another
    label: int  # the true class in the data; -1 where it is unknown
    trained_in: float  # the share of replicas that were shown the label
    betas: tuple[float, ...] | None  # [l] AGNN's, means over the replicas
    margin: float  # mean logit of the answer, less the second's
    margin_constant: float  # what of it is the last layer's bias, and no node's
    itself: ReachingNode
    neighbours: tuple[ReachingNode, ...]  # the most attended first
    rest: Rest  # nodes that reach it and are not in `neighbours`
    for_answer: tuple[ReachingNode, ...]  # those that speak most for the answer, itself among them
    for_second: tuple[ReachingNode, ...]  # those that speak most for the second class
    training: tuple[TrainingClass, ...]  # the heaviest first
    training_nodes: tuple[ReachingNode, ...]  # the most attended training nodes
    features: tuple[FeatureShare, ...]  # that speak most for the answer
    features_for_second: tuple[FeatureShare, ...]  # that speak most for the second class
    notes: tuple[str, ...]  # what this method cannot tell, in sentences

    @property
    def prediction(self) -> str:
        """The answer's name."""
        return self.class_names[self.answer]

    @property
    def confidence(self) -> float:
        """The answer's probability at the run's temperature."""
        return float(self.probabilities[self.answer])

    def in_words(self) -> str:
        """The reasons in a short paragraph."""
        return in_words(self)

    def to_frame(self) -> DataFrame:
        """The node itself and the listed neighbours, one a row, as pandas has it."""
        from agnn.data.packages import tables_package

        rows = []
        for each in (self.itself, *self.neighbours):
            row = each.to_dict()
            for name in ("attention", "relevance"):
                values = row.pop(name) or [None] * len(self.itself.attention or ())
                row |= {f"{name} {t}": value for t, value in enumerate(values, start=1)}
            rows.append(row)
        frame: DataFrame = tables_package("pandas").DataFrame(rows)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON holds it."""
        c = self.class_names
        return {
            "id": plain_id(self.id),
            "node": self.node,
            "data": self.data_name,
            "method": self.method,
            "replicas": self.replicas,
            "prediction": self.prediction,
            "confidence": self.confidence,
            "uncalibrated_probability": float(self.uncalibrated[self.answer]),
            "temperature": self.temperature,
            "disagreement": self.disagreement,
            "second": c[self.second],
            "probabilities": dict(zip(c, self.probabilities.tolist(), strict=True)),
            "label": None if self.label < 0 else c[self.label],
            "trained_in": self.trained_in,
            "betas": None if self.betas is None else list(self.betas),
            "margin": self.margin,
            "margin_constant": self.margin_constant,
            "itself": self.itself.to_dict(),
            "neighbours": [each.to_dict() for each in self.neighbours],
            "rest": self.rest._asdict(),
            "for_answer": [each.to_dict() for each in self.for_answer],
            "for_second": [each.to_dict() for each in self.for_second],
            "training": [each._asdict() for each in self.training],
            "training_nodes": [each.to_dict() for each in self.training_nodes],
            "features": [each._asdict() for each in self.features],
            "features_for_second": [each._asdict() for each in self.features_for_second],
            "notes": list(self.notes),
            "words": self.in_words(),
        }
