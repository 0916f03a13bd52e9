"""One training divided among processes: by the rows of the graph, or by replicas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
import torch

from agnn.distributed._meeting import Meeting
from agnn.distributed._outcome import SentOutcome, receive_outcome
from agnn.distributed._parts import PartsFolder
from agnn.distributed._processes import Parent, run_together, stop_at_sigterm
from agnn.distributed._ranks import Ranks
from agnn.distributed._replicas import train_by_replicas
from agnn.distributed._rows import WIRES, RankCheckpoints, RowsTask, check_divisible, train_rows
from agnn.errors import InputError
from agnn.executors import LaunchedRank, package_versions
from agnn.graph import DenseFeatures, Graph, Part, features_of
from agnn.methods import Method, NetworkMethod, Outcome, Task
from agnn.training import Callback, Progress

_Opener = Callable[[], Part]
# What every rank does with its share of a trained model; the scores to keep are on rank 0.
Finish = Callable[[RowsTask, Part, Ranks, Outcome], torch.Tensor | None]


@dataclass(frozen=True)
class Division:
    """How a training is divided among processes of this machine, or of many.

    By rows all processes train all replicas on one graph: each has some rows, and they exchange
    the states of nodes whose neighbours are elsewhere. The result does not depend on their number.
    By replicas each process trains some replicas on the whole graph, with the same result as one.

    >>> import agnn
    >>> cora = agnn.load_dataset("cora")
    >>> # One process, with the sums of a graph in parts; `ranks` and `divide` make a Division.
    >>> run = agnn.evaluate("gcn", cora, changes={"epochs": 2}, ranks=1, divide="rows")
    >>> run.scores.shape
    torch.Size([1, 2708, 7])
    """

    AXES: ClassVar[tuple[str, ...]] = ("rows", "replicas")
    WIRES: ClassVar[tuple[str, ...]] = tuple(WIRES)

    ranks: int
    axis: str = "rows"
    wire: str = "float32"  # type of the states on their way; "bfloat16" halves the volume
    # The processes exist already, started by torchrun, and this is one of them.
    meeting: Meeting | None = None
    parts: str | None = None  # a folder of parts, in place of a graph in memory
    finish: Finish | None = None  # by rows, in place of collecting the scores of all nodes

    def __post_init__(self) -> None:
        if self.ranks < 1:
            raise InputError(f"`ranks` must be at least 1; got {self.ranks}.")
        if self.axis not in self.AXES:
            raise InputError(f"a training is divided by rows or replicas; got '{self.axis}'.")

    @property
    def identity(self) -> dict[str, Any]:
        """What the bits of a training depend on; not the number of ranks."""
        if self.axis == "replicas":
            return {}
        identity = {"divided by": "rows", "wire": self.wire}
        if self.parts is not None:
            identity["parts"] = PartsFolder(self.parts).manifest.partition
        return identity

    def run(
        self, method: Method, task: Task, identity: Mapping[str, Any] | None = None
    ) -> Outcome | None:
        """Train and score; None on ranks other than 0 of several that exist already.

        Those compare `identity`, all that the bits depend on, before they train.
        """
        task.data.check_features(method.name)
        if self.axis == "replicas":
            return self._run_by_replicas(method, task)
        with nullcontext() if self.meeting is None else self.meeting.telling():
            outcome = self._run_by_rows(method, task, identity or {})
        if outcome is not None and outcome.history is not None:
            outcome.history.check_usable()
        return outcome

    def _run_by_replicas(self, method: Method, task: Task) -> Outcome:
        if not isinstance(method, NetworkMethod):
            raise InputError(f"{method.name} does not train a network, so it has no ranks.")
        if self.parts is not None:
            raise InputError("a folder of parts is divided by rows, not by replicas.")
        if task.callbacks:
            raise InputError(
                "processes that train some replicas each have no epoch in common, so callbacks and "
                "--track need the rows to be divided: `divide='rows'` (--divide rows)."
            )
        return train_by_replicas(method, task, self.ranks, _threads(self.ranks))

    def _run_by_rows(
        self, method: Method, task: Task, identity: Mapping[str, Any]
    ) -> Outcome | None:
        check_divisible(method, is_in_parts=self.parts is not None)
        rows = RowsTask.of(cast(NetworkMethod, method), task, self.wire)
        if self.meeting is not None:
            ranks = Ranks.join(self.meeting, task.device)
            ranks.agree({**package_versions(), "ranks": self.ranks, **identity})
            return self._run_here(rows, task, ranks)
        if self.ranks == 1:
            return self._run_here(rows, task, Ranks(device=task.device))
        return _train_in_processes(rows, task, self)

    def _run_here(self, rows: RowsTask, task: Task, ranks: Ranks) -> Outcome | None:
        """Train in this process, which may be one of several of torchrun."""
        source = self._sources(rows.method, task)[ranks.rank]
        shared = task.checkpoints
        checkpoints = None if shared is None else RankCheckpoints(ranks, shared)
        share = _Share(rows, self.finish, tuple(task.callbacks))
        outcome = share.train(source, ranks, task.progress, checkpoints)
        if shared is not None and checkpoints is not None:
            shared.seconds_before = checkpoints.seconds_before
        return outcome

    def _sources(self, method: NetworkMethod, task: Task) -> Sequence[Part | _Opener]:
        """Return every rank's part of a graph in memory, or what opens it on disk."""
        if self.parts is None:
            return parts_of(method, task, self.ranks)
        folder = PartsFolder(self.parts)
        folder.groups(self.ranks)  # refuses too many before any process is started
        return [
            partial(folder.part, rank, self.ranks, method.scaling) for rank in range(self.ranks)
        ]


