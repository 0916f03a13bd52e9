"""Memory said before the run: by hand, against what is free, and on the command line."""

from __future__ import annotations

from typing import Any

import pytest

from agnn.errors import InputError, UnavailableError
from agnn.networks import (
    AGNN,
    GRAND,
    MultilayerPerceptron,
    SemiSupervisedEmbedding,
    _memory,
)
from agnn.networks._memory import count_step
from agnn.training import ProblemSize, StepNumbers, free_memory


def test_the_parts_are_those_of_the_formula():
    step = StepNumbers(
        per_node=20, per_edge=3, largest_per_node=7, largest_per_edge=2, parameters=61
    )
    size = ProblemSize(10, 40, features=8, classes=3, replicas=5, scored=10, labelled=6)
    estimate = size.memory(step)
    assert estimate.features == 10 * 8 * 4
    assert estimate.parameters == 5 * 5 * 61 * 4
    assert estimate.states == 5 * 4 * (10 * 20 + 40 * 3)
    assert estimate.working == 5 * 4 * (5 * (10 * 7 + 40 * 2) + 6 * 6 * 3)
    assert estimate.scores == 2 * 5 * 10 * 3 * 4
    training = estimate.states + estimate.working
    assert estimate.total == estimate.graph + estimate.features + estimate.parameters + training


def test_a_step_is_counted_by_what_it_holds():
    step = MultilayerPerceptron(hidden=8).step_numbers(50, 3)
    # One state of width 8, on which ReLU works in place, the logits, and whole numbers of entries.
    assert 8 + 3 <= step.per_node <= 8 + 3 + 8
    assert step.largest_per_node in (8, 9)
    assert step.parameters == 50 * 8 + 8 * 3
    deep = AGNN(layers=6, hidden=8).step_numbers(50, 3)
    shallow = AGNN(layers=5, hidden=8).step_numbers(50, 3)
    assert 8 <= deep.per_node - shallow.per_node <= 8 + 4
    pairs = SemiSupervisedEmbedding(hidden=8).step_numbers(50, 3)
    assert pairs.per_node >= step.per_node + 8, "its second loss has states of its own"
    many = GRAND(versions=4).step_numbers(50, 3)
    assert many.versions == 4
    assert many.largest_per_node >= 4 * 50, "features of every version are propagated"


def test_a_graph_too_large_to_prune_needs_no_memory_for_pruning():
    small, large = (AGNN().memory_of(ProblemSize(10, m, 1, 1)).graph for m in (2**28, 2**28 + 1))
    assert large < small


def test_what_does_not_fit_is_refused_with_what_is_needed_and_what_is_there():
    estimate = AGNN().memory_of(ProblemSize(10**10, 10**12, 128, 10))
    with pytest.raises(UnavailableError, match=r"needs about .* GiB .* are free on cpu"):
        estimate.check("cpu")
    AGNN().memory_of(ProblemSize(10, 10, 1, 2)).check("cpu")


def test_the_cpu_says_how_much_is_free():
    assert free_memory("cpu") > 2**20


def test_no_replicas_are_refused():
    with pytest.raises(InputError, match="`replicas` must be at least 1; got 0"):
        ProblemSize(10, 10, 1, 2, replicas=0)


@pytest.mark.parametrize("disturbed", [(2, 5, 13), range(2, 100, 3)], ids=["at times", "always"])
def test_a_step_is_counted_though_another_thread_holds_some_tensors(disturbed, monkeypatch):
    expected = count_step.__wrapped__(AGNN(layers=3), 50, 3)
    real = _memory._held_bytes
    calls = []

    def with_others(*given: Any) -> list[int]:
        calls.append(given)
        extra = [64, 64] if len(calls) in disturbed else []
        return [*extra, *real(*given)]

    monkeypatch.setattr(_memory, "_held_bytes", with_others)
    step = count_step.__wrapped__(AGNN(layers=3), 50, 3)
    if isinstance(disturbed, range):  # no count is right, and none is an error
        assert step.parameters == expected.parameters
    else:
        assert step == expected
