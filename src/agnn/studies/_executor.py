"""Execution of the runs behind a table: in batches, only what is missing, each stored at once."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from agnn.data import NodeData, SplitSpec, make_splits
from agnn.errors import AgnnError, DivergedError
from agnn.executors import Shared, map_as_completed, open_executor
from agnn.methods import Method, NetworkMethod, SplitMethod
from agnn.runs import find_device
from agnn.studies._batches import (
    SETTLED,
    Batch,
    MethodChoice,
    leaves_a_choice,
    make_runs,
    method_choice,
    share_data,
    work_off,
)
from agnn.studies._claims import Owner, claim, held_claims, hold_claims
from agnn.studies._store import Store, StoredRun, StoreWriteError
from agnn.studies._works import Clock, Key, Tell, Work

# Replicas that are trained at once on a CPU: as many as have this many nodes together, within
# bounds. More are hardly faster; fewer are lost if the process dies.
_NODES_AT_ONCE = 75_000
_LEAST = 10
_MOST = 25
_POLL: Final = 0.5  # seconds between two looks at the claims of another process

Part = tuple[Work, Sequence[int]]  # a work and those of its seeds that are missing


class _OutOfTimeError(Exception):
    """The deadline has passed."""


@dataclass(frozen=True)
class Executed:
    """What an execution did."""

    new: int  # runs finished
    elsewhere: int  # runs left to another process
    failures: Mapping[Key, str] = field(default_factory=dict)  # what went wrong with a work


def execute(
    works: Sequence[Work],
    store: Store,
    *,
    device: str = "auto",
    backend: str = "auto",
    tell: Tell = lambda _: None,
    executor: str | Executor | None = None,
    threads: int | None = None,
    deadline: float | None = None,
) -> Executed:
    """Run what is missing of `works`, which have different keys, and store each finished batch.

    An error in one work leaves the others to be done. Another process on the same store does
    other runs; what it has begun is left to it, unless it has died. With an `executor` (see
    `agnn.executors.open_executor`) its workers make the runs, and this process stores them.
    At the `deadline`, in `time.monotonic`'s seconds, it stops: a network that is being trained
    here is given up, any other batch is finished, and no other is begun.
    """
    missing = {work.key: store.missing(work.key, work.seeds) for work in works}
    clock = Clock(tell, [(work, len(missing[work.key])) for work in works])
    if not any(missing.values()):
        executor = None  # so that a finished table needs no workers
    with open_executor(executor, threads) as workers, hold_claims(store):
        execution = _Execution(store, device, backend, clock, workers, deadline)
        with suppress(_OutOfTimeError):
            execution.attempt([(work, missing[work.key]) for work in works])
            unfinished = [(work, execution.open_seeds(work, missing[work.key])) for work in works]
            execution.take_over([(work, seeds) for work, seeds in unfinished if seeds])
    elsewhere = sum(len(execution.open_seeds(work, missing[work.key])) for work in works)
    return Executed(execution.new, elsewhere, execution.failures)


@dataclass
class _Execution:
    """The works of one call, batch by batch."""

    store: Store
    device: str
    backend: str
    clock: Clock
    workers: Executor | None = None
    deadline: float | None = None
    new: int = 0
    failures: dict[Key, str] = field(default_factory=dict)
    shared: dict[str, Shared[NodeData]] = field(default_factory=dict)

    def open_seeds(self, work: Work, seeds: Sequence[int]) -> tuple[int, ...]:
        """Return those of `seeds` that are not finished; none of a work that has failed."""
        return () if work.key in self.failures else self.store.missing(work.key, seeds)

    def attempt(self, parts: Sequence[Part]) -> None:
        """Run the seeds that nobody else holds; an error of a work is kept."""
        parts = [(work, seeds) for work, seeds in parts if seeds]
        if self.workers is not None:
            self._spread(parts, self.workers)
            return
        for work, seeds in parts:
            try:
                self._run(work, seeds)
            except StoreWriteError:  # it would meet every other work too
                raise
            except AgnnError as error:
                self._fail(work, error)

    def _fail(self, work: Work, error: AgnnError) -> None:
        if work.key not in self.failures:
            self.failures[work.key] = str(error)
            self.clock.drop(work)

    def _run(self, work: Work, seeds: Sequence[int]) -> None:
        self.clock.tell_part(work, 0, 0.0)
        choice = self._known_choice(work) or method_choice(
            self._whole(work, seeds), partial(self._tell_epoch, work, 0)
        )
        for batch in self._batches(work, seeds, choice):
            self._check_time()
            claimed = claim(self.store, work.key, batch.seeds)
            if claimed:
                tell = partial(self._tell_epoch, work, len(claimed))
                self._keep(work, claimed, make_runs(replace(batch, seeds=claimed), tell))
            self._pass_over(batch)

    def _spread(self, parts: Sequence[Part], workers: Executor) -> None:
        """Do the same on workers: choices, then batches, each claimed when a worker takes it."""
        waiting: deque[Batch] = deque()
        for work, seeds in parts:
            whole_batch = self._whole(work, seeds)
            choice = self._known_choice(work)
            if choice is None and not leaves_a_choice(work.method):
                choice = MethodChoice(work.method)
            waiting += [whole_batch] if choice is None else self._batches(work, seeds, choice)
        for batch, answer in map_as_completed(workers, work_off, waiting, self._claim_rest):
            if isinstance(answer, AgnnError):
                self._fail(batch.work, answer)
            elif isinstance(answer, MethodChoice):
                waiting.extend(self._batches(batch.work, batch.seeds, answer))
            else:
                try:
                    self._keep(batch.work, batch.seeds, answer)
                except DivergedError as error:
                    self._fail(batch.work, error)
                self._pass_over(batch)

    def _claim_rest(self, batch: Batch) -> Batch | None:
        """Claim and return what is left of a batch; None if others do it or its work has failed."""
        if self._is_late():
            return None
        if batch.choice is None:
            return batch
        if batch.work.key in self.failures:
            return None
        claimed = claim(self.store, batch.work.key, batch.seeds)
        self._pass_over(batch)
        return replace(batch, seeds=claimed) if claimed else None

    def _known_choice(self, work: Work) -> MethodChoice | None:
        """Return the choice that finished runs of this work were made with, if there is one."""
        for run in self.store.runs(work.key)[:1]:
            if SETTLED in run.extra:
                method = type(work.method).from_settings(run.extra[SETTLED])
                return MethodChoice(method, method)
        return None

    def _is_late(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    def _check_time(self) -> None:
        if self._is_late():
            raise _OutOfTimeError

    def _tell_epoch(self, work: Work, count: int, done: int, total: int) -> None:
        self._check_time()
        self.clock.tell_part(work, count, done / total)

    def _whole(self, work: Work, seeds: Sequence[int]) -> Batch:
        """Return a batch of all these seeds, before anything is chosen."""
        data = self.shared.setdefault(work.key.data, share_data(work.data))
        return Batch(work, data, self.device, self.backend, tuple(seeds))

    def _batches(self, work: Work, seeds: Sequence[int], choice: MethodChoice) -> list[Batch]:
        size = _batch_size(work, choice.method, find_device(self.device))
        whole_batch = replace(self._whole(work, seeds), choice=choice)
        return [
            replace(whole_batch, seeds=tuple(seeds[start : start + size]))
            for start in range(0, len(seeds), size)
        ]

    def _keep(self, work: Work, seeds: Sequence[int], runs: Sequence[StoredRun]) -> None:
        self.new += self.store.add(work.spec, runs)
        diverged = sorted(set(seeds) - {run.seed for run in runs})
        if diverged:
            listed = ", ".join(map(str, diverged))
            raise DivergedError(f"training diverged without usable weights, seeds {listed}.")

    def _pass_over(self, batch: Batch) -> None:
        """Report the runs of a batch that are in the store; nothing of a work that has failed."""
        if batch.work.key not in self.failures:
            missing = self.store.missing(batch.work.key, batch.seeds)
            self.clock.pass_over(batch.work, len(batch.seeds) - len(missing))

    def take_over(self, unfinished: Sequence[Part]) -> None:
        """Wait for the runs of other processes, and run those whose owner turns out to be dead.

        A dead owner's claims expire; a living one shows itself by its heartbeats. A run that it
        still holds after the second is left to it.
        """
        beats: dict[tuple[Key, int, Owner], set[float]] = {}
        while unfinished:
            still = []
            for work, seeds in unfinished:
                open_seeds = self.open_seeds(work, seeds)
                if len(open_seeds) < len(seeds):
                    self.clock.pass_over(work, len(seeds) - len(open_seeds))
                if open_seeds and claim(self.store, work.key, open_seeds):
                    self.attempt([(work, open_seeds)])
                    open_seeds = self.open_seeds(work, open_seeds)
                if open_seeds:
                    still.append((work, open_seeds))
            unfinished = still
            epoch_times = []
            for work, seeds in unfinished:
                for held in held_claims(self.store, work.key):
                    if held.seed in seeds:
                        times = beats.setdefault((work.key, held.seed, held.owner), set())
                        times.add(held.since)
                        epoch_times.append(times)
            # The first time may be that of the claim itself: two more are two heartbeats.
            if epoch_times and all(len(times) > 2 for times in epoch_times):
                return
            if unfinished:
                self._check_time()
                self.clock.tell_waiting(sum(len(seeds) for _, seeds in unfinished))
                time.sleep(_POLL)


def _batch_size(work: Work, method: Method, device: str) -> int:
    """Return how many runs to train at once; a replica is the same whatever it is trained with."""
    if device != "cpu" and method.fills_a_gpu:
        return len(work.seeds)
    if isinstance(method, SplitMethod):
        # Replicas with the same split have the same scores, which are then computed once.
        is_shared = len(set(make_splits(work.data, work.split, work.seeds[:2]))) == 1
        return len(work.seeds) if is_shared else 1
    if not isinstance(method, NetworkMethod):
        return 1
    replicas = max(_LEAST, min(_MOST, _NODES_AT_ONCE // work.data.nodes))
    return max(1, replicas // SplitSpec.parse(work.split).folds)
