"""Replicas divided among processes: each trains some of them on the whole graph."""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from agnn.distributed._outcome import SentOutcome, receive_outcome
from agnn.distributed._processes import resume_hint
from agnn.errors import AgnnError, InputError, StoppedError, UnavailableError
from agnn.executors import LocalProcesses, map_as_completed
from agnn.methods import NetworkMethod, Outcome, Task
from agnn.training import Checkpoints, Progress


def train_by_replicas(method: NetworkMethod, task: Task, processes: int, threads: int) -> Outcome:
    """Train the replicas in pieces, in processes of this machine.

    There are as many pieces as processes; those of a training that is continued stay as they were,
    and a process may have several. The piece of a process that was killed is continued by another.
    """
    checkpoints = task.checkpoints
    count = _stored_piece_count(checkpoints) or processes
    groups = [
        group.tolist() for group in np.array_split(np.arange(len(task.seeds)), count) if group.size
    ]
    answers: dict[int, SentOutcome] = {}
    stopped: StoppedError | None = None
    with (
        tempfile.TemporaryDirectory(prefix="agnn-replicas-") as folder,
        LocalProcesses(min(processes, len(groups)), threads) as workers,
    ):
        board = _Board(Path(folder) / "board", len(groups))
        pieces = deque(_pieces(method, task, groups, board.file))
        for piece, answer in map_as_completed(
            workers,
            _Piece.train,
            pieces,
            ready=lambda piece: None if board.is_stopping else piece,
            look=lambda: board.look(task.progress, checkpoints),
        ):
            if isinstance(answer, StoppedError):  # the others write their checkpoints meanwhile
                stopped = answer
            elif isinstance(answer, AgnnError):
                raise _failure(answer, piece, checkpoints)
            else:
                answers[piece.number] = answer
        if stopped is not None:
            raise stopped
    return receive_outcome(method, task, [answers[number] for number in range(len(groups))])


@dataclass(frozen=True, eq=False)
class _Piece:
    """Some replicas, trained by one process."""

    number: int
    pieces: int
    method: NetworkMethod
    task: Task
    board: Path

    def train(self) -> SentOutcome:
        """Train the piece, from its checkpoint where there is one."""
        board = _Board(self.board, self.pieces)
        checkpoints = self.task.checkpoints
        if checkpoints is not None:
            checkpoints.resume = checkpoints.file.exists()

        def progress(done: int, total: int) -> None:
            board.note(self.number, done, total)
            if board.is_stopping and checkpoints is not None:
                checkpoints.request_stop()

        outcome = self.method.run(replace(self.task, progress=progress))
        board.finish(self.number)
        return SentOutcome.of(outcome, checkpoints)


class _Board:
    """What a training and its pieces tell each other, in a file that all of them map.

    Epochs done by each piece, epochs in all, and whether to stop. The workers of an executor share
    nothing else with the process that asked.
    """

    def __init__(self, file: Path, pieces: int) -> None:
        mode: Any = "r+" if file.exists() else "w+"
        self.file = file
        self._values = np.memmap(file, np.int64, mode, shape=(pieces + 2,))
        self._done = self._values[2:]
        self._shown = 0

    @property
    def is_stopping(self) -> bool:
        """Whether all pieces are asked to stop."""
        return bool(self._values[0])

    def note(self, piece: int, done: int, total: int) -> None:
        """Note the epochs of a piece."""
        self._values[1] = total
        self._done[piece] = done

    def finish(self, piece: int) -> None:
        """Note that a piece is done, perhaps before its last epoch."""
        self._done[piece] = self._values[1]

    def look(self, progress: Progress | None, checkpoints: Checkpoints | None) -> None:
        """Report the mean of the epochs done; pass on a request to stop."""
        total = int(self._values[1])
        done = int(self._done.mean())
        if done != self._shown:
            self._shown = done
            if checkpoints is not None:
                checkpoints.note_pace(done, total)
            if progress is not None:
                progress(done, total)
        if checkpoints is not None and checkpoints.is_asked_to_stop:
            self._values[0] = 1


def _pieces(
    method: NetworkMethod, task: Task, groups: Sequence[Sequence[int]], board: Path
) -> list[_Piece]:
    """Return the replicas of each group with what they are trained on."""
    weights = task.class_weights
    pieces = []
    for number, replicas in enumerate(groups):
        device = task.device
        if device.startswith("cuda"):
            device = f"cuda:{number % max(torch.cuda.device_count(), 1)}"
        checkpoints = task.checkpoints
        piece = replace(
            task,
            splits=tuple(task.splits[r] for r in replicas),
            seeds=tuple(task.seeds[r] for r in replicas),
            class_weights=None if weights is None else weights[list(replicas)],
            device=device,
            progress=None,
            checkpoints=checkpoints and checkpoints.for_piece(number + 1, len(groups)),
        )
        pieces.append(_Piece(number, len(groups), method, piece, board))
    return pieces


def _stored_piece_count(checkpoints: Checkpoints | None) -> int | None:
    """Return in how many pieces the replicas of a training are that is to be continued.

    Raises unless there are checkpoints to continue, or none that would be lost.
    """
    if checkpoints is None:
        return None
    stored = checkpoints.stored_pieces()
    first = stored[0] if stored else checkpoints.file
    Checkpoints(first, resume=checkpoints.resume).check()
    counts = {int(file.name.rpartition("of")[2]) for file in stored}
    if len(counts) > 1:
        raise InputError(
            f"'{first.parent}' has checkpoints of a training in {min(counts)} pieces and of one in "
            f"{max(counts)}; delete those that are not to be continued "
            f"('{checkpoints.file.name}-*')."
        )
    return min(counts, default=None)


def _failure(error: AgnnError, piece: _Piece, checkpoints: Checkpoints | None) -> AgnnError:
    """Return the error of a piece; where its processes were killed, with what is left of it."""
    if not isinstance(error, UnavailableError):
        return error
    name = f"piece {piece.number + 1} of {piece.pieces} of the replicas"
    return UnavailableError(f"{name} could not be trained: {error}{resume_hint(checkpoints)}")
