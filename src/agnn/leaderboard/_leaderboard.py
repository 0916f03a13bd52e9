"""Leaderboard: methods in the order of a metric, with everything that was measured of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from agnn.data import make_splits
from agnn.errors import UnavailableError
from agnn.experiments import StoredRun, Work, kept_places, unpacked_contributions
from agnn.metrics import MEASURES, MeasureDifference, Summary, measure_difference
from agnn.runs import rare_class_warning

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from agnn.data import NodeData
    from agnn.methods import Method


@dataclass(frozen=True, eq=False)
class Entry:
    """One method on a leaderboard."""

    method: Method  # with the hyper-parameters that were given or searched
    runs: tuple[StoredRun, ...]  # one per replica; with folds, per trial
    difference: MeasureDifference | None  # to the best; None for the best itself

    @property
    def name(self) -> str:
        """The method's name."""
        return self.method.name

    @property
    def title(self) -> str:
        """The method's title."""
        return self.method.title

    @cached_property
    def measures(self) -> dict[str, Summary]:
        """Every measure on the test nodes by name, one value per replica or trial."""
        rows = [run.extra["measures"] for run in self.runs]
        return {
            name: Summary([np.nan if row[name] is None else row[name] for row in rows])
            for name in MEASURES
        }

    @property
    def validation(self) -> Summary | None:
        """The metric on the validation nodes; None without any."""
        found = [run.extra.get("validation") for run in self.runs]
        values = [value for value in found if value is not None]
        return Summary(values) if len(values) == len(found) else None

    @property
    def n(self) -> int:
        """Number of replicas, or trials."""
        return len(self.runs)

    @property
    def seconds(self) -> float:
        """Time of training, all replicas together."""
        return sum(run.seconds for run in self.runs)

    @property
    def memory(self) -> int | None:
        """Bytes that training added to the process at its peak; None if unknown."""
        found = [run.extra.get("memory") for run in self.runs]
        known = [each for each in found if each is not None]
        return max(known) if known else None

    @property
    def is_tied(self) -> bool:
        """Whether it is the best, or its difference to the best may be nil."""
        return self.difference is None or self.difference.is_tie

    def to_dict(self) -> dict[str, Any]:
        """The figures as JSON values."""
        validation = self.validation
        return {
            "method": self.name,
            "title": self.title,
            "n": self.n,
            "measures": {name: found.to_dict() for name, found in self.measures.items()},
            "validation": None if validation is None else validation.to_dict(),
            "difference_to_best": None if self.difference is None else self.difference.to_dict(),
            "is_tied_with_best": self.is_tied,
            "seconds": self.seconds,
            "memory_bytes": self.memory,
            "hyper_parameters": self.method.settings,
            "settled": self.runs[0].extra.get("settled"),
        }


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """Methods compared on the same splits of a graph, the best first.

    The order is that of the mean of the `metric` on test nodes. In a notebook it shows a table.
    """

    data: NodeData
    split: str
    metric: str
    entries: tuple[Entry, ...]
    failures: tuple[str, ...] = ()  # methods that could not be trained, and why
    missing: tuple[str, ...] = ()  # methods that were not reached within the time
    new: int = 0  # runs that were made by this call; the others were finished before

    @property
    def best(self) -> Entry:
        """The first entry."""
        return self.entries[0]

    @property
    def tied(self) -> tuple[Entry, ...]:
        """The best, and those whose difference to it may be nil."""
        return tuple(entry for entry in self.entries if entry.is_tied)

    @property
    def chosen(self) -> Entry | None:
        """The entry with the best metric on validation nodes; None without any.

        This choice reads no test node, so its test accuracy is not optimistic.
        """
        found = [(entry.validation, entry) for entry in self.entries]
        known = [(summary.mean, entry) for summary, entry in found if summary is not None]
        if not known:
            return None
        sign = -1.0 if MEASURES[self.metric].is_loss else 1.0
        return max(known, key=lambda pair: sign * pair[0])[1]

    @property
    def warnings(self) -> list[str]:
        """What a reader of the order must know: a rare class that accuracy says little about."""
        rare = rare_class_warning(self.data) if self.metric == "accuracy" else None
        return [] if rare is None else [rare]

    def to_frame(self) -> pd.DataFrame:
        """One row per method; needs pandas."""
        try:
            import pandas as pd
        except ModuleNotFoundError as error:
            raise UnavailableError(
                "pandas is not installed, and a frame needs it: pip install 'agnn[tables]'."
            ) from error
        rows = []
        for entry in self.entries:
            row: dict[str, Any] = {"method": entry.name, "n": entry.n}
            for name, found in entry.measures.items():
                row |= {name: found.mean, f"{name}_error": found.standard_error}
            gap = entry.difference
            row |= {
                "difference": 0.0 if gap is None else gap.mean,
                "difference_low": 0.0 if gap is None else gap.interval.low,
                "difference_high": 0.0 if gap is None else gap.interval.high,
                "is_tied": entry.is_tied,
                "validation": None if entry.validation is None else entry.validation.mean,
                "seconds": entry.seconds,
                "memory_bytes": entry.memory,
            }
            rows.append(row)
        return pd.DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        """All figures as JSON values."""
        chosen = self.chosen
        return {
            "dataset": self.data.name,
            "data": self.data.fingerprint,
            "split": self.split,
            "metric": self.metric,
            "methods": [entry.to_dict() for entry in self.entries],
            "best": self.best.name,
            "tied_with_best": [entry.name for entry in self.tied],
            "best_on_validation_nodes": None if chosen is None else chosen.name,
            "warnings": self.warnings,
            "failures": list(self.failures),
            "missing": list(self.missing),
        }

    def __repr__(self) -> str:
        lines = [f"Leaderboard({self.data.name}, split {self.split}, by {self.metric}"]
        measure = MEASURES[self.metric]
        for entry in self.entries:
            value = measure.shown(entry.measures[self.metric].mean) + measure.unit
            lines.append(f"  {entry.title}: {value}{' (tied)' if entry.is_tied else ''}")
        return "\n".join(lines) + ")"

    def _repr_html_(self) -> str:
        from importlib import import_module

        # The table is the report's, which is made of leaderboards and not the other way round.
        return str(import_module("agnn.report").leaderboard_fragment(self))


