"""The reasons for one prediction, as data and as a short paragraph."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agnn.explanation._margin import Margin
from agnn.files import plain, plain_id
from agnn.tables import enumeration

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pandas import DataFrame

_NAMED: Final = 3  # neighbours, and features, that are named in a sentence


@dataclass(frozen=True)
class ReachingNode:
    """A node that reaches the explained one; numbers are means over the replicas."""

    id: Hashable  # the data's own
    title: str | None  # for people, where the data has one
    node: int  # index in the data
    hops: int  # distance; 0 is the explained node itself
    weight: float  # share of all that arrives, over all paths; with AGNN its path attention
    attention: tuple[float, ...] | None  # [l] P(t)[i, j] at the explained node's row; None beyond
    relevance: tuple[float, ...] | None  # [l] R(j -> i), Eq. (9), of the same row; None beyond
    label: str | None  # its class in the data, where that is known
    trained_in: float  # the share of replicas that were shown that label
    prediction: str | None  # None where computing it would be too costly: see `explain`
    confidence: float | None  # of the prediction, at the run's temperature
    toward_answer: float  # what it adds to the answer's logit, less the mean over all classes
    over_second: float  # what it adds to the answer's logit, less the second class's
    edge_weight: float | None  # of its edge to the explained node, where edges have weights

    @property
    def name(self) -> str:
        """The title, or else the id."""
        return self.title or str(self.id)

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
        """Return the same as JSON values."""
        return {
            **plain(vars(self)),
            "id": plain_id(self.id),
            "class": self.class_name,
            "class_from": self.class_from,
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


@dataclass(frozen=True, eq=False)
class Explanation:
    """What a run predicts for one node, with which confidence, and for which reasons.

    `weight` is attention over all paths, so the weights of the node itself, of the listed
    neighbours and of the rest sum to 1. It says where the model looks, not what decides.
    `toward_answer` and `over_second` are contributions: they take the mean logits of the replicas
    apart, exactly, with attention and active units held (see `HeldLogits`).
    """

    data_name: str
    method: str  # its title
    replicas: int
    class_names: tuple[str, ...]  # [c]
    uncalibrated: NDArray[np.float64]  # [c] the mean of the replicas' probabilities as it is
    temperature: float
    disagreement: float  # share of replicas that predict another class
    label: int  # the true class in the data; -1 where it is unknown
    betas: tuple[float, ...] | None  # [l] AGNN's, means over the replicas
    is_attention: bool  # whether weights are learned attention; else they are fixed
    lead: Margin  # of the predicted class over the second, taken apart; it has the prediction
    itself: ReachingNode
    neighbours: tuple[ReachingNode, ...]  # the most attended first
    rest: Rest  # nodes that reach it and are not in `neighbours`
    for_answer: tuple[ReachingNode, ...]  # that contribute most to the prediction, itself included
    for_second: tuple[ReachingNode, ...]  # that contribute most to the second class
    training: tuple[TrainingClass, ...]  # the heaviest first
    training_nodes: tuple[ReachingNode, ...]  # the most attended training nodes
    features: tuple[FeatureShare, ...]  # that contribute most to the prediction
    features_for_second: tuple[FeatureShare, ...]  # that contribute most to the second class
    notes: tuple[str, ...]  # sentences on how to read the numbers of this method
    url: str = ""  # of the node, where the data has one
    description: str = ""

    @property
    def node(self) -> int:
        """The node's index in the data."""
        return self.itself.node

    @property
    def id(self) -> Hashable:
        """The node's id in the data."""
        return self.itself.id

    @property
    def trained_in(self) -> float:
        """The share of replicas that were trained on the label."""
        return self.itself.trained_in

    @property
    def answer(self) -> int:
        """The predicted class, the most probable."""
        return self.lead.answer

    @property
    def second(self) -> int:
        """The second most probable class."""
        return self.lead.second

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """[c] The mean over the replicas, at the temperature."""
        return self.lead.probabilities

    @property
    def prediction(self) -> str:
        """The name of the predicted class."""
        return self.class_names[self.answer]

    @property
    def name(self) -> str:
        """The node's title, or else its id."""
        return self.itself.name

    @property
    def margin(self) -> float:
        """The mean logit of the predicted class less that of the second."""
        return self.lead.total

    @property
    def margin_constant(self) -> float:
        """The part of the margin that biases add, and no node."""
        return self.lead.constant

    @property
    def sentence(self) -> str:
        """The prediction and its main reasons in one sentence."""
        return self.lead.sentence(self.method, self.class_names)

    @property
    def order(self) -> list[int]:
        """The classes, the most probable first."""
        order: list[int] = (-self.probabilities).argsort(kind="stable").tolist()
        return order

    @property
    def confidence(self) -> float:
        """The probability of the predicted class at the run's temperature."""
        return float(self.probabilities[self.answer])

    def in_words(self) -> str:
        """Return the reasons in a short paragraph."""
        parts = (_prediction, _truth, _neighbours, _training, _reasons, _second)
        sentences = [part(self) for part in parts]
        return " ".join(sentence for sentence in sentences if sentence)

    def to_frame(self) -> DataFrame:
        """Return the node itself and the listed neighbours as a data frame, one per row."""
        from agnn.data.tables import DataFrame

        rows = []
        for node in (self.itself, *self.neighbours):
            row = node.to_dict()
            for name in ("attention", "relevance"):
                values = row.pop(name) or [None] * len(self.itself.attention or ())
                row |= {f"{name} {t}": value for t, value in enumerate(values, start=1)}
            rows.append(row)
        return DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        c = self.class_names
        values = {
            "id": plain_id(self.id),
            "title": self.itself.title,
            "url": self.url or None,
            "description": self.description or None,
            "node": self.node,
            "data": self.data_name,
            "method": self.method,
            "replicas": self.replicas,
            "prediction": self.prediction,
            "confidence": self.confidence,
            "uncalibrated_probability": self.uncalibrated[self.answer],
            "temperature": self.temperature,
            "disagreement": self.disagreement,
            "second": c[self.second],
            "probabilities": dict(zip(c, self.probabilities, strict=True)),
            "label": None if self.label < 0 else c[self.label],
            "trained_in": self.trained_in,
            "betas": self.betas,
            "is_attention": self.is_attention,
            "margin": self.margin,
            "margin_constant": self.margin_constant,
            "steps": self.lead.steps,
            "sentence": self.sentence,
            "itself": self.itself,
            "neighbours": self.neighbours,
            "rest": self.rest._asdict(),
            "for_answer": self.for_answer,
            "for_second": self.for_second,
            "training": [total._asdict() for total in self.training],
            "training_nodes": self.training_nodes,
            "features": [share._asdict() for share in self.features],
            "features_for_second": [share._asdict() for share in self.features_for_second],
            "notes": self.notes,
            "words": self.in_words(),
        }
        return dict(plain(values))


