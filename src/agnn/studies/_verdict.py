"""A table beside its runs: cell by cell the paper's figure, ours, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from agnn.data import NodeData, make_splits
from agnn.errors import DataError
from agnn.metrics import Summary
from agnn.runs import machine_words
from agnn.studies._spec import Cell, Claim, Column, PaperFigure, Row, Table, cell_of
from agnn.studies._store import Store, StoredRun
from agnn.studies._works import Key, absence, method_of, run_spec_of

Verdict = Literal[
    "within 2 se", "within tolerance", "above", "below", "not in the paper", "missing"
]
# Rounding in the sum must not decide: 81.5 - 81.1 is above 0.4 by one part in 10^15.
_ROUNDING = 1e-9


def verdict(paper: PaperFigure | None, ours: Summary | None, tolerance: float) -> Verdict:
    """Return how our figure stands to the paper's."""
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
    return math.hypot(ours.standard_error or 0.0, paper.standard_error or 0.0)


@dataclass(frozen=True)
class ComparedReference:
    """Our figure against another paper's."""

    source: str
    figure: PaperFigure | None
    verdict: Verdict


@dataclass(frozen=True)
class ComparedCell:
    """One cell, compared; `nested` is the figure of the column's second split."""

    paper: PaperFigure | None
    ours: Summary | None
    verdict: Verdict
    nested: Summary | None = None
    references: tuple[ComparedReference, ...] = ()

    @property
    def is_reproduced(self) -> bool:
        """Whether our figure is the paper's, by the rule."""
        return self.verdict in ("within 2 se", "within tolerance")

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
    nested: Summary | None = None  # the same for the column's second split

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

    RULE: ClassVar[str] = (
        "a figure is reproduced in one of two ways. Within 2 se: ours differs from the paper's by"
        " at most two joint standard errors, se = √(se_ours² + se_paper²). Within tolerance: it "
        "differs by more, but by no more than two joint standard errors and the tolerance "
        "together, so that the tolerance alone decides; its size is a convention of this page, "
        "derived from nothing. A standard error that is not known counts as 0. Above or below: "
        "the difference is larger. z is the difference in joint standard errors; it has no value "
        "where both are single numbers. Not in the paper: the paper's cell is empty. Missing: no "
        "run yet."
    )

    table: Table
    rows: tuple[ComparedRow, ...]
    making: Making
    claims: tuple[JudgedClaim, ...] = ()


def compare_table(table: Table, store: Store) -> Comparison:
    """Return the table beside the runs in `store`, which no other source than runs reads."""
    reader = _Reader(table, store)
    rows = tuple(_compare_row(reader, row) for row in table.rows)
    titled = {row.title: row for row in table.rows}
    claims = tuple(
        _judge(reader, claim, titled[claim.first], titled[claim.second])
        for claim in table.claims
        if {claim.first, claim.second} <= set(titled)  # a narrowed table lacks rows
    )
    return Comparison(table, rows, _making(list(reader.used.values())), claims)


class _Reader:
    """Our figures for the cells of a table, and the runs that they are made of."""

    def __init__(self, table: Table, store: Store) -> None:
        self.table = table
        self.store = store
        self.used: dict[tuple[Key, int], StoredRun] = {}

    def figure(self, row: Row, column: Column, split: str | None = None) -> Summary | None:
        """Return our figure where a row and a column meet; None without any run."""
        cell = cell_of(self.table, row, column, split)
        if cell.source == "runs":
            values = list(self.values(cell).values())
        else:
            fact = _data_fact(self.table, cell) if cell.source == "data" else _preset_fact(cell)
            values = [] if fact is None else [fact]
        return Summary(values) if values else None

    def values(self, cell: Cell) -> dict[int, float]:
        """Return the value of each finished run of a cell, by seed."""
        spec = run_spec_of(cell)
        if spec is None:
            return {}
        key = Key(spec.hash, self.table.data(cell.dataset).fingerprint)
        runs = [run for run in self.store.runs(key) if run.seed < cell.seeds]
        self.used.update({(key, run.seed): run for run in runs})
        is_accuracy = cell.value == "accuracy"
        return {run.seed: run.accuracy if is_accuracy else run.extra[cell.value] for run in runs}

    def difference(
        self, first: Row, second: Row, column: Column, split: str | None = None
    ) -> Summary | None:
        """Return by how much the first row is ahead of the second, paired by seed."""
        ahead = self.values(cell_of(self.table, first, column, split))
        behind = self.values(cell_of(self.table, second, column, split))
        # Paired, so that what a seed does to both rows, such as a hard split, cancels.
        gaps = [value - behind[seed] for seed, value in ahead.items() if seed in behind]
        return Summary(gaps) if gaps else None