def ordered_entries(
    works: Sequence[Work], runs: Mapping[str, Sequence[StoredRun]], metric: str
) -> tuple[Entry, ...]:
    """The entries of works that have runs, best first; `runs` are by the method's name."""
    known = [work for work in works if runs[work.method.name]]
    sign = -1.0 if MEASURES[metric].is_loss else 1.0

    def value(work: Work) -> float:
        return sign * Summary([_value(run, metric) for run in runs[work.method.name]]).mean

    known.sort(key=value, reverse=True)
    entries = []
    for place, work in enumerate(known):
        own = runs[work.method.name]
        best = runs[known[0].method.name]
        gap = None if place == 0 else _difference(work, own, best, metric)
        entries.append(Entry(work.method, tuple(own), gap))
    return tuple(entries)


def _difference(
    work: Work, own: Sequence[StoredRun], best: Sequence[StoredRun], metric: str
) -> MeasureDifference:
    """The paired difference over the seeds that both have."""
    theirs = {run.seed: run for run in best}
    both = [(run, theirs[run.seed]) for run in own if run.seed in theirs]
    seeds = [run.seed for run, _ in both]
    splits = make_splits(work.data, work.split, seeds)
    folds = len(splits) // len(seeds)
    nodes: list[NDArray[np.int64]] = []
    for start in range(0, len(splits), folds):
        tested = np.concatenate([split.test for split in splits[start : start + folds]])
        nodes.append(tested[kept_places(tested.size)])
    return measure_difference(
        nodes,
        [unpacked_contributions(run.extra["contributions"]) for run, _ in both],
        [unpacked_contributions(run.extra["contributions"]) for _, run in both],
        [_value(run, metric) - _value(rival, metric) for run, rival in both],
    )


def _value(run: StoredRun, metric: str) -> float:
    value = run.extra["measures"][metric]
    return np.nan if value is None else float(value)