def percent(share: float) -> str:
    """Return a share of 1 in whole percent; 0 % and 100 % only for exactly none and all."""
    if 0 < share < 0.005:
        return "under 1 %"
    return "over 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


def _prediction(explanation: Explanation) -> str:
    predicted = (
        f"{explanation.method} predicts {explanation.prediction} for node {explanation.name} "
        f"with confidence {percent(explanation.confidence)}"
    )
    if explanation.replicas == 1:
        return f"{predicted}."
    dissent = round(explanation.disagreement * explanation.replicas)
    agree = "all agree" if not dissent else f"{dissent} of them predict{_s(dissent)} another class"
    return f"{predicted} ({explanation.replicas} replicas, {agree})."


def _truth(explanation: Explanation) -> str:
    if explanation.label < 0:
        return ""
    name = explanation.class_names[explanation.label]
    if explanation.trained_in > 0:
        share = percent(explanation.trained_in)
        replica_share = "" if explanation.trained_in == 1 else f" of {share} of the replicas"
        return f"Its label, {name}, was used in the training{replica_share}."
    if explanation.label == explanation.answer:
        return "This is correct."
    return f"This is wrong: the label is {name}."


def _neighbours(explanation: Explanation) -> str:
    if not explanation.neighbours:
        return "No other node reaches it: the prediction depends on its own features alone."
    named = explanation.neighbours[:_NAMED]
    listed = [f"{node.name} ({percent(node.weight)}{_class(node)})" for node in named]
    more = len(explanation.neighbours) - len(named) + explanation.rest.nodes
    remaining = 1.0 - explanation.itself.weight - sum(node.weight for node in named)
    ending = f"; {more:,} more {_nodes(more)} {_have(more)} {percent(remaining)}" if more else ""
    weight = "attention" if explanation.is_attention else "propagation weight"
    return (
        f"Over all layers, {percent(explanation.itself.weight)} of the {weight} stays with the "
        f"node itself, and of the others {enumeration(listed)} {_have(len(listed))} most{ending}."
    )


def _training(explanation: Explanation) -> str:
    if not explanation.training:
        return "No training node reaches it."
    if (total := sum(c.weight for c in explanation.training)) < 0.01:
        return f"Training nodes have {percent(total)} of it."
    listed = [f"{c.class_name} {percent(c.weight)}" for c in explanation.training[:_NAMED]]
    return f"Training nodes have this much of it, by class: {', '.join(listed)}."


def _reasons(explanation: Explanation) -> str:
    nodes = [_name(node) for node in explanation.for_answer[:_NAMED]]
    names = [share.name for share in explanation.features[:_NAMED] if share.toward_answer > 0]
    listed = [enumeration(nodes)] if nodes else []
    if names:
        listed.append(f"by feature, {enumeration(names)}")
    if not listed:
        return ""
    return f"The largest single contributions to {explanation.prediction}: {'; '.join(listed)}."


def _second(explanation: Explanation) -> str:
    name = explanation.class_names[explanation.second]
    chance = percent(float(explanation.probabilities[explanation.second]))
    stated = f"The second most probable class is {name} with {chance}"
    listed = [_name(node) for node in explanation.for_second[:_NAMED]]
    return (
        f"{stated}, to which {enumeration(listed)} contribute{_s_of(listed)} most."
        if listed
        else f"{stated}."
    )


def _name(node: ReachingNode) -> str:
    if node.hops == 0:
        return "its own features"
    return node.name if node.class_name is None else f"{node.name} ({node.class_name})"


def _class(node: ReachingNode) -> str:
    return "" if node.class_name is None else f", {node.class_name}"


def _s_of(names: list[str]) -> str:
    return "s" if len(names) == 1 and names[0] != "its own features" else ""


def _s(count: int) -> str:
    return "s" if count == 1 else ""


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _nodes(count: int) -> str:
    return "node" if count == 1 else "nodes"
