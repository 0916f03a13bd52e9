"""The separated block as a method: which of its candidates is trained, and by what it is chosen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from agnn.choosing import settle
from agnn.data import NodeData
from agnn.errors import InputError
from agnn.methods import Task
from agnn.networks import GraphSAGE, Separated
from agnn.runs import evaluate
from agnn.training import BestScore

QUICK = Separated(hidden=8, epochs=4, patience=4)


def test_the_candidate_with_the_best_validation_score_is_settled_on(toy):
    task = Task(toy, (toy.split("fixed"),) * 4, (0, 1, 2, 3))
    scores = []
    for fields in Separated.candidates:
        candidate = replace(QUICK, tries_candidates=False, **fields)
        history = candidate.run(task.first(3)).history
        chosen = history.selected_epochs - 1
        watched = [history.watched_accuracy[chosen[r], r].item() for r in range(3)]
        scores.append((np.mean(watched), candidate))
    best = max(score for score, _ in scores)
    assert settle(QUICK, task) == next(each for score, each in scores if score == best)


def test_test_labels_do_not_take_part_in_the_choice(toy):
    split, labels = toy.split("fixed"), toy.labels.copy()
    labels[split.test] = (labels[split.test] + 1) % 3
    flipped = NodeData.build(
        name="toy", features=toy.features, labels=labels, edges=toy.edges,
        class_names=toy.class_names, splits=toy.splits,
    )  # fmt: skip
    task, other = (Task(data, (split,) * 2, (0, 1)) for data in (toy, flipped))
    assert settle(QUICK, task) == settle(QUICK, other)


def test_a_field_in_which_candidates_differ_switches_the_choice_off(toy):
    task = Task(toy, (toy.split("fixed"),), (0,))
    for changes in ({"layers": 2}, {"dropout": 0.1}, {"weight_decay": 1e-4}, {"scaling": "sum"}):
        changed = QUICK.with_fields(**changes)
        assert not changed.tries_candidates
        assert settle(changed, task) == changed
    assert QUICK.with_fields(hidden=4).tries_candidates
    assert QUICK.with_fields(layers=2, tries_candidates=True).tries_candidates


def test_a_run_keeps_the_method_that_was_settled_on(toy):
    run = evaluate(QUICK, toy, "fixed", seeds=(0, 1))
    assert not run.method.tries_candidates
    assert {name: getattr(run.method, name) for name in Separated.candidates[0]} in [
        dict(fields) for fields in Separated.candidates
    ]


def test_the_epoch_is_chosen_by_the_area_under_the_curve_where_there_are_two_classes():
    assert QUICK.recipe().selection == BestScore(4, "validation", "best")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Separated(layers=0), "`layers` must be at least 1; got 0"),
        (lambda: Separated(weights="attentive"), "did you mean 'attention'"),
        (lambda: Separated(normalisation="batch"), "normalisation"),
        (lambda: GraphSAGE(layers=0), "`layers` must be at least 1; got 0"),
    ],
)
def test_settings_that_cannot_work_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()
