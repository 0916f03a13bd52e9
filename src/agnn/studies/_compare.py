"""compare: train many methods on the same splits, within a time if one is given."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from agnn.choosing import Search
from agnn.data import NodeData, Split, SplitSpec
from agnn.errors import AgnnError, InputError
from agnn.methods import get_method
from agnn.metrics import check_metric
from agnn.options import seconds_of
from agnn.runs import Training, find_device, prepare, replica_seeds
from agnn.studies._batches import ALL_MEASURES
from agnn.studies._executor import Executed, execute
from agnn.studies._leaderboard import Entry, Leaderboard, order_entries
from agnn.studies._store import Store, StoredRun
from agnn.studies._works import Progress, Tell, Work

PORTFOLIO: Final = (
    "majority",
    "label_propagation",
    "ridge",
    "agnn",
    "agnn_plus",
    "sgc",
    "gcn",
    "multilayer_perceptron",
    "graphsage",
    "appnp",
    "gat",
    "boosting",
    "separated",
)
"""The methods that are compared by default: baselines, the package's own, then the others."""

_EXPERIMENT: Final = "compare"  # that runs are stored for
_REPLICAS: Final = 10
_FOLDS: Final = 5  # of cross-fitting: the order of methods needs fewer than their accuracy
_MOST_REPLICAS: Final = 100  # in a given time, if their number is not
_AFFORDABLE: Final = 10  # replicas that AGNN+ is judged by: the same for every round
_KEPT_BACK: Final = 0.02  # of the time, for figures and files
_SHARES: Final = 3  # a first replica takes this part of the time left at most
_SEARCHING: Final = 0.5  # of the time, at most, if settings are searched


def compare(
    data: NodeData,
    methods: Sequence[str] | None = None,
    *,
    split: str | Split | None = None,
    replicas: int | None = None,
    seed: int = 0,
    time_limit: str | float | None = None,
    metric: str = "accuracy",
    search: int = 0,
    store: Path | str | Store | None = None,
    device: str = "auto",
    backend: str = "auto",
    executor: str | Executor | None = None,
    threads: int | None = None,
    progress: Tell | None = None,
) -> Leaderboard:
    """Train methods on the same splits and compare them on the same test nodes.

    Args:
        data: the graph, its features and labels.
        methods: names of methods; None: a portfolio from the most frequent class to AGNN+.
        split: as in `agnn.evaluate`.
        replicas: of each method; None: 10, or as many as the time allows, up to 100.
        seed: the first of their seeds.
        time_limit: seconds, or a text such as "10m". One replica of each method, baselines and the
            package's own first, each in a third of the time left at most; then more of all.
        metric: by which epochs and settings are chosen and methods are ordered; "accuracy" leaves
            the epoch to each method's own rule.
        search: settings per method that are tried on validation nodes first; 0: defaults.
        store: a file for finished runs, which are not repeated; None: kept in memory.
        device: "auto", "cpu" or "cuda".
        backend: "auto" or a backend of the kernels.
        executor: workers that train; see `agnn.executors.open_executor`.
        threads: of each worker.
        progress: called with the progress so far.

    Methods learn from training nodes, choose epochs and settings on validation nodes, and are
    ordered by test nodes. To choose one without reading test nodes see `Leaderboard.chosen`.
    """
    start = time.monotonic()
    limit = None if time_limit is None else seconds_of(time_limit, "`time_limit`")
    check_metric(metric)
    data.check_learnable()
    if isinstance(split, Split):
        data = data.with_split(split)
        split = split.name
    if search < 0:
        raise InputError(f"`search` must not be negative; got {search}.")
    spec = SplitSpec.of(split, data, _FOLDS)
    seeds = replica_seeds(seed, _most_replicas(replicas, limit))
    if spec.is_cross_fitted:  # a seed is a pass of a replica per fold
        seeds = seeds[: math.ceil(len(seeds) / spec.folds)]
    # Every method keeps its own rule for the epoch where accuracy is what counts.
    chosen_by = None if metric == "accuracy" else metric
    names = PORTFOLIO if methods is None else _check_names(methods)
    device_name = find_device(device)
    prepared = [
        prepare(name, data, spec.text).reduced(data, _AFFORDABLE, device_name) for name in names
    ]
    Training(
        data=data,
        method=prepared[0],
        split=spec.text,
        seeds=seeds[:_REPLICAS],
        device=device,
        backend=backend,
        metric=metric,
    ).plan()  # refuses what no method could be trained on
    works = [
        Work(
            experiment=_EXPERIMENT,
            title=method.title,
            method=method,
            data=data,
            split=spec.text,
            measure=ALL_MEASURES,
            seeds=seeds,
            metric=chosen_by,
        )
        for method in prepared
    ]
    with Store.of(store) as opened:
        trainer = _Trainer(
            store=opened,
            device=device,
            backend=backend,
            executor=executor,
            threads=threads,
            deadline=None if limit is None else start + limit * (1.0 - _KEPT_BACK),
            progress=progress,
        )
        race = _Race(trainer, works)
        if search:
            race.search(search)
        race.run()
        return Leaderboard(
            data=data,
            split=spec.text,
            metric=metric,
            entries=race.entries(metric),
            failures=tuple(race.failures.values()),
            missing=tuple(race.missing()),
            new=race.new,
        )