def _compare_row(reader: _Reader, row: Row) -> ComparedRow:
    table = reader.table
    cells = tuple(_compare_cell(reader, row, k) for k in range(len(table.columns)))
    sample = cell_of(table, row, table.columns[0])
    is_absent = table.source != "data" and method_of(sample) is None
    return ComparedRow(row, cells, absence(sample) if is_absent else None)


def _compare_cell(reader: _Reader, row: Row, k: int) -> ComparedCell:
    table = reader.table
    column = table.columns[k]
    paper = row.figures[k]
    ours = reader.figure(row, column)
    references = tuple(
        ComparedReference(
            reference.source,
            reference.figures[k],
            verdict(reference.figures[k], ours, table.tolerance),
        )
        for reference in row.references
    )
    return ComparedCell(
        paper=paper,
        ours=ours,
        verdict=verdict(paper, ours, table.tolerance),
        nested=None if column.beside is None else reader.figure(row, column, column.beside),
        references=references,
    )


def _judge(reader: _Reader, claim: Claim, first: Row, second: Row) -> JudgedClaim:
    margins = []
    for k, column in enumerate(reader.table.columns):
        printed = (first.figures[k], second.figures[k])
        paper = None
        if printed[0] is not None and printed[1] is not None:
            paper = printed[0].mean - printed[1].mean
        nested = None
        if column.beside is not None:
            nested = reader.difference(first, second, column, column.beside)
        ours = reader.difference(first, second, column)
        margins.append(Margin(column.title, paper, ours, nested))
    return JudgedClaim(claim, tuple(margins))


def _making(runs: Sequence[StoredRun]) -> Making:
    versions = {", ".join(f"{name} {v}" for name, v in run.versions.items()) for run in runs}
    return Making(
        runs=len(runs),
        seconds=sum(run.seconds for run in runs),
        devices=tuple(sorted({_device(run) for run in runs})),
        versions=tuple(sorted(versions)),
    )


def _device(run: StoredRun) -> str:
    """Return the device and backend of a run, and its machine where it was recorded."""
    text = f"{run.device}, backend {run.backend}"
    return f"{text} ({machine_words(run.machine)})" if run.machine else text


_OF_DATA: Final[Mapping[str, Callable[[NodeData], int]]] = {
    "nodes": lambda data: data.nodes,
    "edges": lambda data: data.edges.shape[1],
    "listed_edges": lambda data: data.facts.raw_edge_entries // 2,
    "classes": lambda data: data.classes,
    "features": lambda data: data.feature_count,
}


def _data_fact(table: Table, cell: Cell) -> float:
    """Return a figure of a dataset."""
    data = table.data(cell.dataset)
    if cell.value == "training_nodes":
        return make_splits(data, cell.split, (0,))[0].train.size
    if cell.value not in _OF_DATA:
        names = ", ".join((*_OF_DATA, "training_nodes"))
        raise DataError(f"unknown value '{cell.value}' of a dataset; known: {names}.")
    return _OF_DATA[cell.value](data)


def _preset_fact(cell: Cell) -> float | None:
    """Return a hyper-parameter of a preset; None where its method is missing."""
    method = method_of(cell)
    if method is None:
        return None
    if not hasattr(method, cell.value):
        raise DataError(f"{method.name} has no hyper-parameter '{cell.value}'.")
    return float(getattr(method, cell.value))
