"""Hyper-parameter search on validation nodes, with every trial kept on disk."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, Final

from agnn.choosing._scores import candidate_scores
from agnn.choosing._space import free_settings, is_in_space, suggested_settings
from agnn.data import Split
from agnn.errors import (
    AgnnError,
    DataError,
    DivergedError,
    InputError,
    UnavailableError,
    import_extra,
)
from agnn.executors import Shared, map_as_completed, open_executor
from agnn.files import check_plain
from agnn.methods import Method, Task

_GROUP: Final = 10  # candidates that workers judge before the next are drawn
_WORST: Final = -1e6  # of a setting that diverges, where a score may be negative


@dataclass(frozen=True, eq=False)
class Search:
    """How many settings to try, where they are kept, who trains them, and until when."""

    SEEDS: ClassVar[int] = 3  # that a candidate is tried with, each with all its folds

    trials: int
    file: Path
    """An SQLite file with the trials: the same search started again continues where it stopped."""

    fixed: frozenset[str] = frozenset()  # fields that the user has set
    executor: str | Executor | None = None  # see `agnn.executors.open_executor`; None: nobody
    threads: int | None = None  # of each worker
    until: float | None = None  # of `time.monotonic`: then no further candidate is begun

    def __post_init__(self) -> None:
        if self.trials < 1:
            raise InputError(f"`trials` of a search must be at least 1; got {self.trials}.")
        if not self.file.absolute().parent.is_dir():
            raise InputError(
                f"'{self.file}' cannot be created: there is no folder '{self.file.parent}'."
            )
        if self.file.suffix == ".journal":
            raise InputError(
                f"'{self.file}': searches are no longer kept in journals; choose a file that ends "
                f"in .sqlite. --executor dask searches on several machines."
            )
        if self.file.exists() and not self._may_be_ours():
            raise DataError(f"'{self.file}' is not a search file; choose another --search-file.")

    def _may_be_ours(self) -> bool:
        """Whether the file is empty or starts like an SQLite file."""
        check_plain(self.file)
        with self.file.open("rb") as stream:
            start = stream.read(16)
        return not start or start.startswith(b"SQLite format 3\0")

    @staticmethod
    def is_possible(method: Method) -> bool:
        """Return whether the method has settings that can be searched."""
        return bool(free_settings(method))

    def choose(
        self,
        method: Method,
        task: Task,
        on_trial: Callable[[int, int, float], None] | None = None,
    ) -> Method:
        """Return the method with the hyper-parameters that predict validation nodes best.

        Candidates are compared by the mean over the replicas of `task`, at the validation nodes of
        each or, if they are cross-fitted, at the fold that each leaves out; where replicas draw
        their own splits see `optimism`. The first candidate is the method as given, if it is in
        the search space; it is tried even if the time is over.

        `on_trial` is called with the trials done, the trials in all and the best score: percent,
        or a log loss with its sign turned.

        With an executor ten candidates at a time are trained by its workers, so the result depends
        neither on their number nor on which is the fastest.
        """
        free = sorted(free_settings(method) - self.fixed)
        if not free:
            raise InputError(f"{method.name} has nothing left to search over.")
        key = _key(method, task, free)
        shared = Shared(key, task)
        with _file_errors(self.file):
            study = _study(self.file, f"{method.name}-{key}")
            start = {name: method.settings[name] for name in free}
            if all(is_in_space(name, value) for name, value in start.items()):
                study.enqueue_trial(start, skip_if_exists=True)
            is_complete = _finished_trials(study) >= self.trials
            with open_executor(None if is_complete else self.executor, self.threads) as pool:
                while (done := _finished_trials(study)) < self.trials:
                    if done and self.until is not None and time.monotonic() >= self.until:
                        break
                    count = 1 if pool is None else min(_GROUP, self.trials - done)
                    trials = [study.ask() for _ in range(count)]
                    candidates = [
                        Candidate(k, method.with_fields(**suggested_settings(trial, free)), shared)
                        for k, trial in enumerate(trials)
                    ]
                    for k, value in _scores(pool, candidates, study, trials):
                        study.tell(trials[k], value)
                        if on_trial is not None:
                            done += 1
                            on_trial(done, self.trials, study.best_value)
            return method.with_fields(**study.best_params)

    @classmethod
    def optimism(cls, splits: Sequence[Split], folds: int = 1) -> str | None:
        """What a reader of accuracies on these splits must know if settings were searched on them.

        None if no validation node that chooses is a test node of another replica; `folds` of the
        splits belong to one seed.
        """
        tried_on = splits[: cls.SEEDS * folds]
        # Without validation nodes the replicas are cross-fitted, and the folds that they leave out
        # choose.
        has_validation = any(split.validation.size for split in tried_on)
        parts = [split.validation if has_validation else split.test for split in tried_on]
        chosen_by = {node for nodes in parts for node in nodes.tolist()}
        if all(chosen_by.isdisjoint(split.test.tolist()) for split in splits):
            return None
        if not has_validation:
            return (
                "the settings are chosen once, by folds that test the replicas, so the accuracy is "
                "slightly optimistic."
            )
        return (
            "the settings are chosen once, by validation nodes that are test nodes of other "
            "replicas, so the accuracy is slightly optimistic. With one split for all replicas, as "
            "fixed, a .json file or --method auto have it, it is not."
        )


def _key(method: Method, task: Task, free: Sequence[str]) -> str:
    """Return what the trials of a search depend on, as a hash."""
    about = {
        "method": method.settings,
        "data": task.data.fingerprint,
        "splits": task.splits_digest,
        "seeds": task.seeds,
        "free": free,
        "class_weights": None if task.class_weights is None else task.class_weights.tolist(),
        "metric": task.metric,
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A setting to be scored, here or by a worker."""

    number: int  # in its group
    method: Method
    task: Shared[Task]

    def score(self) -> float:
        """Return how well validation nodes are predicted."""
        task = self.task.value
        try:
            return fmean(candidate_scores(self.method, task))
        except DivergedError:
            return _WORST if task.metric == "log_loss" else 0.0


