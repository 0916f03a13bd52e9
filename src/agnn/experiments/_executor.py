"""Execution of the runs behind a table: in batches, only what is missing, each stored at once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean
from typing import Final

from agnn.data import SplitSpec, make_splits
from agnn.errors import AgnnError, DivergedError, InputError
from agnn.experiments._claims import Owner, claim, held, holding
from agnn.experiments._pace import Clock, Tell
from agnn.experiments._plan import Work, together
from agnn.experiments._store import Key, Store, StoredRun, StoreWriteError
from agnn.explanation import edge_ranking
from agnn.methods import Method, NetworkMethod, Task, Tuned
from agnn.metrics import replica_values
from agnn.runs import Run, evaluate, find_device

# Replicas that are trained at once on a CPU. More are hardly faster; fewer are lost if it dies.
_MOST, _LEAST, _NODES_AT_ONCE = 25, 10, 75_000
_TUNING_SEEDS: Final = (0, 1, 2)
_RANKED_EDGES: Final = 100  # at either end of the order, as in the paper's Table 6
_POLL: Final = 0.5  # seconds between two looks at the claims of another process


@dataclass(frozen=True)
class Executed:
    """What an execution did."""

    new: int  # runs finished
    elsewhere: int  # runs left to another process
    failures: tuple[str, ...] = ()  # each the label of a work and what went wrong


def execute(
    works: Sequence[Work], store: Store, *, device: str = "auto", backend: str = "auto",
    tell: Tell = lambda _: None,
) -> Executed:  # fmt: skip
    """Run what is missing of `works` and store each batch when it is finished.

    An error in one work leaves the others to be done. Another process on the same store does
    other runs; what it has begun is left to it, unless it has died.
    """
    works = together(works)
    missing = {work.key: store.missing(work.key, work.seeds) for work in works}
    clock = Clock(tell, [(work, len(missing[work.key])) for work in works])
    execution = _Execution(store, device, backend, clock)
    with holding(store):
        for work in works:
            execution.attempt(work, missing[work.key])
        left = [(work, execution.open_seeds(work, missing[work.key])) for work in works]
        execution.take_over([(work, seeds) for work, seeds in left if seeds])
    elsewhere = sum(len(execution.open_seeds(work, missing[work.key])) for work in works)
    return Executed(execution.new, elsewhere, tuple(execution.failures.values()))


@dataclass
class _Execution:
    """The works of one call, batch by batch."""

    store: Store
    device: str
    backend: str
    clock: Clock
    new: int = 0
    failures: dict[Key, str] = field(default_factory=dict)

    def open_seeds(self, work: Work, seeds: Sequence[int]) -> tuple[int, ...]:
        """Those of `seeds` that are not finished; none of a work that has failed."""
        return () if work.key in self.failures else self.store.missing(work.key, seeds)

    def attempt(self, work: Work, seeds: Sequence[int]) -> None:
        """Run the seeds that nobody else holds; an error of the work is kept."""
        try:
            self._run(work, seeds)
        except StoreWriteError:  # it would meet every other work too
            raise
        except AgnnError as error:
            self.failures[work.key] = f"{work.label}: {error}"
            self.clock.drop(work)

    def _run(self, work: Work, seeds: Sequence[int]) -> None:
        if not seeds:
            return
        self.clock.tell_part(work, 0, 0.0)
        method, chosen = settled(work, self.device, self.backend)
        size = _batch_size(work, method, find_device(self.device))
        for start in range(0, len(seeds), size):
            batch = seeds[start : start + size]
            ours = claim(self.store, work.key, batch)
            if ours:
                run = evaluate(
                    method, work.data, work.split, ours, device=self.device, backend=self.backend,
                    progress=partial(_tell_epoch, self.clock, work, len(ours)),
                )  # fmt: skip
                runs = list(_stored_runs(work, run, ours, chosen))
                self.new += self.store.add(work.spec, runs)
                lost = sorted(set(ours) - {each.seed for each in runs})
                if lost:
                    words = ", ".join(map(str, lost))
                    raise DivergedError(f"training diverged without usable weights, seeds {words}.")
            self.clock.pass_over(work, len(batch) - len(self.store.missing(work.key, batch)))

    def take_over(self, left: list[tuple[Work, tuple[int, ...]]]) -> None:
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
                    self.attempt(work, open_seeds)
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
                self.clock.tell_waiting(sum(len(seeds) for _, seeds in left))
                time.sleep(_POLL)


def _tell_epoch(clock: Clock, work: Work, count: int, done: int, total: int) -> None:
    clock.tell_part(work, count, done / total)


def _batch_size(work: Work, method: Method, device: str) -> int:
    """Runs at once. A replica comes out the same whatever it is trained with."""
    if device != "cpu" and method.fills_a_gpu:
        return len(work.seeds)
    if not isinstance(method, NetworkMethod):
        return 1
    replicas = max(_LEAST, min(_MOST, _NODES_AT_ONCE // work.data.nodes))
    return max(1, replicas // _folds(work))


def _folds(work: Work) -> int:
    return SplitSpec.parse(work.split).folds


def _stored_runs(
    work: Work, run: Run, seeds: Sequence[int], chosen: Method | None
) -> Iterator[StoredRun]:
    """The runs of a batch, each with its folds where it has some, but those without usable weights.

    A run that lacks a fold is left out too: it would not be comparable.
    """
    folds = len(run.seeds) // len(seeds)
    own_choices = run.chosen  # where every split makes its own, one per replica
    measures, epochs, betas = measured(work.measure, run), run.selected_epochs, run.betas
    accuracies = replica_values("accuracy", run.scores, run.data, run.splits)
    for k, seed in enumerate(seeds):
        own = slice(k * folds, (k + 1) * folds)
        if run.unusable[own].any():
            continue
        extra: dict[str, object] = dict(measures[k * folds])
        if chosen is not None:
            extra["chosen"] = {name: getattr(chosen, name) for name in chosen.grid}
        elif own_choices is not None:
            choices = [dict(each) for each in own_choices[own]]
            extra["chosen"] = choices[0] if folds == 1 else choices
        yield StoredRun(
            spec=work.key.spec, data=work.key.data, seed=seed, experiment=work.experiment,
            method=work.method.name, dataset=work.data.name, split=work.split,
            accuracy=fmean(accuracies[own]),
            selected_epochs=None if epochs is None else epochs[own],
            betas=None if betas is None else [rounded(each) for each in betas[own]],
            extra=extra, versions=dict(run.versions), device=run.device,
            backend=run.backend, seconds=run.seconds / len(seeds), machine=dict(run.machine),
        )  # fmt: skip


def rounded(betas: Sequence[float]) -> list[float]:
    """Six digits: about what a float32 holds, without the tail that a float64 shows of it."""
    return [float(f"{beta:.6g}") for beta in betas]


def settled(work: Work, device: str, backend: str) -> tuple[Method, Method | None]:
    """What to run, and the candidate that was chosen for all runs of the work, if there is one.

    Where all seeds share a split, the choice is made by the first seeds whatever the batch: a
    tuned method left to itself would choose by the seeds that it is given. Where every seed has
    its own split, each makes its own choice.
    """
    if not isinstance(work.method, Tuned):
        return work.method, None
    seeds = work.seeds if len(work.seeds) == 1 else _TUNING_SEEDS
    splits = make_splits(work.data, work.split, seeds)
    if len({id(split) for split in splits}) > 1 or len(splits) != len(seeds):
        return work.method, None
    chosen = work.method.choose(Task(work.data, splits, seeds, find_device(device), backend))
    return chosen, chosen


def measured(measure: str | None, run: Run) -> list[dict[str, float]]:
    """What `measure` says of each replica; nothing where it is None."""
    if measure is None:
        return [{} for _ in run.seeds]
    if run.diverged.any():
        raise DivergedError(f"training diverged, so '{measure}' cannot be measured.")
    if measure == "edge_ranking":
        return _edge_ranking(run)
    raise InputError(f"unknown measure '{measure}'; known: edge_ranking.")


def _edge_ranking(run: Run) -> list[dict[str, float]]:
    """Shares of edges within a class among the last layer's most and least relevant."""
    last = edge_ranking(run, _RANKED_EDGES)[-1]
    if last.top is None or last.bottom is None:
        raise InputError("the last layer attends evenly, so its edges have no order.")
    pairs = zip(last.top.values, last.bottom.values, strict=True)
    return [{"top_within": top, "bottom_within": bottom} for top, bottom in pairs]
