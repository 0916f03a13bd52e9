"""A table beside what was found: cell by cell the paper's figure, ours, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from agnn.data import NodeData, make_splits
from agnn.errors import DataError
from agnn.experiments._run_spec import absence, method_of, run_spec_of
from agnn.experiments._spec import Cell, Column, PaperFigure, Row, Table, cell_of
from agnn.experiments._store import Key, Store, StoredRun
from agnn.metrics import Summary
from agnn.runs import machine_words

Verdict = Literal["reproduced", "above", "below", "not in the paper", "missing"]

RULE = (
    "reproduced: |ours - paper| ≤ 2 √(se_ours² + se_paper²) + tolerance, where a standard error "
    "that is not known counts as 0; above or below: the difference is larger; "
    "not in the paper: the paper's cell is empty; missing: no run yet."
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
    joint = math.hypot(ours.standard_error or 0.0, paper.error or 0.0)
    if abs(difference) <= 2 * joint + tolerance + _ROUNDING:
        return "reproduced"
    return "above" if difference > 0 else "below"


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
class Comparison:
    """A table, compared."""

    table: Table
    rows: tuple[ComparedRow, ...]
    making: Making


def compare(table: Table, store: Store) -> Comparison:
    """The table beside the runs in `store`; for the other sources the store is not read."""
    used: dict[tuple[Key, int], StoredRun] = {}
    rows = tuple(_compared_row(table, row, store, used) for row in table.rows)
    return Comparison(table, rows, _making(used.values()))


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
    spec = run_spec_of(cell)
    if spec is None:
        return None
    key = Key(spec.hash, table.data(cell.dataset).fingerprint)
    runs = [run for run in store.runs(key) if run.seed < cell.seeds]
    used.update({(key, run.seed): run for run in runs})
    is_accuracy = cell.value == "accuracy"
    values = [run.accuracy if is_accuracy else run.extra[cell.value] for run in runs]
    return Summary(values) if values else None


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
