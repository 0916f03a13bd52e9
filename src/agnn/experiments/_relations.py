"""What the paper reads from attention between classes, judged over replicas of our own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from agnn.data import load_dataset
from agnn.errors import DataError
from agnn.experiments._spec import RelevancePanel
from agnn.metrics import Summary

Reproduced = Literal["reproduced", "partly reproduced", "not reproduced"]


@dataclass(frozen=True)
class Relation:
    """The relevance from one class to another, over replicas, and its rank among all of them."""

    sender: str
    receiver: str
    value: Summary  # one value per replica
    rank: int  # of the mean; 1 is the strongest
    ranks: tuple[int, ...]  # in each replica


@dataclass(frozen=True)
class JudgedPanel:
    """A heat map of relevances between classes, compared with what the paper says about its own."""

    panel: RelevancePanel
    replicas: int
    is_dominant: bool  # on average every class attends to itself more than to any other
    dominant: int  # replicas in which each does
    relations: tuple[Relation, ...]  # between different classes, the strongest first
    strongest: tuple[Relation, ...]  # that the paper names
    weakest: tuple[Relation, ...]

    @property
    def strongest_agree(self) -> int:
        """How many of the paper's strongest relations are among as many strongest here."""
        return sum(each.rank <= len(self.strongest) for each in self.strongest)

    @property
    def weakest_agree(self) -> int:
        """How many of the paper's weakest relations are among as many weakest here."""
        last = len(self.relations) - len(self.weakest)
        return sum(each.rank > last for each in self.weakest)


def reproduced(agreeing: int, count: int) -> Reproduced:
    """Return a word for how many of `count` statements hold here."""
    if agreeing == count:
        return "reproduced"
    return "partly reproduced" if agreeing else "not reproduced"


def judge_relevances(
    panel: RelevancePanel, relevances: Sequence[Sequence[Sequence[float | None]]]
) -> JudgedPanel:
    """Compare relevances [R, c, c] with what the paper reads from the panel.

    Row c1 receives and column c2 sends. None stands for a pair of classes that no edge joins.
    """
    values = np.array(relevances, dtype=np.float64)
    names = load_dataset(panel.dataset).class_names
    if values.ndim != 3 or values.shape[1:] != (len(names), len(names)):
        raise DataError(
            f"the relevances of '{panel.title}' have the shape {values.shape}, not one table of "
            f"{len(names)} by {len(names)} classes per replica; draw the figure again."
        )
    replicas = values.shape[0]
    pairs = [
        (receiver, sender)
        for receiver in range(len(names))
        for sender in range(len(names))
        if receiver != sender and not np.isnan(values[:, receiver, sender]).any()
    ]
    between = np.array([values[:, receiver, sender] for receiver, sender in pairs])  # [pairs, R]
    ranks = _ranks(between)
    by_mean = _ranks(between.mean(axis=1, keepdims=True))[:, 0]
    relations = {
        (names[sender], names[receiver]): Relation(
            names[sender], names[receiver], Summary(own.tolist()), int(rank), tuple(each.tolist())
        )
        for (receiver, sender), own, rank, each in zip(pairs, between, by_mean, ranks, strict=True)
    }
    return JudgedPanel(
        panel,
        replicas,
        bool(_is_dominant(values.mean(axis=0, keepdims=True)).all()),
        int(_is_dominant(values).sum()),
        tuple(sorted(relations.values(), key=lambda each: each.rank)),
        _named(panel, panel.strongest, relations),
        _named(panel, panel.weakest, relations),
    )


def _is_dominant(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for each table [k, c, c] whether the diagonal has the largest value of every row."""
    diagonal = np.diagonal(values, axis1=1, axis2=2)
    return np.asarray((np.nanmax(values, axis=2) <= diagonal).all(axis=1))


def _ranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the rank of each row in every column; 1 is the largest."""
    order = np.argsort(-values, axis=0, kind="stable")
    ranks = np.empty(order.shape, dtype=np.int64)
    np.put_along_axis(ranks, order, np.arange(1, len(values) + 1)[:, None], axis=0)
    return ranks


def _named(
    panel: RelevancePanel,
    pairs: Sequence[tuple[str, str]],
    relations: dict[tuple[str, str], Relation],
) -> tuple[Relation, ...]:
    for sender, receiver in pairs:
        if (sender, receiver) not in relations:
            raise DataError(f"'{panel.title}' has no relation from '{sender}' to '{receiver}'.")
    return tuple(relations[pair] for pair in pairs)
