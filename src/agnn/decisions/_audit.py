"""Suspicious labels: those that replicas which were not trained on them contradict."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import torch

from agnn.errors import InputError
from agnn.files import plain_id
from agnn.graph import adjacency
from agnn.methods import Ridge
from agnn.metrics import held_out_predictions
from agnn.tables import Column, ResultTable, Row, shown_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.data import NodeData
    from agnn.runs import Run

_TINY: Final = 1e-6  # a probability that is the class's mean but for rounding is not below it


class SuspiciousLabel(NamedTuple):
    """A label that the prediction of other replicas contradicts, with what speaks for either."""

    node: int  # index in the data
    id: Hashable
    title: str  # of the node; "" where there is none
    label: str
    prediction: str
    label_probability: float  # of the label, by replicas that were not trained on it
    probability: float  # of the predicted class, likewise
    is_confident: bool  # whether it is among the labels that `Audit.likely_wrong` counts
    neighbours: int  # that have a label
    neighbours_with_label: int  # that have the same one
    neighbours_with_prediction: int
    features_prediction: str | None  # by the node's own features; None where they were not asked

    @property
    def reason(self) -> str:
        """What the neighbours' labels and the node's own features say."""
        neighbours = "none has a label"
        if self.neighbours:
            neighbours = (
                f"{self.neighbours_with_prediction:,} of {self.neighbours:,} "
                f"{shown_text(self.prediction, 40)}, {self.neighbours_with_label:,} "
                f"{shown_text(self.label, 40)}"
            )
        if self.features_prediction is None:
            return f"Neighbours: {neighbours}."
        return f"Neighbours: {neighbours}. Features: {shown_text(self.features_prediction, 40)}."

    def to_dict(self) -> dict[str, Any]:
        """Return the values and the reason as JSON values."""
        return self._asdict() | {"id": plain_id(self.id), "reason": self.reason}


@dataclass(frozen=True, eq=False)
class Audit:
    """The labels of a run that out-of-fold predictions contradict, the most suspicious first.

    A label is contradicted where another class is predicted by the replicas that were not trained
    on it. They are in the order of the probability that these replicas give to the label.
    """

    data: NodeData
    suspicious: tuple[SuspiciousLabel, ...]
    contradicted: int  # labels, also those that are not listed
    checked: int  # labels that some replica tests
    counts: NDArray[np.int64]
    """[c, c] Labels by given class (row) and by the class that is confidently predicted (column).

    A class is predicted confidently where its probability is not below its mean over the nodes
    that are labelled with it: the confident joint of Northcutt, Jiang and Chuang 2021.
    """

    noise: NDArray[np.float64] | None
    """[c, c] Share of the nodes of each true class (column) that have each label (row).

    cleanlab's estimate; None where cleanlab is not installed.
    """

    @property
    def likely_wrong(self) -> int:
        """The estimated number of wrong labels: those for which another class is confident.

        Errors of the model count as well, so the true number is probably lower.
        """
        return int(self.counts.sum() - np.trace(self.counts))

    @cached_property
    def table(self) -> ResultTable:
        """Every suspicious label with its reason, the most suspicious first."""
        has_titles = "title" in self.data.texts
        columns = (
            Column("node", ("id",), is_name=True),
            *([Column("title", ("title",), is_name=True)] if has_titles else []),
            Column("label", ("label",), is_name=True),
            Column("probability", ("probability_of_label",), digits=3, is_number=True),
            Column("predicted", ("prediction",), is_name=True),
            Column(
                "probability",
                ("probability_of_prediction",),
                digits=3,
                is_number=True,
                is_wide=True,
            ),
            Column("reason", ("reason",)),
        )
        rows = tuple(
            Row(
                (
                    str(label.id),
                    *([label.title] if has_titles else []),
                    label.label,
                    label.label_probability,
                    label.prediction,
                    label.probability,
                    label.reason,
                )
            )
            for label in self.suspicious
        )
        return ResultTable(columns, rows, "Suspicious labels")

    @property
    def sentences(self) -> list[str]:
        """What was checked, how many labels are likely wrong, and what that does not say."""
        total = int(self.data.labelled.size)
        part = "" if self.checked == total else f" of {total:,}"
        sentences = [
            f"{self.checked:,}{part} labels were checked, each by models that were not trained on "
            f"it. They contradict {self.contradicted:,}, and about {self.likely_wrong:,} "
            f"({self.likely_wrong / self.checked:.1%}) are likely wrong. Errors of the model count "
            f"as well, so the true number is probably lower."
        ]
        if self.checked < total:
            sentences.append("With `agnn train --split cross-fit` every label is checked.")
        if self.noise is None:
            sentences.append(
                "How often each class is mistaken for which is estimated by cleanlab: "
                "pip install 'agnn[decisions]'."
            )
        return sentences

    def first(self, count: int | None) -> Audit:
        """Return the audit with at most `count` suspicious labels listed; None: all."""
        if count is not None and count < 1:
            raise InputError(f"`count` (--count) must be at least 1; got {count}.")
        return replace(self, suspicious=self.suspicious[:count])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "checked": self.checked,
            "contradicted": self.contradicted,
            "labelled": int(self.data.labelled.size),
            "likely_wrong": self.likely_wrong,
            "class_names": list(self.data.class_names),
            "counts": self.counts.tolist(),
            "noise": None if self.noise is None else self.noise.tolist(),
            "suspicious": [label.to_dict() for label in self.suspicious],
        }

    def _repr_html_(self) -> str:
        return str(self.table.html())

    def __repr__(self) -> str:
        return (
            f"Audit({self.contradicted} of {self.checked} labels are contradicted, about "
            f"{self.likely_wrong} are likely wrong)"
        )


def audit(run: Run, *, with_features: bool = True) -> Audit:
    """Return the labels that replicas which were not trained on them contradict.

    With cross-fitting (`split="cross-fit"`) every label is checked, otherwise those of test nodes.
    `with_features` also asks what the features alone say, which trains a ridge regression.

    >>> import agnn
    >>> cora = agnn.load_dataset("cora")
    >>> run = agnn.evaluate("agnn", cora, split="5-fold-cross-fit", changes={"epochs": 20})
    >>> found = audit(run)
    >>> found.checked
    2708
    >>> first, second = found.suspicious[:2]
    >>> first.label_probability <= second.label_probability
    True
    """
    data = run.data
    nodes, probabilities = _held_out_probabilities(run)
    labels = data.labels[nodes]
    answers = probabilities.argmax(1)
    label_probabilities = probabilities[np.arange(nodes.size), labels]
    order = _contradictions(labels, probabilities)
    confident = confident_classes(labels, probabilities)
    by_class = _neighbour_labels(data, nodes[order])
    by_features = _feature_answers(run) if with_features else None
    names = data.class_names
    suspicious = []
    for row, k in enumerate(order.tolist()):
        node = int(nodes[k])
        label = int(labels[k])
        answer = int(answers[k])
        suspicious.append(
            SuspiciousLabel(
                node=node,
                id=data.node_ids[node],
                title=data.text_of(node, "title"),
                label=names[label],
                prediction=names[answer],
                label_probability=float(label_probabilities[k]),
                probability=float(probabilities[k, answer]),
                is_confident=int(confident[k]) not in (-1, label),
                neighbours=int(by_class[row].sum()),
                neighbours_with_label=int(by_class[row, label]),
                neighbours_with_prediction=int(by_class[row, answer]),
                features_prediction=None if by_features is None else names[by_features[node]],
            )
        )
    counts = np.zeros((data.classes, data.classes), dtype=np.int64)
    is_confident = confident >= 0
    np.add.at(counts, (labels[is_confident], confident[is_confident]), 1)
    noise = _noise_matrix(labels, probabilities)
    return Audit(data, tuple(suspicious), int(order.size), int(nodes.size), counts, noise)


def contradicted_labels(run: Run) -> NDArray[np.int64]:
    """Return the nodes of `audit`, by index, the most suspicious label first; without reasons."""
    nodes, probabilities = _held_out_probabilities(run)
    return nodes[_contradictions(run.data.labels[nodes], probabilities)]


def _held_out_probabilities(run: Run) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the tested nodes [k], and what replicas that were not trained on them predict [k, c].

    Raises where no node is tested.
    """
    nodes, ensemble = run.out_of_fold
    if not nodes.size:
        raise InputError(
            "no label of this run is tested by a model that was not trained on it; train with "
            "`agnn train --split cross-fit`."
        )
    return nodes, ensemble.probabilities


