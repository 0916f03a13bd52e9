"""The lead of the predicted class over the second as a sum: a constant and what each node adds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.errors import InputError
from agnn.explanation._changes import explained_run
from agnn.explanation._contributions import HeldLogits, features_at
from agnn.explanation._reach import Reach
from agnn.explanation._steps import (
    SMALL,
    NodeFeature,
    Step,
    group_steps,
    is_large,
    reasons_text,
    spread_over_many,
)
from agnn.graph import View
from agnn.metrics import Ensemble
from agnn.runs import Run

_STEPS: Final = 6  # nodes with a step of their own, besides the node itself
_FEATURES: Final = 3  # named under a step


@dataclass(frozen=True, eq=False)
class Margin:
    """The logit of the predicted class less that of the second, taken apart.

    `constant` and `added` sum to `total`, with attention and active units held: see
    `HeldLogits`. Logits are means over the replicas. Where replicas disagree, the ensemble may
    predict a class whose mean logit is not the highest; then the margin is negative.
    """

    answer: int  # the predicted class, the most probable
    second: int  # the second most probable class
    probabilities: NDArray[np.float64]  # [c] of the ensemble at its temperature, or of one replica
    nodes: NDArray[np.int64]  # [k] that reach the node, itself first; indices in the data
    added: NDArray[np.float64]  # [k] what each adds
    constant: float  # what biases add
    steps: tuple[Step, ...]  # constant, itself, the largest others, the rest; they sum to `total`
    largest: Step | None = None  # the other node that adds most, where it adds anything

    @property
    def total(self) -> float:
        """The margin itself."""
        return self.constant + float(self.added.sum())

    def sentence(self, method: str, class_names: Sequence[str]) -> str:
        """Return the prediction and its main reasons in one sentence."""
        chance = float(self.probabilities[self.answer])
        # Nothing is certain: a rounded 100 % would say so.
        sure = "over 99 %" if chance >= 0.995 else f"{100 * chance:.0f} %"
        sentence = f"{method} predicts {class_names[self.answer]} ({sure})"
        if self.second != self.answer:
            sentence += f" ahead of {class_names[self.second]}"
        return f"{sentence}{reasons_text(self.steps, self.largest)}."

    def to_dict(self) -> dict[str, Any]:
        """Return the prediction, the margin and its steps as JSON values."""
        return {
            "answer": self.answer,
            "second": self.second,
            "total": self.total,
            "constant": self.constant,
            "steps": [step.to_dict() for step in self.steps],
        }

    @classmethod
    def of(
        cls,
        run: Run,
        node: int,
        *,
        replica: int | None = None,
        reach: Reach | None = None,
    ) -> Margin:
        """Return the margin at one node, given by its index, of the ensemble or of one replica.

        The nodes that add or take most have a step of their own. With a `reach` that was looked up
        in a whole graph, this is looked up there too.
        """
        run = explained_run(run)
        whole = None if reach is None else reach.whole
        if reach is None or whole is None or whole.by_row is None:
            view = run.view_of(node)
            return margin_on(run, view, held_logits(run, view), replica=replica)
        by_row = whole.by_row
        weights = reach.rows[0]
        question = _question(run, run.scores_at([node]), replica)
        lead = question.lead
        replicas = list(question.replicas)
        values = by_row.values[:, reach.nodes] @ torch.from_numpy(lead).float()
        added = (weights[replicas] * values[replicas]).mean(0).numpy()
        constant = float((by_row.constant[replicas].double().numpy() @ lead).mean())

        def features(positions: list[int]) -> NDArray[np.float64]:
            nodes = reach.nodes[positions]
            gradient = by_row.gradient(nodes, lead) * weights[:, positions, None].numpy()
            weight = by_row.first.weight[replicas]
            return features_at(whole.features, nodes, weight, gradient[replicas] / len(replicas))

        reached = reach.nodes.numpy(), reach.sizes
        return _margin(run, reached, question, added, constant, features)


def margin_on(run: Run, view: View, held: HeldLogits, *, replica: int | None = None) -> Margin:
    """Return the margin at a view's one target, whose logits are `held`."""
    with torch.no_grad():
        scores = run.network(view).softmax(-1).cpu()
    question = _question(run, scores, replica)
    added, constant = held.node_contributions(question.lead, question.replicas)

    def features(positions: list[int]) -> NDArray[np.float64]:
        return held.feature_contributions(question.lead, question.replicas, positions)

    reached = view.field.nodes.cpu().numpy(), view.field.sizes
    return _margin(run, reached, question, added, constant, features)