def _scores(
    pool: Executor | None, candidates: Sequence[Candidate], study: Any, trials: Sequence[Any]
) -> Iterator[tuple[int, float]]:
    """Numbers and scores of the candidates as they come; after an error the others have failed."""
    unscored = set(range(len(candidates)))
    results: Iterable[tuple[Candidate, float | AgnnError]]
    if pool is None:
        results = ((candidate, candidate.score()) for candidate in candidates)
    else:
        results = map_as_completed(pool, Candidate.score, deque(candidates))
    try:
        for candidate, value in results:
            if isinstance(value, AgnnError):
                raise value
            yield candidate.number, value
            unscored.remove(candidate.number)
    finally:
        for k in unscored:
            study.tell(trials[k], state=import_module("optuna").trial.TrialState.FAIL)


def _finished_trials(study: Any) -> int:
    return sum(trial.state.name == "COMPLETE" for trial in study.trials)


@contextmanager
def _file_errors(file: Path) -> Iterator[None]:
    """Report what goes wrong with a search file in one line; only a damaged one is called so."""
    try:
        yield
    except Exception as error:
        cause = _sqlite_error(error)
        if cause is None:
            raise
        if cause.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise DataError(f"'{file}' is not a search file, or is damaged ({cause}).") from error
        raise UnavailableError(
            f"the search file '{file}' cannot be used ({cause}). Finished trials in it are kept: "
            f"free some space and give the same command again, or choose another --search-file."
        ) from error


def _sqlite_error(error: BaseException | None) -> sqlite3.Error | None:
    """SQLite's error behind an error of optuna or SQLAlchemy; None where it has another cause."""
    while error is not None and not isinstance(error, sqlite3.Error):
        error = getattr(error, "orig", None) or error.__cause__ or error.__context__
    return error


def _study(file: Path, name: str) -> Any:
    """The study of this name in a search's file, new or begun."""
    optuna = import_extra("optuna", "--search needs it", "agnn[search]")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    is_new = not file.exists()
    try:
        # The address is not the file's: what a question mark in it means differs by version.
        storage = optuna.storages.RDBStorage(
            "sqlite:///search", engine_kwargs={"creator": partial(sqlite3.connect, file.absolute())}
        )
        return optuna.create_study(
            storage=storage,
            study_name=name,
            direction="maximize",
            load_if_exists=True,
            sampler=optuna.samplers.TPESampler(seed=0),
        )
    except Exception as error:
        if is_new:  # half a file would be in the way of the next search
            file.unlink(missing_ok=True)
        # A database of another version or program.
        if isinstance(error, RuntimeError | ValueError | KeyError):
            raise DataError(f"'{file}' is not a search file, or is damaged.") from error
        raise
