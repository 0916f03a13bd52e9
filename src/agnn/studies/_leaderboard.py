"""Leaderboard: methods in the order of a metric, with everything that was measured of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from agnn.choosing import rare_class_warning
from agnn.data import NodeData, make_splits
from agnn.errors import import_extra
from agnn.files import plain
from agnn.methods import Method
from agnn.metrics import MEASURES, Summary, TrialDifference
from agnn.studies._batches import kept_positions, unpack_contributions
from agnn.studies._store import StoredRun
from agnn.studies._works import Work
from agnn.tables import (
    NOTHING,
    Cell,
    Column,
    ResultTable,
    Row,
    duration,
    enumeration,
    shown_text,
    signed_number,
)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Entry:
    """One method on a leaderboard."""

    method: Method  # with the hyper-parameters that were given or searched
    runs: tuple[StoredRun, ...]  # one per replica; with folds, per trial
    difference: TrialDifference | None  # to the best; None for the best itself

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
        values = [run.extra.get("validation") for run in self.runs]
        present = [value for value in values if value is not None]
        return Summary(present) if len(present) == len(values) else None

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
        peaks = [run.extra.get("memory") for run in self.runs]
        return max((peak for peak in peaks if peak is not None), default=None)

    @property
    def is_tied(self) -> bool:
        """Whether it is the best, or its difference to the best may be nil."""
        return self.difference is None or self.difference.is_tie

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return {
            "method": self.name,
            "title": self.title,
            "n": self.n,
            "measures": self.measures,
            "validation": self.validation,
            "difference_to_best": self.difference,
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
        sign = -1.0 if MEASURES[self.metric].is_loss else 1.0
        values = [
            (sign * entry.validation.mean, entry)
            for entry in self.entries
            if entry.validation is not None
        ]
        return max(values, key=lambda pair: pair[0])[1] if values else None

    @property
    def warnings(self) -> list[str]:
        """What a reader of the order must know: a rare class that accuracy says little about."""
        rare = rare_class_warning(self.data) if self.metric == "accuracy" else None
        return [] if rare is None else [rare]

    @property
    def notes(self) -> list[str]:
        """What a reader of the table must know."""
        measure = MEASURES[self.metric]
        tied = [entry.title for entry in self.tied[1:]]
        rivals = f"; {enumeration(tied)} cannot be distinguished from it" if tied else ", clearly"
        notes = [f"{self.best.title} has the best {measure.title}{rivals}.", *self.warnings]
        if self.chosen is not None:
            notes.append(
                f"On validation nodes {self.chosen.title} is best. The order above is by test "
                f"nodes: to quote the figure of a method, choose the method by validation nodes, "
                f"as agnn train --method auto does."
            )
        else:
            notes.append(
                "No validation nodes choose a method here, and the best of several looks a little "
                "better than it is."
            )
        if self.missing:
            notes.append(f"Not reached within the time: {enumeration(self.missing)}.")
        return notes + [f"Could not be trained: {failure}" for failure in self.failures]

    @property
    def table(self) -> ResultTable:
        """One row per method; the measure that orders comes first, and ties are strong."""
        names = sorted(MEASURES, key=lambda name: name != self.metric)
        digits = MEASURES[self.metric].digits
        measures = [
            Column(
                MEASURES[name].title,
                (name, f"{name}_error"),
                MEASURES[name].unit,
                MEASURES[name].digits,
                is_number=True,
            )
            for name in names
        ]
        difference = ("difference", "difference_low", "difference_high", "is_tied")
        columns = (
            Column("method", ("method",)),
            *measures,
            Column("to the best", difference, is_number=True),
            Column("validation", ("validation",), digits=digits, is_number=True, is_wide=True),
            Column("n", ("n",), is_number=True),
            Column("time", ("seconds",), is_number=True),
            Column("memory", ("memory_bytes",), is_number=True),
        )
        rows = tuple(
            Row(
                (
                    Cell(entry.title, (entry.name,)),
                    *(entry.measures[name] for name in names),
                    _difference_cell(entry, digits),
                    None if entry.validation is None else entry.validation.mean,
                    entry.n,
                    Cell(duration(entry.seconds), (entry.seconds,)),
                    Cell(_memory_text(entry.memory), (entry.memory,)),
                ),
                is_strong=entry.is_tied,
            )
            for entry in self.entries
        )
        caption = (
            f"Test nodes of {shown_text(self.data.name)}, split {shown_text(self.split)}: mean ± "
            f"standard error, difference to the best with its 95 % interval; bold: tied with the "
            f"best"
        )
        return ResultTable(columns, rows, caption)

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with one row per method; needs pandas."""
        pandas = import_extra("pandas", "a frame needs it", "agnn[tables]")
        frame: pd.DataFrame = pandas.DataFrame(self.table.records())
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as JSON values."""
        chosen = self.chosen
        values = {
            "dataset": self.data.name,
            "data": self.data.fingerprint,
            "split": self.split,
            "metric": self.metric,
            "methods": self.entries,
            "best": self.best.name,
            "tied_with_best": [entry.name for entry in self.tied],
            "best_on_validation_nodes": None if chosen is None else chosen.name,
            "warnings": self.warnings,
            "failures": self.failures,
            "missing": self.missing,
        }
        return dict(plain(values))

    def __repr__(self) -> str:
        lines = [f"Leaderboard({self.data.name}, split {self.split}, by {self.metric}"]
        measure = MEASURES[self.metric]
        for entry in self.entries:
            value = measure.shown(entry.measures[self.metric].mean) + measure.unit
            lines.append(f"  {entry.title}: {value}{' (tied)' if entry.is_tied else ''}")
        return "\n".join(lines) + ")"

    def _repr_html_(self) -> str:
        return str(self.table.html("board"))


def _difference_cell(entry: Entry, digits: int) -> Cell:
    gap = entry.difference
    if gap is None:
        return Cell("best", (0.0, 0.0, 0.0, True))
    mean, low, high = (signed_number(value, digits) for value in (gap.mean, *gap.interval))
    tie = ", tied" if gap.is_tie else ""
    return Cell(f"{mean} ({low} to {high}){tie}", (gap.mean, *gap.interval, gap.is_tie))


def _memory_text(count: int | None) -> str:
    if count is None:
        return NOTHING
    size = count / 2**20
    return f"{size / 1024:.1f} GiB" if size >= 1024 else f"{max(size, 1.0):.0f} MiB"


def order_entries(
    works: Sequence[Work], runs: Mapping[str, Sequence[StoredRun]], metric: str
) -> tuple[Entry, ...]:
    """Return the entries of works that have runs, best first; `runs` are by the method's name."""
    sign = -1.0 if MEASURES[metric].is_loss else 1.0

    def score(work: Work) -> float:
        return sign * Summary([_value(run, metric) for run in runs[work.method.name]]).mean

    ordered = sorted((work for work in works if runs[work.method.name]), key=score, reverse=True)
    best = runs[ordered[0].method.name] if ordered else ()
    entries = []
    for rank, work in enumerate(ordered):
        of_work = runs[work.method.name]
        difference = None if rank == 0 else _difference(work, of_work, best, metric)
        entries.append(Entry(work.method, tuple(of_work), difference))
    return tuple(entries)


def _difference(
    work: Work, runs: Sequence[StoredRun], best: Sequence[StoredRun], metric: str
) -> TrialDifference:
    """Return the paired difference over the seeds that both have."""
    best_by_seed = {run.seed: run for run in best}
    pairs = [(run, best_by_seed[run.seed]) for run in runs if run.seed in best_by_seed]
    seeds = [run.seed for run, _ in pairs]
    splits = make_splits(work.data, work.split, seeds)
    folds = len(splits) // len(seeds)
    nodes: list[NDArray[np.int64]] = []
    for start in range(0, len(splits), folds):
        tested = np.concatenate([split.test for split in splits[start : start + folds]])
        # Runs keep the contributions of these nodes only, where there are very many.
        nodes.append(tested[kept_positions(tested.size)])
    return TrialDifference.between(
        nodes,
        [unpack_contributions(run.extra["contributions"]) for run, _ in pairs],
        [unpack_contributions(run.extra["contributions"]) for _, run in pairs],
        [_value(run, metric) - _value(rival, metric) for run, rival in pairs],
    )


def _value(run: StoredRun, metric: str) -> float:
    value = run.extra["measures"][metric]
    return np.nan if value is None else float(value)
