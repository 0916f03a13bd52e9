"""Ranks see each other from their start to their end: here they are threads with a store."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from agnn.distributed import _meeting
from agnn.distributed._meeting import LostRankError, Meeting, RanksError, rank_timeout
from agnn.errors import DataError, InputError, StoppedError
from agnn.executors import LaunchedRank


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short times, and no end by force: it would end the tests."""
    monkeypatch.setenv("AGNN_RANK_TIMEOUT", "3")
    monkeypatch.setattr(_meeting, "_HEAD_START", 0.0)
    monkeypatch.setattr(Meeting, "_end_by_force", lambda *_: None)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def places(size: int, port: int, *, per_machine: int = 1) -> list[LaunchedRank]:
    """Ranks of several machines."""
    return [
        LaunchedRank(rank, size, rank % per_machine, per_machine, port=port) for rank in range(size)
    ]


def in_threads(work: Callable[[LaunchedRank], Any], launched: list[LaunchedRank]) -> list[Any]:
    """What `work` gives for each rank, or its error."""
    answers: list[Any] = [None] * len(launched)

    def run(number: int) -> None:
        try:
            answers[number] = work(launched[number])
        except BaseException as error:
            answers[number] = error

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(launched))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return answers


def meet(launched: list[LaunchedRank]) -> list[Meeting]:
    meetings = in_threads(Meeting.attend, launched)
    for meeting in meetings:
        assert isinstance(meeting, Meeting), meeting
    return meetings


def leave(meetings: list[Meeting]) -> None:
    in_threads(lambda launched: meetings[launched.rank].leave(), places(len(meetings), 0))


