"""What a run says about single nodes: its answers, how sure it is, and what surrounds a few."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData, Split
from agnn.explanation import Neighbourhood
from agnn.metrics import SURE, UNSURE, Ensemble, leads
from agnn.report._neighbourhoods import DRAWABLE, MOST_DRAWN
from agnn.runs import Run
from agnn.tables import Cell, Column, ResultTable, shown_text


@dataclass(frozen=True)
class Absent:
    """A part that a run does not have."""

    reason: str  # one sentence

    def to_dict(self) -> dict[str, str]:
        """Return the values for JSON."""
        return {"absent": self.reason}


@dataclass(frozen=True, eq=False)
class Answers:
    """The ensemble at k nodes, each answered by the replicas alone that may be asked about it."""

    nodes: NDArray[np.int64]  # [k] indices in the data, ascending
    probabilities: NDArray[np.float64]  # [k, c] at the run's temperature
    disagreement: NDArray[np.float64]  # [k] share of these replicas with another answer
    truth: NDArray[np.int64]  # [k] -1 where it is not known

    @property
    def classes(self) -> NDArray[np.int64]:
        """The class with the highest probability; [k]."""
        return np.asarray(self.probabilities.argmax(1))

    @property
    def confidence(self) -> NDArray[np.float64]:
        """The highest probability; [k]."""
        return np.asarray(self.probabilities.max(1))

    @property
    def is_right(self) -> NDArray[np.bool_]:
        """Whether the answer is the truth; [k]."""
        return np.asarray(self.classes == self.truth)

    @classmethod
    def of(cls, data: NodeData, nodes: NDArray[np.int64], ensemble: Ensemble) -> Answers:
        """Return the answers of an ensemble at these nodes of the data."""
        return cls(nodes, ensemble.probabilities, ensemble.disagreement, data.labels[nodes])

    def confusion(self) -> NDArray[np.int64]:
        """Return how many nodes of the row's class were given the column's; [c, c]."""
        labelled = self.truth >= 0
        c = self.probabilities.shape[1]
        cell = self.truth[labelled] * c + self.classes[labelled]
        return np.bincount(cell, minlength=c * c).reshape(c, c)


def answers_without_label(ensemble: Ensemble, data: NodeData) -> Answers:
    """Return the whole ensemble's answers at the nodes that have no label."""
    nodes = np.flatnonzero(data.labels < 0)
    return Answers(
        nodes, ensemble.probabilities[nodes], ensemble.disagreement[nodes], data.labels[nodes]
    )


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
        """Return the values for JSON."""
        return {
            "id": self.id,
            "prediction": self.answer,
            "probability": self.probability,
            "second": self.second,
            "true_label": self.truth,
            "disagreement": self.disagreement,
        }


def _truth_cell(row: NodeAnswer) -> Cell | None:
    """Return the label: wrong where the prediction is another class."""
    if row.truth is None:
        return None
    truth = shown_text(row.truth)
    return (
        Cell(truth, kind="right") if row.is_right else Cell(f"\N{BALLOT X} {truth}", kind="wrong")
    )


_ANSWERS: Final[tuple[Column, ...]] = (
    Column("node", of="id", is_name=True),
    Column("prediction", of="answer", is_name=True),
    Column("probability", digits=3, is_number=True, of="probability"),
    Column("label", of=_truth_cell, is_name=True),
    Column("disagreement", of=lambda row: f"{100 * row.disagreement:.0f} %", is_number=True),
    Column("second", of="second", is_name=True, is_faint=True),
)


@dataclass(frozen=True)
class Certainty:
    """Nodes by the probability of their answer."""

    nodes: int  # among how many
    most: tuple[NodeAnswer, ...]  # the surest first
    least: tuple[NodeAnswer, ...]  # the least sure first
    mistakes: tuple[NodeAnswer, ...]  # wrong answers, the surest first

    @property
    def tables(self) -> list[ResultTable]:
        """The nodes at either end and the mistakes, as far as there are some."""
        lists = {
            "Most certain": self.most,
            "Least certain": self.least,
            "Mistakes with the highest probability": self.mistakes,
        }
        columns = _ANSWERS
        if all(row.truth is None for row in self.most):
            columns = tuple(column for column in _ANSWERS if column.title != "label")
            lists = {f"{title}, without a label": rows for title, rows in lists.items()}
        return [ResultTable.of(columns, rows, title) for title, rows in lists.items() if rows]

    def to_dict(self) -> dict[str, Any]:
        """Return the values for JSON."""
        return {
            "nodes": self.nodes,
            "most": self.most,
            "least": self.least,
            "surest_mistakes": self.mistakes,
        }


