"""A large value for many calls is unpacked once per process, and few are kept."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import pytest

from agnn.executors import Shared, _shared


@pytest.fixture(autouse=True)
def nothing_unpacked() -> Iterator[None]:
    _shared._unpacked.clear()
    yield
    _shared._unpacked.clear()


def sent(shared: Shared[list[int]]) -> Shared[list[int]]:
    """What a worker has of it."""
    received: Shared[list[int]] = pickle.loads(pickle.dumps(shared))  # noqa: S301 (ours)
    return received


def test_the_process_that_asks_keeps_its_own_value() -> None:
    value = [1, 2]
    shared = Shared("numbers", value)
    sent(shared)
    assert shared.value is value
    assert _shared._unpacked == {}


def test_a_worker_unpacks_a_value_once_for_all_calls() -> None:
    shared = Shared("numbers", [1, 2])
    first, second = sent(shared), sent(shared)
    assert first.value == [1, 2]
    assert first.value is second.value
    assert sent(first).value is first.value, "also where it is passed on"


def test_values_are_told_apart_by_their_keys() -> None:
    assert sent(Shared("one", [1])).value == [1]
    assert sent(Shared("two", [2])).value == [2]
    assert sent(Shared("one", [3])).value == [1], "the key says what it is"


def test_the_values_that_were_used_last_are_kept() -> None:
    for number in range(_shared._KEPT):
        assert sent(Shared(str(number), [number])).value == [number]
    assert sent(Shared("0", [0])).value == [0]  # used again
    assert sent(Shared("new", [9])).value == [9]
    assert set(_shared._unpacked) == {"0", "2", "3", "new"}
