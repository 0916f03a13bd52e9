"""A table beside what was found: cell by cell the paper's figure, ours, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from agnn.data import NodeData, make_splits
from agnn.errors import DataError
from agnn.experiments._run_spec import absence, method_of, run_spec_of
from agnn.experiments._spec import Cell, Claim, Column, PaperFigure, Row, Table, cell_of
from agnn.experiments._store import Key, Store, StoredRun
from agnn.metrics import Summary
from agnn.runs import machine_words

Verdict = Literal[
    "within 2 se", "within tolerance", "above", "below", "not in the paper", "missing"
]
REPRODUCED: Final[tuple[Verdict, ...]] = ("within 2 se", "within tolerance")

RULE = (
    "a figure is reproduced in one of two ways. Within 2 se: ours differs from the paper's by at "
    "most two joint standard errors, se = √(se_ours² + se_paper²). Within tolerance: it differs by "
    "more, but by no more than two joint standard errors and the tolerance together, so that the "
    "tolerance alone decides; its size is a convention of this page, derived from nothing. "
    "A standard error that is not known counts as 0. Above or below: the "
    "difference is larger. z is the difference in joint standard errors; it has no value where "
    "both are single numbers. Not in the paper: the paper's cell is empty. Missing: no run yet."
)
# Rounding in the sum must not decide: 81.5 - 81.1 is above 0.4 by one part in 10^15.
_ROUNDING = 1e-9


def verdict(paper: PaperFigure | None, ours: Summary | None, tolerance: float) -> Verdict:
    """How our figure stands to the paper's."""
    if ours is None:
        return "missing"
    if paper is None:
        return "not in the paper"
    difference = ours.mean - paper.mean
    reach = 2 * joint_error(paper, ours) + _ROUNDING
    if abs(difference) <= reach:
        return "within 2 se"
    if abs(difference) <= reach + tolerance:
        return "within tolerance"
    return "above" if difference > 0 else "below"


def joint_error(paper: PaperFigure, ours: Summary) -> float:
    """Return the standard error of the difference; one that is not known counts as 0."""
    return math.hypot(ours.standard_error or 0.0, paper.error or 0.0)


@dataclass(frozen=True)
class ComparedReference:
    """Our figure against another paper's."""

    source: str
    figure: PaperFigure | None
    verdict: Verdict


@dataclass(frozen=True)
class ComparedCell:
    """One cell, compared; `beside` is the figure of the column's second split."""

    paper: PaperFigure | None
    ours: Summary | None
    verdict: Verdict
    beside: Summary | None = None
    references: tuple[ComparedReference, ...] = ()

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        if self.ours is None or self.paper is None:
            return None
        return self.ours.mean - self.paper.mean

    @property
    def z(self) -> float | None:
        """The difference in joint standard errors; None where none is known."""
        if self.ours is None or self.paper is None:
            return None
        error = joint_error(self.paper, self.ours)
        return (self.ours.mean - self.paper.mean) / error if error else None


@dataclass(frozen=True)
class ComparedRow:
    """One row, compared; `absence` says why its method is missing."""

    row: Row
    cells: tuple[ComparedCell, ...]
    absence: str | None = None


@dataclass(frozen=True)
class Making:
    """Where and with what the runs behind a table were made."""

    runs: int
    seconds: float
    devices: tuple[str, ...]
    versions: tuple[str, ...]  # each a line of names and versions


@dataclass(frozen=True)
class Margin:
    """By how much one row is ahead of another in a column, paired by seed."""

    column: str
    paper: float | None
    ours: Summary | None
    beside: Summary | None = None  # the same for the column's second split

    @property
    def surplus(self) -> float | None:
        """Ours less the paper's, in paired standard errors; None where that has no meaning."""
        if self.paper is None or self.ours is None or not self.ours.standard_error:
            return None
        return (self.ours.mean - self.paper) / self.ours.standard_error


@dataclass(frozen=True)
class JudgedClaim:
    """A claim about two rows, judged in every column."""

    claim: Claim
    margins: tuple[Margin, ...]

    def word(self, ahead: Summary | None) -> Literal["holds", "undecided", "reversed", "missing"]:
        """Return how a paired difference judges the claim: beyond two standard errors or not."""
        if ahead is None:
            return "missing"
        reach = 2 * (ahead.standard_error or 0.0)
        if ahead.mean < -reach:
            return "reversed"
        return "holds" if ahead.mean > reach or self.claim.or_equal else "undecided"


@dataclass(frozen=True)
class Comparison:
    """A table, compared."""

    table: Table
    rows: tuple[ComparedRow, ...]
    making: Making
    claims: tuple[JudgedClaim, ...] = ()