def _most_replicas(replicas: int | None, limit: float | None) -> int:
    if replicas is not None:
        return replicas
    return _REPLICAS if limit is None else _MOST_REPLICAS


def _check_names(methods: Sequence[str]) -> list[str]:
    names = [get_method(name).name for name in methods]
    if not names:
        raise InputError("name at least one method to compare.")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"'{name}' is named twice; leave one out.")
    return names


@dataclass(frozen=True)
class _Trainer:
    """Evaluates works for a race: how, until when, and where the runs are kept."""

    store: Store
    device: str
    backend: str
    executor: str | Executor | None
    threads: int | None
    deadline: float | None
    progress: Tell | None

    def run(
        self,
        works: Sequence[Work],
        until: float | None = None,
        position: tuple[int, int] | None = None,
    ) -> Executed:
        """Make what is missing of works; `position` is that of a single work and their number."""

        def tell(progress: Progress) -> None:
            if position is not None:
                before, total = position
                progress = replace(progress, finished=before + progress.finished, total=total)
            self.tell(progress)

        return execute(
            works,
            self.store,
            device=self.device,
            backend=self.backend,
            tell=tell,
            executor=self.executor,
            threads=self.threads,
            deadline=until or self.deadline,
        )

    def runs(self, work: Work) -> list[StoredRun]:
        """Return the finished runs of a work."""
        seeds = set(work.seeds)
        return [run for run in self.store.runs(work.key) if run.seed in seeds]

    def search(self, work: Work, trials: int, until: float | None) -> Work:
        """Return the work with the best settings of some that are tried on validation nodes."""
        label = f"{work.title}: searching settings"

        def tell_trial(done: int, total: int, best: float) -> None:
            del best
            self.tell(Progress(label, done, 0.0, total, None))

        self.tell(Progress(label, 0, 0.0, trials, None))
        with _search_file(self.store) as file:
            training = Training(
                data=work.data,
                method=work.method,
                split=work.split,
                seeds=work.seeds[: Search.SEEDS],
                search=trials,
                search_file=file,
                device=self.device,
                backend=self.backend,
                metric=work.metric,
                executor=self.executor,
                threads=self.threads,
            )
            plan = training.plan().choose(on_trial=tell_trial, until=until)
        return replace(work, method=plan.method)

    def tell(self, progress: Progress) -> None:
        """Report progress; where time is limited, the time left is that of the limit."""
        if self.progress is None:
            return
        seconds_left = progress.seconds_left
        if self.deadline is not None:
            seconds_left = max(0.0, self.deadline - time.monotonic())
        label = progress.label.removeprefix(f"{_EXPERIMENT}: ")
        self.progress(replace(progress, label=label, seconds_left=seconds_left))