def error_of(meeting: Meeting) -> LostRankError:
    """What a rank learns, once it does."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            meeting.check()
        except LostRankError as error:
            return error
        time.sleep(0.02)
    raise AssertionError("it learns nothing")


def test_ranks_meet_and_tell_each_other_what_they_share() -> None:
    meetings = meet(places(3, free_port()))
    shared = in_threads(
        lambda launched: meetings[launched.rank].share("device", f"GPU {launched.rank}"),
        places(3, 0),
    )
    assert shared == [["GPU 0", "GPU 1", "GPU 2"]] * 3
    assert not any(meeting.is_restart for meeting in meetings)
    leave(meetings)
    assert all(meeting.is_left for meeting in meetings)


def test_what_one_rank_says_when_it_fails_all_others_raise() -> None:
    meetings = meet(places(4, free_port(), per_machine=2))
    with pytest.raises(DataError, match=r"^part 2 is damaged"), meetings[2].telling():
        raise DataError("part 2 is damaged.")
    errors = [error_of(meetings[rank]) for rank in (0, 1, 3)]
    assert {str(error) for error in errors} == {"rank 2 of 4 failed: part 2 is damaged."}
    # One line on the other machine; on its own the rank has printed it.
    assert [error.is_reporter for error in errors] == [True, False, False]
    meetings[2].check()  # it has its own error


@pytest.mark.parametrize("error", [StoppedError("stopped"), RanksError("all have it")])
def test_what_all_ranks_raise_is_not_told(error: Exception) -> None:
    meetings = meet(places(2, free_port()))
    with pytest.raises(type(error), match=str(error)), meetings[1].telling():
        raise error
    time.sleep(1.0)
    meetings[0].check()
    leave(meetings)


def test_a_rank_without_signs_of_life_is_named_by_all_others() -> None:
    meetings = meet(places(3, free_port()))
    meetings[1]._is_over.set()
    errors = [error_of(meetings[rank]) for rank in (0, 2)]
    assert {str(error) for error in errors} == {"rank 1 of 3 did not answer for 3 seconds."}
    assert all(error.is_reporter for error in errors)


def test_a_rank_that_has_left_is_not_missed() -> None:
    meetings = meet(places(2, free_port()))
    meetings[1].leave()
    time.sleep(4.5)
    meetings[0].check()
    leave(meetings[:1])


def test_after_a_closed_connection_the_dead_rank_is_named_sooner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AGNN_RANK_TIMEOUT", "300")
    monkeypatch.setattr(_meeting, "_BROKEN", 2.5)
    meetings = meet(places(3, free_port()))
    meetings[2]._is_over.set()
    with pytest.raises(LostRankError, match=r"^rank 2 of 3 ended without a word") as caught:
        meetings[0].raise_broken(RuntimeError("Connection closed by peer"))
    assert str(error_of(meetings[1])) == str(caught.value)


def test_a_closed_connection_of_ranks_that_are_all_alive_says_what_was_seen() -> None:
    meetings = meet(places(2, free_port(), per_machine=2))
    with pytest.raises(
        LostRankError, match=r"^rank 1 of 2 lost the others: another rank ended and closed"
    ):
        meetings[1].raise_broken(RuntimeError("[pair.cc:1] Connection reset by peer"))
    leave(meetings)


def test_a_message_that_all_have_begun_and_nobody_gets_ends_all() -> None:
    meetings = meet(places(2, free_port()))
    for meeting in meetings:
        meeting.begun = 7
    with meetings[0].waiting():
        errors = [error_of(meeting) for meeting in meetings]
    for error in errors:
        assert str(error).startswith("messages between the ranks do not arrive: all are alive")


def test_a_rank_that_computes_for_long_is_waited_for() -> None:
    meetings = meet(places(2, free_port()))
    meetings[0].begun = 8
    meetings[1].begun = 7  # it has not come to that message
    with meetings[0].waiting():
        time.sleep(4.5)
        meetings[0].check()
    leave(meetings)


def test_a_rank_that_does_not_come_ends_those_that_are_there() -> None:
    launched = places(3, free_port())
    errors = in_threads(Meeting.attend, launched[:2])
    assert [str(error) for error in errors] == ["rank 2 of 3 did not answer for 3 seconds."] * 2
    assert all(isinstance(error, LostRankError) for error in errors)


def test_ranks_without_the_first_one_say_that_it_is_missing() -> None:
    port = free_port()
    lasting = [LaunchedRank(rank, 3, port=port, has_lasting_store=True) for rank in range(3)]
    store = _meeting.open_store(LaunchedRank(0, 3, port=port), 30, is_master=True)
    errors = in_threads(Meeting.attend, lasting[1:])
    assert [str(error) for error in errors] == ["rank 0 of 3 did not answer for 3 seconds."] * 2
    assert store is not None


def test_an_address_where_nobody_listens_is_named() -> None:
    port = free_port()
    with pytest.raises(RanksError, match=f"^rank 1 of 2 cannot reach 127.0.0.1:{port}, where the"):
        Meeting.attend(places(2, port)[1])


def test_ranks_after_a_failure_do_not_find_those_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store of torchrun outlives the ranks and has the tokens of dead ones."""
    port = free_port()
    store = _meeting.open_store(LaunchedRank(0, 2, port=port), 30, is_master=True)
    lasting = [LaunchedRank(rank, 2, port=port, has_lasting_store=True) for rank in range(2)]
    before = meet(lasting)
    names = {meeting.name for meeting in before}
    leave(before)
    monkeypatch.setattr(_meeting, "_PROCESS", "another process")

    def attend(launched: LaunchedRank) -> Meeting:
        time.sleep(1.0 if launched.rank == 1 else 0.0)  # rank 0 sees the old token of rank 1
        return Meeting.attend(launched)

    after = in_threads(attend, lasting)
    assert all(meeting.is_restart for meeting in after)
    assert len(names | {meeting.name for meeting in after}) == 2
    leave(after)
    assert store is not None


def test_a_second_training_of_the_same_processes_is_no_restart() -> None:
    port = free_port()
    store = _meeting.open_store(LaunchedRank(0, 2, port=port), 30, is_master=True)
    lasting = [LaunchedRank(rank, 2, port=port, has_lasting_store=True) for rank in range(2)]
    for _ in range(2):
        meetings = meet(lasting)
        assert not any(meeting.is_restart for meeting in meetings)
        leave(meetings)
    assert store is not None


def test_a_store_that_ends_with_its_process_ends_the_others() -> None:
    port = free_port()
    stores = [_meeting.open_store(LaunchedRank(0, 2, port=port), 30, is_master=True)]
    lasting = [LaunchedRank(rank, 2, port=port, has_lasting_store=True) for rank in range(2)]
    meetings = meet(lasting)
    stores.clear()
    errors = [str(error_of(meeting)) for meeting in meetings]
    assert errors == [f"127.0.0.1:{port}, where the ranks meet, closed the connection."] * 2


@pytest.mark.parametrize("given", ["0.5", "100000", "soon", ""])
def test_a_timeout_that_makes_no_sense_is_refused(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGNN_RANK_TIMEOUT", given)
    with pytest.raises(InputError, match="AGNN_RANK_TIMEOUT takes from 1 to 86400 seconds"):
        rank_timeout()