def compare(table: Table, store: Store) -> Comparison:
    """The table beside the runs in `store`; for the other sources the store is not read."""
    used: dict[tuple[Key, int], StoredRun] = {}
    rows = tuple(_compared_row(table, row, store, used) for row in table.rows)
    titled = {row.title: row for row in table.rows}
    claims = tuple(
        _judged(table, claim, titled[claim.first], titled[claim.second], store)
        for claim in table.claims
        if {claim.first, claim.second} <= set(titled)  # a narrowed table lacks rows
    )
    return Comparison(table, rows, _making(used.values()), claims)


def _judged(table: Table, claim: Claim, first: Row, second: Row, store: Store) -> JudgedClaim:
    def ahead(column: Column, split: str | None = None) -> Summary | None:
        own, other = (
            _values(table, cell_of(table, row, column, split), store, {}) for row in (first, second)
        )
        gaps = [value - other[seed] for seed, value in own.items() if seed in other]
        return Summary(gaps) if gaps else None

    margins = []
    for k, column in enumerate(table.columns):
        figures = (first.figures[k], second.figures[k])
        paper = None
        if figures[0] is not None and figures[1] is not None:
            paper = figures[0].mean - figures[1].mean
        beside = None if column.beside is None else ahead(column, column.beside)
        margins.append(Margin(column.title, paper, ahead(column), beside))
    return JudgedClaim(claim, tuple(margins))


def _compared_row(
    table: Table, row: Row, store: Store, used: dict[tuple[Key, int], StoredRun]
) -> ComparedRow:
    cells = tuple(_compared(table, row, k, store, used) for k in range(len(table.columns)))
    sample = cell_of(table, row, table.columns[0])
    is_absent = table.source != "data" and method_of(sample) is None
    return ComparedRow(row, cells, absence(sample) if is_absent else None)


def _compared(
    table: Table, row: Row, k: int, store: Store, used: dict[tuple[Key, int], StoredRun]
) -> ComparedCell:
    column: Column = table.columns[k]
    ours = _found(table, cell_of(table, row, column), store, used)
    beside = None
    if column.beside is not None:
        beside = _found(table, cell_of(table, row, column, column.beside), store, used)
    references = tuple(
        ComparedReference(
            each.source, each.figures[k], verdict(each.figures[k], ours, table.tolerance)
        )
        for each in row.references
    )
    paper = row.figures[k]
    return ComparedCell(paper, ours, verdict(paper, ours, table.tolerance), beside, references)


def _found(
    table: Table, cell: Cell, store: Store, used: dict[tuple[Key, int], StoredRun]
) -> Summary | None:
    if cell.source != "runs":
        value = _data_fact(table, cell) if cell.source == "data" else _preset_fact(cell)
        return None if value is None else Summary([value])
    values = _values(table, cell, store, used)
    return Summary(list(values.values())) if values else None


def _values(
    table: Table, cell: Cell, store: Store, used: dict[tuple[Key, int], StoredRun]
) -> dict[int, float]:
    """Return the value of each finished run of a cell, by seed."""
    spec = run_spec_of(cell)
    if spec is None:
        return {}
    key = Key(spec.hash, table.data(cell.dataset).fingerprint)
    runs = [run for run in store.runs(key) if run.seed < cell.seeds]
    used.update({(key, run.seed): run for run in runs})
    is_accuracy = cell.value == "accuracy"
    return {run.seed: run.accuracy if is_accuracy else run.extra[cell.value] for run in runs}


def _making(runs: Iterable[StoredRun]) -> Making:
    kept = list(runs)
    words = {", ".join(f"{name} {v}" for name, v in run.versions.items()) for run in kept}
    return Making(
        runs=len(kept),
        seconds=sum(run.seconds for run in kept),
        devices=tuple(sorted({_place(run) for run in kept})),
        versions=tuple(sorted(words)),
    )


def _place(run: StoredRun) -> str:
    """The device and backend of a run, and its machine where it was recorded."""
    words = f"{run.device}, backend {run.backend}"
    return f"{words} ({machine_words(run.machine)})" if run.machine else words


_OF_DATA: Final[Mapping[str, Callable[[NodeData], int]]] = {
    "nodes": lambda data: data.nodes,
    "edges": lambda data: data.edges.shape[1],
    "listed_edges": lambda data: data.facts.raw_edge_entries // 2,
    "classes": lambda data: data.classes,
    "features": lambda data: data.feature_count,
}


def _data_fact(table: Table, cell: Cell) -> float:
    """A figure of a dataset."""
    data = table.data(cell.dataset)
    if cell.value == "training_nodes":
        return make_splits(data, cell.split, (0,))[0].train.size
    if cell.value not in _OF_DATA:
        known = ", ".join((*_OF_DATA, "training_nodes"))
        raise DataError(f"unknown value '{cell.value}' of a dataset; known: {known}.")
    return _OF_DATA[cell.value](data)


def _preset_fact(cell: Cell) -> float | None:
    """A hyper-parameter of a preset; None where its method is missing."""
    method = method_of(cell)
    if method is None:
        return None
    if not hasattr(method, cell.value):
        raise DataError(f"{method.name} has no hyper-parameter '{cell.value}'.")
    return float(getattr(method, cell.value))