@dataclass
class _Race:
    """Which runs of which works are made next, within a time if one is given."""

    trainer: _Trainer
    works: list[Work]  # one per method, each with all seeds
    failures: dict[str, str] = field(default_factory=dict)  # by method
    new: int = 0

    def search(self, trials: int) -> None:
        """Search the settings of every method, in a part of the time if it is limited."""
        start = time.monotonic()
        deadline = self.trainer.deadline
        end = None if deadline is None else start + _SEARCHING * (deadline - start)
        remaining = []
        for position, work in enumerate(self.works):
            if Search.is_possible(work.method):
                until = None
                if end is not None:
                    now = time.monotonic()
                    until = now + max(0.0, end - now) / (len(self.works) - position)
                try:
                    work = self.trainer.search(work, trials, until)
                except AgnnError as error:
                    self.failures[work.method.name] = f"{work.title}: {error}"
                    continue
            remaining.append(work)
        self.works = remaining

    def run(self) -> None:
        """Make one replica of every method, then more of all, as many as are wanted or fit."""
        deadline = self.trainer.deadline
        replicas = self._replica_count()
        count = 0
        if deadline is not None and self.trainer.executor is None:
            self._make_first_replicas(deadline)
            count = 1
        while count < replicas:
            more = self._next_count(count)
            if more <= count:
                break
            self._execute(self._begun(count), more)
            count = more
        if deadline is not None and count < replicas:
            self._fill(deadline)

    def _replica_count(self) -> int:
        return len(self.works[0].seeds) if self.works else 0

    def _make_first_replicas(self, deadline: float) -> None:
        """Make one replica of each; a network that takes more than its share of time is given up.

        It is not tried again: the time left is for more replicas of the others.
        """
        for position, work in enumerate(self.works):
            now = time.monotonic()
            share = (deadline - now) / min(_SHARES, len(self.works) - position)
            if share > 0.0:
                self._execute([work], 1, now + share, (position, len(self.works)))

    def _next_count(self, count: int) -> int:
        """Return how many replicas every method has after the next round."""
        replicas = self._replica_count()
        if self.trainer.deadline is None:
            # A few first, so that an interrupted comparison has all methods.
            return replicas if count else min(3, replicas)
        seconds_left = self.trainer.deadline - time.monotonic()
        if seconds_left <= 0.0:
            return count
        if count == 0:
            return 1
        cost = sum(self._cost(work) for work in self._begun(count))
        possible = int(seconds_left / cost) if cost > 0.0 else replicas
        # Half of what seems possible: costs are known better after every round.
        return min(replicas, count + (possible + 1) // 2)

    def _fill(self, deadline: float) -> None:
        """Use time that is too short for a round on single methods, those with the fewest first."""
        counts = {work.method.name: len(self.trainer.runs(work)) for work in self._alive()}
        while True:
            seconds_left = deadline - time.monotonic()
            fitting = [
                work
                for work in self._alive()
                if counts[work.method.name] < self._replica_count()
                and self._cost(work) < seconds_left
            ]
            if not fitting:
                return
            work = min(fitting, key=lambda work: counts[work.method.name])
            counts[work.method.name] += 1
            self._execute([work], counts[work.method.name])

    def _alive(self) -> list[Work]:
        return [work for work in self.works if work.method.name not in self.failures]

    def _begun(self, count: int) -> list[Work]:
        """Return the works of the next round: after the first, those that have a replica."""
        return [work for work in self._alive() if not count or self.trainer.runs(work)]

    def _cost(self, work: Work) -> float:
        """Return the seconds for another replica, by the last one."""
        runs = self.trainer.runs(work)
        return runs[-1].seconds if runs else math.inf

    def _execute(
        self,
        works: Sequence[Work],
        count: int,
        until: float | None = None,
        position: tuple[int, int] | None = None,
    ) -> None:
        """Make the first `count` replicas of works, as far as they are missing."""
        limited = [replace(work, seeds=work.seeds[:count]) for work in works]
        done = self.trainer.run(limited, until, position)
        self.new += done.new
        for work in limited:
            if work.key in done.failures:
                self.failures[work.method.name] = f"{work.title}: {done.failures[work.key]}"

    def missing(self) -> list[str]:
        """Return the titles of works that were not reached within the time."""
        return [work.title for work in self._alive() if not self.trainer.runs(work)]

    def entries(self, metric: str) -> tuple[Entry, ...]:
        """Return the methods with their runs, best first."""
        runs = {work.method.name: self.trainer.runs(work) for work in self.works}
        if any(runs.values()):
            return order_entries(self.works, runs, metric)
        if self.failures:
            raise InputError("no method could be trained. " + " ".join(self.failures.values()))
        raise InputError(
            "the time limit is too short for a single method; allow more time, or name fewer "
            "methods."
        )


@contextmanager
def _search_file(store: Store) -> Iterator[Path]:
    """Give the file where searches are kept: beside the store, or nowhere if that is in memory."""
    if store.is_file:
        yield Path(store.name).with_name("search.sqlite")
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "search.sqlite"