def certainty(answers: Answers, data: NodeData, count: int) -> Certainty:
    """Return the `count` nodes at either end, and the `count` surest mistakes.

    Equally sure nodes stand in the order of the data.
    """
    order = np.argsort(-answers.confidence, kind="stable")
    upwards = np.argsort(answers.confidence, kind="stable")
    wrong = order[(answers.truth[order] >= 0) & ~answers.is_right[order]]
    return Certainty(
        answers.nodes.size,
        _node_answers(answers, data, order[:count]),
        _node_answers(answers, data, upwards[:count]),
        _node_answers(answers, data, wrong[:count]),
    )


def _node_answers(
    answers: Answers, data: NodeData, positions: NDArray[np.int64]
) -> tuple[NodeAnswer, ...]:
    return tuple(_node_answer(answers, data, k) for k in positions.tolist())


def _node_answer(answers: Answers, data: NodeData, k: int) -> NodeAnswer:
    node = int(answers.nodes[k])
    probabilities = answers.probabilities[k]
    ranked = np.argsort(-probabilities, kind="stable")
    truth = int(answers.truth[k])
    return NodeAnswer(
        node=node,
        id=data.node_ids[node],
        answer=data.class_names[ranked[0]],
        probability=float(probabilities[ranked[0]]),
        second=data.class_names[ranked[1]] if ranked.size > 1 else None,
        truth=data.class_names[truth] if truth >= 0 else None,
        disagreement=float(answers.disagreement[k]),
        lead=float(leads(probabilities[None])[0]),
    )


@dataclass(frozen=True, eq=False)
class Surroundings:
    """One node, why it was chosen, and who is around it."""

    why: str
    answer: NodeAnswer
    around: Neighbourhood

    def to_dict(self) -> dict[str, Any]:
        """Return the values for JSON: the nodes shown, the most attended first."""
        around = self.around
        order = (-around.shares).argsort(kind="stable").tolist()
        nodes = [
            {
                "id": around.ids[k],
                "hops": int(around.hops[k]),
                "share": float(around.shares[k]),
                "contribution": float(around.contributions[k]),
            }
            for k in order
        ]
        values = {"why": self.why, **self.answer.to_dict(), "nodes": nodes}
        return values | {"left_out": around.left_out}


def surroundings(
    run: Run,
    split: Split,
    tested: Certainty | Absent,
    unlabelled: Certainty | Absent,
    title: str,
    count: int = 2,
) -> tuple[Surroundings, ...] | Absent:
    """Return `count` nodes of each kind: right, wrong and least sure.

    They are test nodes, or where there are none nodes without a label.
    """
    nodes = unlabelled if isinstance(tested, Absent) else tested
    if isinstance(nodes, Absent):
        return Absent("There is neither a test node nor one without a label to look at.")
    if run.network.unexplained is not None:
        return Absent(f"What reaches a node cannot be read off {title}: {run.network.unexplained}.")
    kinds: dict[str, Sequence[NodeAnswer]] = {
        "": [row for row in nodes.most if row.is_right is None],
        "right": [row for row in nodes.most if row.is_right],
        "wrong": nodes.mistakes,
        "least sure": nodes.least,
    }
    surrounded: list[Surroundings] = []
    for kind, rows in kinds.items():
        shown_nodes = {surroundings.answer.node for surroundings in surrounded}
        new = [row for row in rows if row.node not in shown_nodes]
        surrounded += [
            Surroundings(_why(kind, row), row, around)
            for row, around in _drawable(run, split, new, count)
        ]
    return tuple(surrounded) or Absent("There is no node to look at.")


def _why(kind: str, row: NodeAnswer) -> str:
    """Return why a node was chosen; it is sure or unsure by the rule of the explorer's cohorts."""
    if kind == "least sure":
        return "unsure" if row.lead < UNSURE else kind
    if row.lead < SURE:
        return kind or "the surest"
    return f"sure and {kind}" if kind else "sure"


def _drawable(
    run: Run, split: Split, rows: Sequence[NodeAnswer], count: int
) -> list[tuple[NodeAnswer, Neighbourhood]]:
    """Return the first `count` rows that can be drawn, filled up with the first that cannot.

    A node with nobody around shows nothing, and a crowd cannot be told apart.
    """
    good: list[tuple[NodeAnswer, Neighbourhood]] = []
    unfit: list[tuple[NodeAnswer, Neighbourhood]] = []
    for row in rows:
        around = Neighbourhood.of(run, row.node, split, limit=MOST_DRAWN)
        fits = around.nodes.size + around.left_out in DRAWABLE
        (good if fits else unfit).append((row, around))
        if len(good) == count:
            break
    return [
        (row, Neighbourhood.with_effects(run, row.node, split, limit=MOST_DRAWN))
        for row, _ in [*good, *unfit][:count]
    ]
