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
from typing import Any, Final

from agnn.data import NodeData, Split
from agnn.distributed import Shared, finished, open_executor
from agnn.errors import AgnnError, DataError, DivergedError, InputError, UnavailableError
from agnn.files import check_plain
from agnn.methods import Method, Task, validation_scores
from agnn.runs._class_weights import ClassWeight
from agnn.runs._evaluate import plan
from agnn.runs._search_space import free_settings, is_in_space, suggested

_SEEDS: Final = 3  # replicas that a candidate is judged by
_GROUP: Final = 10  # candidates that workers judge before the next are drawn
_WORST: Final = -1e6  # of a setting that diverges, where a score may be negative

# (trials done, trials in all, best score: percent, or with its sign turned a log loss)
OnTrial = Callable[[int, int, float], None]


@dataclass(frozen=True, eq=False)
class Search:
    """How many settings to try, and where they are kept."""

    trials: int
    file: Path
    """An SQLite file with the trials: the same search started again continues where it stopped."""

    fixed: frozenset[str] = frozenset()  # fields that the user has set

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


def searched(
    method: Method,
    data: NodeData,
    split_spec: str,
    seeds: Sequence[int],
    search: Search,
    *,
    device: str = "auto",
    backend: str = "auto",
    class_weight: ClassWeight = None,
    metric: str | None = None,
    on_trial: OnTrial | None = None,
    until: float | None = None,
    executor: str | Executor | None = None,
    threads: int | None = None,
) -> Method:
    """The method with the hyper-parameters that predict validation nodes best.

    Candidates are judged by the mean over the replicas of the first three seeds, on the validation
    nodes of each; where replicas draw their own splits see `optimism`. They are compared by
    `metric`, by default accuracy. The first candidate is the method as given, if it is in the
    search space. After `until`, in `time.monotonic`'s seconds, no further one is begun but the
    first.

    With an `executor` (see `agnn.distributed.open_executor`) ten candidates at a time are trained
    by its workers, so the result depends neither on their number nor on which is the fastest.
    """
    free = sorted(free_settings(method) - search.fixed)
    if not free:
        raise InputError(f"{method.name} has nothing left to search over.")
    first = seeds[:_SEEDS]
    task = plan(
        method, data, split_spec, first, device=device, backend=backend,
        class_weight=class_weight, metric=metric,
    ).task()  # fmt: skip

    about = {
        "method": method.settings, "split": split_spec, "seeds": list(first),
        "data": data.fingerprint, "free": free, "class_weight": str(class_weight),
    }  # fmt: skip
    if metric is not None:  # searches without one are found under the key that they have had
        about["metric"] = metric
    key = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]
    shared = Shared(key, task)
    with _file_errors(search.file):
        study = _study(search, f"{method.name}-{key}")
        start = {name: method.settings[name] for name in free}
        if all(is_in_space(name, value) for name, value in start.items()):
            study.enqueue_trial(start, skip_if_exists=True)
        with open_executor(executor if _finished(study) < search.trials else None, threads) as pool:
            while (done := _finished(study)) < search.trials:
                if done and until is not None and time.monotonic() >= until:
                    break
                count = 1 if pool is None else min(_GROUP, search.trials - done)
                trials = [study.ask() for _ in range(count)]
                candidates = [
                    Candidate(k, method.with_fields(**suggested(trial, free)), shared, metric)
                    for k, trial in enumerate(trials)
                ]
                for k, value in _scores(pool, candidates, study, trials):
                    study.tell(trials[k], value)
                    if on_trial is not None:
                        done += 1
                        on_trial(done, search.trials, study.best_value)
        return method.with_fields(**study.best_params)


def optimism(splits: Sequence[Split], folds: int = 1) -> str | None:
    """What a reader of accuracies on these splits must know if settings were searched on them.

    None if no validation node that chooses is a test node of another replica; `folds` of the
    splits belong to one seed.
    """
    judged = splits[: _SEEDS * folds]
    chosen_by = {node for split in judged for node in split.validation.tolist()}
    if all(chosen_by.isdisjoint(split.test.tolist()) for split in splits):
        return None
    return (
        "the settings are chosen once, by validation nodes that are test nodes of other replicas, "
        "so the accuracy is slightly optimistic. With one split for all replicas, as fixed, a "
        ".json file or --method auto have it, it is not."
    )


@dataclass(frozen=True, eq=False)
class Candidate:
    """A setting to be judged, here or by a worker."""

    number: int  # in its group
    method: Method
    task: Shared[Task]
    metric: str | None

    def score(self) -> float:
        """How well validation nodes are predicted."""
        task = self.task.value
        try:
            scores = self.method.run(task).scores
        except DivergedError:
            return _WORST if self.metric == "log_loss" else 0.0
        found = fmean(
            validation_scores(scores, task.data, task.splits, "to search on", self.metric)
        )
        return found if self.metric is not None else 100.0 * found


def _scores(
    pool: Executor | None, candidates: Sequence[Candidate], study: Any, trials: Sequence[Any]
) -> Iterator[tuple[int, float]]:
    """Numbers and scores of the candidates as they come; after an error the others have failed."""
    left = set(range(len(candidates)))
    results: Iterable[tuple[Candidate, float | AgnnError]]
    if pool is None:
        results = ((each, each.score()) for each in candidates)
    else:
        results = finished(pool, Candidate.score, deque(candidates))
    try:
        for candidate, value in results:
            if isinstance(value, AgnnError):
                raise value
            yield candidate.number, value
            left.remove(candidate.number)
    finally:
        for k in left:
            study.tell(trials[k], state=import_module("optuna").trial.TrialState.FAIL)


def _finished(study: Any) -> int:
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


def _study(search: Search, name: str) -> Any:
    """The study of this search in its file, new or begun."""
    file = search.file
    try:
        optuna = import_module("optuna")
    except ModuleNotFoundError as error:
        raise UnavailableError(
            "optuna is not installed, and --search needs it: pip install 'agnn[search]'."
        ) from error
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
