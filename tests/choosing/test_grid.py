"""Hyper-parameters chosen on validation nodes, and on nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from agnn.choosing import Tuned
from agnn.data import NodeData, Split
from agnn.errors import InputError
from agnn.methods import Method, Outcome, Task
from agnn.methods._single_layer_perceptron import SingleLayerPerceptron
from agnn.networks import AGNN
from properties import assert_same_bits


@dataclass(frozen=True)
class Constant(Method):
    """Answers one class everywhere; `unused` makes candidates that are equal."""

    name: ClassVar[str] = "constant"
    title: ClassVar[str] = "Constant"
    cites: ClassVar[str] = "nobody"
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"answer": (0, 1, 2), "unused": (7, 8)}

    answer: int = 0
    unused: int = 7

    def run(self, task: Task) -> Outcome:
        scores = torch.zeros(len(task.seeds), task.data.nodes, 3)
        scores[..., self.answer] = 1.0
        return Outcome(scores)


def task(toy, *validations) -> Task:
    splits = [
        Split(f"s{k}", [0], nodes, [n for n in range(60, 120) if n not in nodes])
        for k, nodes in enumerate(validations)
    ]
    return Task(toy, tuple(splits), tuple(range(len(splits))))


def of_class(toy, label: int, count: int = 5) -> list[int]:
    return [int(node) for node in np.flatnonzero(toy.labels == label) if node][:count]


def test_the_candidates_are_the_grid_in_order():
    found = [(c.answer, c.unused) for c in Tuned(Constant()).candidates()]
    assert found == [(0, 7), (0, 8), (1, 7), (1, 8), (2, 7), (2, 8)]


def test_each_split_gets_the_best_on_its_own_validation_nodes(toy):
    given = task(toy, of_class(toy, 2), of_class(toy, 1))
    outcome = Tuned(Constant()).run(given)
    assert outcome.scores.argmax(-1)[:, 0].tolist() == [2, 1]
    # Of equal candidates the first wins.
    assert outcome.chosen == ({"answer": 2, "unused": 7}, {"answer": 1, "unused": 7})


def test_the_choice_never_reads_the_labels_outside_training_and_validation(toy):
    split, labels = toy.split("fixed"), toy.labels.copy()
    hidden = np.setdiff1d(np.arange(120), [*split.train, *split.validation])
    labels[hidden] = (labels[hidden] + 1) % 3
    flipped = NodeData.build(
        name="toy", features=toy.features, labels=labels, edges=toy.edges,
        class_names=toy.class_names, splits=toy.splits,
    )  # fmt: skip
    method = Tuned(SingleLayerPerceptron())
    found = [method.run(Task(data, (split,), (0,))) for data in (toy, flipped)]
    assert_same_bits(found[0].scores, found[1].scores)
    assert found[0].chosen == found[1].chosen


def test_it_carries_its_base_and_says_that_it_is_tuned():
    method = Tuned(SingleLayerPerceptron(penalty_inverse=3.0))
    assert (method.name, method.configuration) == ("single_layer_perceptron", "tuned")
    assert SingleLayerPerceptron().configuration == "published"
    assert method.settings == {"penalty_inverse": 3.0, "has_unit_rows": False}
    assert method == Tuned(SingleLayerPerceptron(penalty_inverse=3.0))


def test_a_method_without_a_grid_is_refused():
    with pytest.raises(InputError, match="agnn has no grid to tune over"):
        Tuned(AGNN())


def test_a_split_without_validation_nodes_is_refused(toy):
    split = Split("bare", [*range(20)], [], [*range(20, 60)])
    with pytest.raises(InputError, match="'bare' has no validation nodes to choose"):
        Tuned(Constant()).run(Task(toy, (split,), (0,)))
