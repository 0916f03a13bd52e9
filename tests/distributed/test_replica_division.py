"""Replicas in pieces: the bits of one process, requests to stop, failures and progress."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_rows import made, task_of

from agnn.distributed import Division, _replicas
from agnn.distributed._outcome import SentOutcome, _join_epochs, receive_outcome
from agnn.distributed._replicas import _Board, _pieces, train_by_replicas
from agnn.errors import DivergedError, InputError, StoppedError, UnavailableError
from agnn.methods import NetworkMethod, Outcome, Task
from agnn.networks import AGNN, GCN
from agnn.training import Callback, Checkpoints

METHOD = AGNN(layers=2, epochs=12, hidden=8)


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads in place of processes: the same calls, without the time to start them."""
    monkeypatch.setattr(_replicas, "LocalProcesses", lambda count, _: ThreadPoolExecutor(count))
    monkeypatch.setattr("agnn.executors._executors._LOOK_EVERY", 0.01)


def assert_same(found: Outcome, expected: Outcome) -> None:
    assert torch.equal(found.scores, expected.scores)
    assert found.model is not None
    assert expected.model is not None
    for name, tensor in expected.model.state_dict().items():
        assert torch.equal(found.model.state_dict()[name], tensor), name
    assert found.history is not None
    assert expected.history is not None
    assert torch.equal(found.history.selected_epochs, expected.history.selected_epochs)
    assert torch.equal(found.history.training_loss, expected.history.training_loss)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("processes", [1, 2, 3, 7])
def test_pieces_have_the_bits_of_one_process(processes: int) -> None:
    weights = np.array([[1.0, 2.0, 1.0], [1.0, 1.0, 1.0], [3.0, 1.0, 2.0]])
    task = task_of(made(), 3, class_weights=weights)
    assert_same(train_by_replicas(METHOD, task, processes, 1), METHOD.run(task))


@pytest.mark.usefixtures("threads")
def test_progress_rises_to_the_last_epoch() -> None:
    told: list[tuple[int, int]] = []
    task = task_of(made(), 2, progress=lambda *epochs: told.append(epochs))
    train_by_replicas(METHOD, task, 2, 1)
    done = [epoch for epoch, _ in told]
    assert done == sorted(set(done)), "each epoch once"
    assert {total for _, total in told} == {12}


def stop_after(task: Task, epoch: int) -> Task:
    """The task with a request to stop once all pieces have come so far."""
    checkpoints = task.checkpoints
    assert checkpoints is not None

    def progress(done: int, _: int) -> None:
        if done >= epoch:
            checkpoints.request_stop()

    return replace(task, progress=progress)


@pytest.mark.usefixtures("threads")
def test_a_request_to_stop_leaves_checkpoints_that_other_processes_continue(
    tmp_path: Path,
) -> None:
    method = METHOD.with_fields(epochs=4000)
    file = tmp_path / "run.checkpoint"
    task = task_of(made(), 3)
    stopped = replace(task, checkpoints=Checkpoints(file, 1e9))
    with pytest.raises(StoppedError, match=r"is in '.*run.checkpoint-\dof2'. The same command"):
        train_by_replicas(method, stop_after(stopped, 1), 2, 1)
    names = [f"run.checkpoint-{piece}of2" for piece in (1, 2)]
    assert sorted(each.name for each in tmp_path.iterdir()) == names
    with pytest.raises(InputError, match="is the checkpoint of an unfinished training"):
        train_by_replicas(method, replace(task, checkpoints=Checkpoints(file)), 2, 1)
    for other in (1, 3):  # the pieces stay as they are
        again = replace(task, checkpoints=Checkpoints(file, 1e9, resume=True))
        with pytest.raises(StoppedError, match="is in"):
            train_by_replicas(method, stop_after(again, 2), other, 1)
        assert sorted(each.name for each in tmp_path.iterdir()) == names
    # To the end: what is left of the epochs, and the bits of a training that never stopped.
    short = METHOD.with_fields(epochs=60)
    whole = short.run(task)
    for epochs in (1, 3):
        file = tmp_path / f"short{epochs}.checkpoint"
        first = replace(task, checkpoints=Checkpoints(file, 0.0))
        try:
            train_by_replicas(short, stop_after(first, epochs), 2, 1)
        except StoppedError:
            last = replace(task, checkpoints=Checkpoints(file, 1e9, resume=True))
            assert_same(train_by_replicas(short, last, 1, 1), whole)


def test_a_piece_that_is_begun_again_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    task = replace(task_of(made(), 2), checkpoints=Checkpoints(tmp_path / "run.checkpoint", 0.0))
    board = _Board(tmp_path / "board", 1)
    (piece,) = _pieces(METHOD, task, [[0, 1]], board.file)
    first = piece.train()
    assert (tmp_path / "run.checkpoint-1of1").exists()
    assert np.array_equal(piece.train().scores, first.scores)