def own_features(
    run: Run, target: int, node: int, *, replica: int | None = None
) -> list[NodeFeature]:
    """Return the features of a node that are not 0, by how much they add or take at the target.

    Both nodes are given by index; one that does not reach the target adds nothing.
    """
    run = explained_run(run)
    run.check_node(node)
    view = run.view_of(target)
    row = run.data.feature_rows(np.array([node]))
    added = np.zeros(run.data.feature_count)
    rows = (view.field.nodes == node).nonzero().flatten().tolist()
    if rows:
        question = _question(run, run.scores_at([target]), replica)
        held = held_logits(run, view)
        added = held.feature_contributions(question.lead, question.replicas, rows)[0]
    columns = row.indices[row.data != 0]
    order = columns[np.argsort(-np.abs(added[columns]), kind="stable")].tolist()
    return [NodeFeature(k, feature_name(run, k), float(added[k])) for k in order]


class _Question(NamedTuple):
    """Which classes are compared, and by which replicas."""

    chances: NDArray[np.float64]  # [c]
    answer: int
    second: int
    lead: NDArray[np.float64]  # [c] 1 at the predicted class, -1 at the second
    replicas: range


def _question(run: Run, scores: Tensor, replica: int | None) -> _Question:
    """Return the question that the scores [R, 1, c] of the target raise."""
    if replica is None:
        chances = Ensemble.of_scores(scores, run.temperature).probabilities[0]
        replicas = range(len(scores))
    else:
        chances = scores[replica, 0].double().numpy()
        replicas = range(replica, replica + 1)
    order = np.argsort(-chances, kind="stable").tolist()
    answer = order[0]
    second = order[min(1, len(order) - 1)]
    lead = np.zeros(chances.size)
    lead[answer] += 1.0
    lead[second] -= 1.0
    return _Question(chances, answer, second, lead, replicas)


def _margin(
    run: Run,
    reached: tuple[NDArray[np.int64], Sequence[int]],
    question: _Question,
    added: NDArray[np.float64],
    constant: float,
    features: Callable[[list[int]], NDArray[np.float64]],
) -> Margin:
    """Return the margin from what each node adds [k]; `features` has those of some nodes.

    `reached` are the nodes by hop, and how many are within 0, 1, ... hops.
    """
    nodes, within = reached
    sizes = np.abs(added[1:])
    largest = np.arange(sizes.size)
    if sizes.size > _STEPS:  # sorting them all would take long around a hub
        largest = np.sort(np.argpartition(-sizes, _STEPS)[:_STEPS])
    listed = 1 + largest
    rows = [0, *listed[np.argsort(-added[listed], kind="stable")].tolist()]

    def node_step(position: int, row: NDArray[np.float64] | None = None) -> Step:
        return Step(
            kind="node" if position else "itself",
            value=float(added[position]),
            node=int(nodes[position]),
            id=run.data.node_ids[nodes[position]],
            title=run.data.text_of(int(nodes[position]), "title") or None,
            hops=int(np.searchsorted(within, position, side="right")),
            label=_label(run, int(nodes[position])),
            features=()
            if row is None
            else tuple(NodeFeature(k, feature_name(run, k), float(row[k])) for k in _largest(row)),
        )

    is_spread = spread_over_many(constant, added, rows)
    if is_spread:
        rows = [rows[0], *(k for k in rows[1:] if is_large(float(added[k]), added))]
    steps = [
        Step("constant", constant, 0),
        *(node_step(place, row) for place, row in zip(rows, features(rows), strict=True)),
    ]
    is_other = np.ones(added.size, dtype=bool)
    is_other[rows] = False
    other_rows = np.flatnonzero(is_other)
    if is_spread:
        classes = (question.answer, question.second), run.data.class_names
        hops = np.searchsorted(within, other_rows, side="right")
        labels = run.data.labels[nodes[other_rows]]
        steps += group_steps(added[other_rows], hops, labels, classes, is_rest=len(rows) > 1)
    elif other_rows.size:
        value = float(added.sum()) - sum(step.value for step in steps[1:])
        steps.append(Step("rest", value, other_rows.size))
    best = 1 + int(added[1:].argmax()) if added.size > 1 else 0
    return Margin(
        answer=question.answer,
        second=question.second,
        probabilities=question.chances,
        nodes=nodes,
        added=added,
        constant=constant,
        steps=tuple(steps),
        largest=node_step(best) if best and added[best] > SMALL else None,
    )


def held_logits(run: Run, view: View) -> HeldLogits:
    """Return the logits at a view's target, taken apart; raises for models that are unexplained."""
    model = run.network
    if model.unexplained is not None:
        raise InputError(f"{run.method.title} cannot be explained: {model.unexplained}.")
    return HeldLogits.of(model, view)


def feature_name(run: Run, column: int) -> str:
    """Return what a feature is called."""
    preprocessing = run.data.preprocessing
    return f"feature {column}" if preprocessing is None else preprocessing.feature_names[column]


def _label(run: Run, node: int) -> str | None:
    label = int(run.data.labels[node])
    return None if label < 0 else run.data.class_names[label]


def _largest(row: NDArray[np.float64]) -> list[int]:
    """Return the columns of the largest addends that are worth a word."""
    order = np.argsort(-np.abs(row), kind="stable")[:_FEATURES].tolist()
    return [k for k in order if abs(row[k]) > SMALL]
