"""Memory said before the run: by hand, against what is free, and on the command line."""

from __future__ import annotations

import pytest

from agnn.errors import InputError, UnavailableError
from agnn.training import check_memory, free_memory, memory_estimate


def test_the_parts_are_those_of_the_formula():
    found = memory_estimate(
        10, 40, features=8, classes=3, layers=2, hidden=4, replicas=5, scored=10
    )
    assert found.features == 10 * 8 * 4
    assert found.parameters == 5 * 5 * (8 * 4 + 4 + 2 + 4 * 3 + 3) * 4
    assert found.states == 5 * 10 * 4 * (4 * 3 + 2)
    assert found.scores == 2 * 5 * 10 * 3 * 4
    training = found.states + found.working
    assert found.total == found.graph + found.features + found.parameters + training


def test_a_graph_too_large_to_prune_needs_no_room_for_pruning():
    small, large = (memory_estimate(10, m, features=1, classes=1).graph for m in (2**28, 2**28 + 1))
    assert large < small


def test_what_does_not_fit_is_refused_with_what_is_needed_and_what_is_there():
    estimate = memory_estimate(10**10, 10**12, features=128, classes=10)
    with pytest.raises(UnavailableError, match=r"needs about .* GiB .* are free on cpu"):
        check_memory(estimate, "cpu")
    check_memory(memory_estimate(10, 10, features=1, classes=2), "cpu")


def test_the_cpu_says_how_much_is_free():
    assert free_memory("cpu") > 2**20


def test_no_replicas_are_refused():
    with pytest.raises(InputError, match="`replicas` must be at least 1; got 0"):
        memory_estimate(10, 10, features=1, classes=2, replicas=0)