class Failing(GCN):
    """A network whose second half of replicas cannot be trained."""

    error: Any = None

    def run(self, task: Task) -> Outcome:
        if 2 in task.seeds:
            raise self.error
        return super().run(task)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize(
    ("error", "expected", "message"),
    [
        (DivergedError("all replicas diverged."), DivergedError, r"^all replicas diverged.$"),
        (
            BrokenExecutor(),
            UnavailableError,
            r"^piece 2 of 2 of the replicas could not be trained: 3 workers died .* memory\?$",
        ),
        (ImportError("no scipy"), UnavailableError, "a worker lacks what is needed: no scipy"),
        (ZeroDivisionError("a mistake"), ZeroDivisionError, "a mistake"),
    ],
)
def test_the_failure_of_a_piece_is_that_of_the_training(
    error: Exception, expected: type[Exception], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Failing, "error", error)
    task = task_of(made(), 4)
    with pytest.raises(expected, match=message):
        train_by_replicas(Failing(epochs=2), task, 2, 1)


def test_pieces_are_spread_over_the_gpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    task = replace(task_of(made(), 3), device="cuda")
    pieces = _pieces(METHOD, task, [[0], [1], [2]], tmp_path)
    assert [piece.task.device for piece in pieces] == ["cuda:0", "cuda:1", "cuda:0"]
    assert [piece.task.seeds for piece in pieces] == [(0,), (1,), (2,)]
    assert [piece.task.splits for piece in pieces] == [(split,) for split in task.splits]


def test_a_board_is_shared_through_its_file(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    ours = _Board(tmp_path / "board", 2)
    theirs = _Board(tmp_path / "board", 2)
    checkpoints = Checkpoints(tmp_path / "run.checkpoint")
    ours.look(lambda *epochs: told.append(epochs), checkpoints)
    assert told == [], "nothing has been done"
    theirs.note(0, 10, 100)
    theirs.note(1, 30, 100)
    ours.look(lambda *epochs: told.append(epochs), checkpoints)
    ours.look(lambda *epochs: told.append(epochs), checkpoints)
    assert told == [(20, 100)], "once"
    theirs.finish(0)
    ours.look(lambda *epochs: told.append(epochs), checkpoints)
    assert told[-1] == (65, 100)
    assert not theirs.is_stopping
    checkpoints.request_stop()
    ours.look(None, checkpoints)
    assert theirs.is_stopping


def test_a_group_that_stopped_early_is_nan_from_there_on() -> None:
    short = np.ones((2, 1), np.float32)
    joined = _join_epochs([short, np.zeros((4, 2), np.float32)])
    assert joined.shape == (4, 3)
    assert joined[:2, 0].tolist() == [1.0, 1.0]
    assert joined[2:, 0].isnan().all()
    assert not joined[:, 1:].isnan().any()
    assert _join_epochs([np.array([3]), np.array([5, 7])]).tolist() == [3, 5, 7]
    nothing = np.empty((0, 1), np.float32)
    assert _join_epochs([nothing, nothing]).shape == (0, 2), "a rule that watches nothing"


def test_an_outcome_survives_its_way(tmp_path: Path) -> None:
    task = task_of(made(), 2)
    outcome = METHOD.run(task)
    checkpoints = Checkpoints(tmp_path / "run.checkpoint")
    checkpoints.seconds_before = 7.0
    received = replace(task, checkpoints=Checkpoints(tmp_path / "run.checkpoint"))
    found = receive_outcome(METHOD, received, [SentOutcome.of(outcome, checkpoints)])
    assert_same(found, outcome)
    assert received.checkpoints is not None
    assert received.checkpoints.seconds_before == 7.0


@pytest.mark.parametrize(
    ("division", "method", "task", "message"),
    [
        (
            Division(2, "replicas"),
            GCN(epochs=2),
            task_of(made(), callbacks=(Callback(),)),
            r"have no epoch in common, .* need the rows to be divided: `divide='rows'` \(--divide",
        ),
        (
            Division(1),
            GCN(epochs=2, batch=8, fanout=(3, 3)),
            task_of(made()),
            "trains on more than the cross-entropy of all training nodes",
        ),
        (
            Division(1),
            AGNN(layers=2, epochs=2, precision="bf16"),
            task_of(made()),
            "states of ranks that divide a graph are float32; --wire shortens them",
        ),
        (Division(1, wire="int8"), GCN(epochs=2), task_of(made()), "`wire` must be one of"),
    ],
    ids=["callbacks", "batches", "bf16", "wire"],
)
def test_what_cannot_be_divided_is_refused(
    division: Division, method: NetworkMethod, task: Task, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        division.run(method, task)


def test_divisions_that_mean_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="`ranks` must be at least 1; got 0"):
        Division(0)
    with pytest.raises(InputError, match="divided by rows or replicas; got 'columns'"):
        Division(2, "columns")  # type: ignore[arg-type]
    assert Division(2, "replicas").identity == {}
    assert Division(2).identity == Division(5).identity == {"divided by": "rows", "wire": "float32"}
