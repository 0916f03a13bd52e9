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
from agnn.distributed import Shared, finished, open_executor
from agnn.errors import AgnnError, DivergedError
from agnn.experiments._batches import (
    SETTLED,
    Batch,
    choose,
    leaves_a_choice,
    make,
    shared_data,
    work_off,
)
from agnn.experiments._claims import Owner, claim, held, holding
from agnn.experiments._pace import Clock, Tell
from agnn.experiments._plan import Work, together
from agnn.experiments._store import Key, Store, StoredRun, StoreWriteError
from agnn.methods import Method, NetworkMethod, SplitMethod
from agnn.runs import find_device

# Replicas that are trained at once on a CPU. More are hardly faster; fewer are lost if it dies.
_MOST, _LEAST, _NODES_AT_ONCE = 25, 10, 75_000
_POLL: Final = 0.5  # seconds between two looks at the claims of another process

Part = tuple[Work, Sequence[int]]  # a work and those of its seeds that are missing


class _OutOfTimeError(Exception):
    """The deadline has passed."""


@dataclass(frozen=True)
class Executed:
    """What an execution did."""

    new: int  # runs finished
    elsewhere: int  # runs left to another process
    failures: Mapping[Key, str] = field(default_factory=dict)  # the label, and what went wrong


def execute(
    works: Sequence[Work], store: Store, *, device: str = "auto", backend: str = "auto",
    tell: Tell = lambda _: None, executor: str | Executor | None = None, threads: int | None = None,
    deadline: float | None = None,
) -> Executed:  # fmt: skip
    """Run what is missing of `works` and store each batch when it is finished.

    An error in one work leaves the others to be done. Another process on the same store does
    other runs; what it has begun is left to it, unless it has died. With an `executor` (see
    `agnn.distributed.open_executor`) its workers make the runs, and this process stores them.
    At the `deadline`, in `time.monotonic`'s seconds, it stops: a network that is being trained
    here is given up, any other batch is finished, and no other is begun.
    """
    works = together(works)
    missing = {work.key: store.missing(work.key, work.seeds) for work in works}
    clock = Clock(tell, [(work, len(missing[work.key])) for work in works])
    if not any(missing.values()):
        executor = None  # so that a finished table needs no workers
    with open_executor(executor, threads) as workers, holding(store):
        execution = _Execution(store, device, backend, clock, workers, deadline)
        with suppress(_OutOfTimeError):
            execution.attempt([(work, missing[work.key]) for work in works])
            left = [(work, execution.open_seeds(work, missing[work.key])) for work in works]
            execution.take_over([(work, seeds) for work, seeds in left if seeds])
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
        """Those of `seeds` that are not finished; none of a work that has failed."""
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
            self.failures[work.key] = f"{work.label}: {error}"
            self.clock.drop(work)

    def _run(self, work: Work, seeds: Sequence[int]) -> None:
        self.clock.tell_part(work, 0, 0.0)
        chosen = self._known_choice(work) or choose(
            self._whole(work, seeds), partial(self._tell_epoch, work, 0)
        )
        for batch in self._batches(work, seeds, chosen):
            self._check_time()
            ours = claim(self.store, work.key, batch.seeds)
            if ours:
                tell = partial(self._tell_epoch, work, len(ours))
                self._keep(work, ours, make(replace(batch, seeds=ours), tell))
            self._pass_over(batch)

    def _spread(self, parts: Sequence[Part], workers: Executor) -> None:
        """The same on workers: choices first, then batches, each claimed when a worker takes it."""
        waiting: deque[Batch] = deque()
        for work, seeds in parts:
            whole = self._whole(work, seeds)
            known = self._known_choice(work)
            if known is None and not leaves_a_choice(work.method):
                known = (work.method, None)
            waiting += [whole] if known is None else self._batches(work, seeds, known)
        for batch, answer in finished(workers, work_off, waiting, self._claimed):
            if isinstance(answer, AgnnError):
                self._fail(batch.work, answer)
            elif isinstance(answer, tuple):
                waiting.extend(self._batches(batch.work, batch.seeds, answer))
            else:
                try:
                    self._keep(batch.work, batch.seeds, answer)
                except DivergedError as error:
                    self._fail(batch.work, error)
                self._pass_over(batch)

    def _claimed(self, batch: Batch) -> Batch | None:
        """What is left to do of a batch, claimed; None if others do it or its work has failed."""
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return None
        if batch.settled is None or batch.work.key in self.failures:
            return batch if batch.settled is None else None
        ours = claim(self.store, batch.work.key, batch.seeds)
        self._pass_over(batch)
        return replace(batch, seeds=ours) if ours else None

    def _known_choice(self, work: Work) -> tuple[Method, Method | None] | None:
        """The choice that finished runs of this work were made with; None if there is none."""
        for run in self.store.runs(work.key)[:1]:
            if SETTLED in run.extra:
                method = type(work.method).from_settings(run.extra[SETTLED])
                return method, method
        return None

    def _check_time(self) -> None:
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise _OutOfTimeError

    def _tell_epoch(self, work: Work, count: int, done: int, total: int) -> None:
        self._check_time()
        self.clock.tell_part(work, count, done / total)

    def _whole(self, work: Work, seeds: Sequence[int]) -> Batch:
        """All of these seeds, before anything is chosen."""
        data = self.shared.setdefault(work.key.data, shared_data(work.data))
        return Batch(work, data, self.device, self.backend, tuple(seeds))

    def _batches(
        self, work: Work, seeds: Sequence[int], settled: tuple[Method, Method | None]
    ) -> list[Batch]:
        size = _batch_size(work, settled[0], find_device(self.device))
        whole = replace(self._whole(work, seeds), settled=settled)
        return [
            replace(whole, seeds=tuple(seeds[start : start + size]))
            for start in range(0, len(seeds), size)
        ]

    def _keep(self, work: Work, seeds: Sequence[int], runs: Sequence[StoredRun]) -> None:
        self.new += self.store.add(work.spec, runs)
        lost = sorted(set(seeds) - {each.seed for each in runs})
        if lost:
            words = ", ".join(map(str, lost))
            raise DivergedError(f"training diverged without usable weights, seeds {words}.")

    def _pass_over(self, batch: Batch) -> None:
        """Report the runs of a batch that are in the store; nothing of a work that has failed."""
        if batch.work.key not in self.failures:
            left = self.store.missing(batch.work.key, batch.seeds)
            self.clock.pass_over(batch.work, len(batch.seeds) - len(left))

    def take_over(self, left: Sequence[Part]) -> None:
        """Wait for the runs of other processes, and run those whose owner turns out to be dead.

        A dead owner's claims expire; a living one shows itself by its heartbeats. A run that it
        still holds after the second is left to it.
        """
        beats: dict[tuple[Key, int, Owner], set[float]] = {}
        while left:
            still = []
            for work, seeds in left:
                open_seeds = self.open_seeds(work, seeds)
                if len(open_seeds) < len(seeds):
                    self.clock.pass_over(work, len(seeds) - len(open_seeds))
                if open_seeds and claim(self.store, work.key, open_seeds):
                    self.attempt([(work, open_seeds)])
                    open_seeds = self.open_seeds(work, open_seeds)
                if open_seeds:
                    still.append((work, open_seeds))
            left, seen = still, []
            for work, seeds in left:
                for each in held(self.store, work.key):
                    if each.seed in seeds:
                        seen.append(beats.setdefault((work.key, each.seed, each.owner), set()))
                        seen[-1].add(each.since)
            if seen and all(len(times) > 2 for times in seen):
                return
            if left:
                self._check_time()
                self.clock.tell_waiting(sum(len(seeds) for _, seeds in left))
                time.sleep(_POLL)


def _batch_size(work: Work, method: Method, device: str) -> int:
    """Runs at once. A replica comes out the same whatever it is trained with."""
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
