"""compare: train many methods on the same splits, within a time if one is given."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from agnn.data import NodeData, Split, check_learnable, default_split
from agnn.errors import AgnnError, InputError
from agnn.experiments import ALL_MEASURES, Progress, Store, StoredRun, Work, execute
from agnn.leaderboard._leaderboard import Leaderboard, ordered_entries
from agnn.methods import Method, get_method
from agnn.metrics import check_metric
from agnn.runs import (
    Search,
    can_search,
    find_device,
    plan,
    prepare,
    replica_seeds,
    searched,
    seconds_of,
)

PORTFOLIO: Final = (
    "majority", "label_propagation", "ridge", "agnn", "agnn_plus", "sgc", "gcn",
    "multilayer_perceptron", "graphsage", "appnp", "gat", "boosting", "separated",
)  # fmt: skip
"""The methods that are compared by default: baselines, the package's own, then the others."""

_REPLICAS: Final = 10
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
    progress: Callable[[Progress], None] | None = None,
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
        executor: workers that train; see `agnn.distributed.open_executor`.
        threads: of each worker.
        progress: called with the progress so far.

    Methods learn from training nodes, choose epochs and settings on validation nodes, and are
    ordered by test nodes. To choose one without reading test nodes see `Leaderboard.chosen`.
    """
    start = time.monotonic()
    limit = None if time_limit is None else seconds_of(time_limit, "`time_limit`")
    check_metric(metric)
    check_learnable(data)
    if isinstance(split, Split):
        data, split = data.with_split(split), split.name
    seeds = replica_seeds(seed, _most_replicas(replicas, limit))
    if search < 0:
        raise InputError(f"`search` must not be negative; got {search}.")
    spec = split or default_split(data)
    # Every method keeps its own rule for the epoch where accuracy is what counts.
    chosen_by = None if metric == "accuracy" else metric
    names = PORTFOLIO if methods is None else _checked(methods)
    place = find_device(device)
    prepared = [prepare(name, data, spec).affordable(data, _AFFORDABLE, place) for name in names]
    plan(prepared[0], data, spec, seeds[:_REPLICAS], device=device, backend=backend, metric=metric)
    with Store.of(store) as kept:
        race = _Race(
            kept, data, spec, seeds, metric, chosen_by, device, backend, executor, threads,
            progress, None if limit is None else start + limit * (1.0 - _KEPT_BACK),
        )  # fmt: skip
        race.add(prepared, search)
        race.run()
        return race.board()


def _most_replicas(replicas: int | None, limit: float | None) -> int:
    if replicas is not None:
        return replicas
    return _REPLICAS if limit is None else _MOST_REPLICAS


def _checked(methods: Sequence[str]) -> list[str]:
    names = [get_method(name).name for name in methods]
    if not names:
        raise InputError("name at least one method to compare.")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"'{name}' is named twice; leave one out.")
    return names


@dataclass
class _Race:
    """The works of one comparison."""

    store: Store
    data: NodeData
    split: str
    seeds: tuple[int, ...]
    metric: str
    chosen_by: str | None
    device: str
    backend: str
    executor: str | Executor | None
    threads: int | None
    progress: Callable[[Progress], None] | None
    deadline: float | None
    works: list[Work] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    shares: dict[str, float] = field(default_factory=dict)  # seconds that a first replica may take
    finished: tuple[int, int] | None = None  # works before this one and in all, one at a time
    new: int = 0

    def add(self, methods: Sequence[Method], search: int) -> None:
        """Take part with these methods, after a search of their settings if one is asked for."""
        begun = time.monotonic()
        for left, method in zip(range(len(methods), 0, -1), methods, strict=True):
            if search and can_search(method):
                share = None
                if self.deadline is not None:
                    end = begun + _SEARCHING * (self.deadline - begun)
                    share = time.monotonic() + max(0.0, end - time.monotonic()) / left
                try:
                    method = self._searched(method, search, share)
                except AgnnError as error:
                    self.failures[method.name] = f"{method.title}: {error}"
                    continue
            self.works.append(
                Work(
                    experiment="compare",
                    title=method.title,
                    method=method,
                    data=self.data,
                    split=self.split,
                    measure=ALL_MEASURES,
                    seeds=self.seeds,
                    metric=self.chosen_by,
                )
            )

    def _searched(self, method: Method, trials: int, until: float | None) -> Method:
        label = f"{method.title}: searching settings"

        def tell(done: int, total: int, best: float) -> None:
            del best
            self._tell(Progress(label, done, 0.0, total, None))

        self._tell(Progress(label, 0, 0.0, trials, None))
        with _search_file(self.store) as file:
            return searched(
                method, self.data, self.split, self.seeds, Search(trials, file),
                device=self.device, backend=self.backend, metric=self.chosen_by, on_trial=tell,
                until=until, executor=self.executor, threads=self.threads,
            )  # fmt: skip

    def run(self) -> None:
        """One replica of every method, then more of all, as many as are wanted or time allows."""
        count = 0
        if self.deadline is not None and self.executor is None:
            self._first_replicas(self.works, 1)
            self._first_replicas([work for work in self._alive() if not self._runs(work)], 2)
            count = 1
        while count < len(self.seeds):
            more = self._next_count(count)
            if more <= count:
                break
            self._execute([replace(work, seeds=self.seeds[:more]) for work in self._begun(count)])
            count = more
        if self.deadline is not None and count < len(self.seeds):
            self._fill()

    def _first_replicas(self, works: Sequence[Work], fewest_shares: int) -> None:
        """One replica of each; a network that takes more than its share of the time is given up.

        What cheap methods leave is shared by the others, so a second try may have more.
        """
        assert self.deadline is not None  # noqa: S101
        for position, work in enumerate(works):
            now = time.monotonic()
            shares = max(fewest_shares, min(_SHARES, len(works) - position))
            share = (self.deadline - now) / shares
            if share > self.shares.get(work.method.name, 0.0):
                self.shares[work.method.name] = share
                self.finished = (position, len(works))
                self._execute([replace(work, seeds=self.seeds[:1])], now + share)
        self.finished = None

    def _next_count(self, count: int) -> int:
        """How many replicas every method has after the next round."""
        if self.deadline is None:
            return len(self.seeds) if count else min(3, len(self.seeds))
        left = self.deadline - time.monotonic()
        if left <= 0.0:
            return count
        if count == 0:
            return 1
        cost = sum(self._cost(work) for work in self._begun(count))
        possible = int(left / cost) if cost > 0.0 else len(self.seeds)
        # Half of what seems possible: costs are known better after every round.
        return min(len(self.seeds), count + (possible + 1) // 2)

    def _fill(self) -> None:
        """Use time that is too short for a round on single methods, those with the fewest first."""
        assert self.deadline is not None  # noqa: S101
        counts = {work.method.name: len(self._runs(work)) for work in self._alive()}
        while True:
            left = self.deadline - time.monotonic()
            fitting = [
                work for work in self._alive()
                if counts[work.method.name] < len(self.seeds) and self._cost(work) < left
            ]  # fmt: skip
            if not fitting:
                return
            work = min(fitting, key=lambda each: counts[each.method.name])
            counts[work.method.name] += 1
            self._execute([replace(work, seeds=self.seeds[: counts[work.method.name]])])

    def _alive(self) -> list[Work]:
        return [work for work in self.works if work.method.name not in self.failures]

    def _begun(self, count: int) -> list[Work]:
        """The works of the next round: after the first, those that had time for a replica."""
        return [work for work in self._alive() if not count or self._runs(work)]

    def _cost(self, work: Work) -> float:
        """Seconds for another replica, by the last one."""
        runs = self.store.runs(work.key)
        return runs[-1].seconds if runs else math.inf

    def _execute(self, works: list[Work], until: float | None = None) -> None:
        live = [work for work in works if work.method.name not in self.failures]
        done = execute(
            live, self.store, device=self.device, backend=self.backend, tell=self._tell,
            executor=self.executor, threads=self.threads, deadline=until or self.deadline,
        )  # fmt: skip
        self.new += done.new
        for work in live:
            if work.key in done.failures:
                reason = done.failures[work.key].removeprefix(f"{work.label}: ")
                self.failures[work.method.name] = f"{work.title}: {reason}"

    def _tell(self, progress: Progress) -> None:
        if self.progress is None:
            return
        label = progress.label.removeprefix("compare: ")
        left = progress.seconds_left
        if self.deadline is not None:
            left = max(0.0, self.deadline - time.monotonic())
        if self.finished is not None:
            before, total = self.finished
            progress = replace(progress, finished=before + progress.finished, total=total)
        self.progress(replace(progress, label=label, seconds_left=left))

    def board(self) -> Leaderboard:
        """What there is in the store of these works."""
        runs = {work.method.name: self._runs(work) for work in self.works}
        absent = [work.title for work in self._alive() if not runs[work.method.name]]
        if not any(runs.values()):
            if self.failures:
                raise InputError("no method could be trained. " + " ".join(self.failures.values()))
            raise InputError(
                "the time limit is too short for a single method; allow more time, or name fewer "
                "methods."
            )
        entries = ordered_entries(self.works, runs, self.metric)
        failures = tuple(self.failures.values())
        return Leaderboard(
            self.data, self.split, self.metric, entries, failures, tuple(absent), self.new
        )

    def _runs(self, work: Work) -> list[StoredRun]:
        wanted = set(self.seeds)
        return [run for run in self.store.runs(work.key) if run.seed in wanted]


@contextmanager
def _search_file(store: Store) -> Iterator[Path]:
    """Where searches are kept: beside the store, or nowhere if that is in memory."""
    if store.is_file:
        yield Path(store.name).with_name("search.sqlite")
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "search.sqlite"