def parts_of(method: NetworkMethod, task: Task, ranks: int) -> list[Part]:
    """Return the parts of a graph in memory, with the features as the method scales them."""
    data = task.data
    graph = Graph.of(data)
    bounds = Part.rank_bounds(graph.nodes, ranks, graph.offsets.numpy())
    matrix: Any = method.features(data)
    # Dense or sparse by the whole, so that no rank decides otherwise.
    features = features_of(matrix)
    x = features.values.numpy() if isinstance(features, DenseFeatures) else matrix.tocsr()
    return [Part.cut(graph, bounds, rank, x, data.labels) for rank in range(ranks)]


@dataclass(frozen=True, eq=False)
class _Share:
    """What every rank does with its part."""

    rows: RowsTask
    finish: Finish | None
    callbacks: tuple[Callback, ...] = ()  # those of rank 0 are called

    def train(
        self,
        source: Part | _Opener,
        ranks: Ranks,
        progress: Progress | None,
        checkpoints: RankCheckpoints | None,
    ) -> Outcome | None:
        """Train one rank's share of the rows; the whole outcome is on rank 0."""
        part = source if isinstance(source, Part) else source()
        progress = progress if ranks.rank == 0 else None
        trained = train_rows(self.rows, part, ranks, progress, checkpoints, self.callbacks)
        scores = (self.finish or _collect_scores)(self.rows, part, ranks, trained)
        ranks.leave()
        return None if scores is None else Outcome(scores, trained.model, trained.history)


def _collect_scores(
    rows: RowsTask, part: Part, ranks: Ranks, trained: Outcome
) -> torch.Tensor | None:
    """Return the scores of all nodes on rank 0; [R, n, c]."""
    del rows
    sizes = np.diff(part.bounds).tolist()
    scores = ranks.to_first(trained.scores.transpose(0, 1), sizes)
    return None if scores is None else scores.transpose(0, 1).contiguous()


def _train_in_processes(rows: RowsTask, task: Task, division: Division) -> Outcome:
    """Train in new processes, each with its part; this one only waits."""
    checkpoints = task.checkpoints
    if checkpoints is not None:
        checkpoints.check()
    sources = division._sources(rows.method, task)
    share = _Share(rows, division.finish)
    sent: SentOutcome = run_together(
        _train_in_child,
        [(share, source, task.device, checkpoints) for source in sources],
        threads=_threads(division.ranks),
        progress=task.progress,
        checkpoints=checkpoints,
        callbacks=task.callbacks,
    )
    return receive_outcome(rows.method, task, [sent])


def _train_in_child(launched: LaunchedRank, payload: Any, parent: Parent) -> SentOutcome | None:
    share, source, device, shared = payload
    meeting = Meeting.attend(launched)
    with meeting.telling():
        ranks = Ranks.join(meeting, device)
        checkpoints = None
        if shared is not None:
            checkpoints = RankCheckpoints(ranks, shared)
            stop_at_sigterm(checkpoints)
        share = replace(share, callbacks=(parent,) if parent.has_callbacks else ())
        outcome = share.train(source, ranks, parent, checkpoints)
        return None if outcome is None else SentOutcome.of(outcome, checkpoints)


def _threads(processes: int) -> int:
    """Return the threads that each of several processes computes with."""
    return max(1, torch.get_num_threads() // processes)