def _contradictions(
    labels: NDArray[np.int64], probabilities: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return where another class than the label is predicted, the least probable label first."""
    rows = np.flatnonzero(probabilities.argmax(1) != labels)
    return rows[np.argsort(probabilities[rows, labels[rows]], kind="stable")]


def confident_classes(
    labels: NDArray[np.int64], probabilities: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the class that is predicted confidently for each node [k]; -1 where there is none.

    A class is predicted confidently where its probability is not below its mean over the nodes
    with that label; of several the most probable. A class without labels never is.
    """
    classes = probabilities.shape[1]
    thresholds = np.full(classes, np.inf)
    for label in np.unique(labels):
        thresholds[label] = probabilities[labels == label, label].mean()
    is_above = probabilities >= thresholds - _TINY
    best = np.where(is_above, probabilities, -1.0).argmax(1)
    return np.where(is_above.any(1), best, -1)


def _neighbour_labels(data: NodeData, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many neighbours of each node [k] have each label; [k, c]."""
    one_hot = np.zeros((data.nodes, data.classes), dtype=np.int64)
    one_hot[data.labelled, data.labels[data.labelled]] = 1
    return np.asarray(adjacency(data.edges, data.nodes)[nodes] @ one_hot, dtype=np.int64)


def _feature_answers(run: Run) -> NDArray[np.int64] | None:
    """Return the class that the features alone predict at each tested node; [n], else -1.

    By ridge regression that was not trained on the node's label. None without features.
    """
    data = run.data
    if not data.feature_count:
        return None
    features_alone = Ridge(views=("X",))
    distinct = list({id(split): split for split in run.splits}.values())
    scores = np.stack([features_alone.scores(data, split) for split in distinct])
    nodes, means = held_out_predictions(torch.from_numpy(scores), distinct, "test")
    answers = np.full(data.nodes, -1)
    answers[nodes] = means.argmax(1)
    return answers


def _noise_matrix(
    labels: NDArray[np.int64], probabilities: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Return cleanlab's share of each true class (column) that has each label (row); [c, c].

    None where cleanlab is not installed.
    """
    if find_spec("cleanlab") is None:
        return None
    from cleanlab.count import compute_confident_joint, estimate_latent

    # cleanlab expects labels of every class.
    present, numbers = np.unique(labels, return_inverse=True)
    noise = np.zeros((probabilities.shape[1],) * 2)
    if present.size < 2:
        noise[present, present] = 1.0
        return noise
    of_present = probabilities[:, present]
    joint = compute_confident_joint(numbers, of_present / of_present.sum(1, keepdims=True))
    noise[np.ix_(present, present)] = estimate_latent(joint, numbers)[1]
    return noise
