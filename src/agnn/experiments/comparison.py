"""A table beside what was found: cell by cell the paper's figure, ours, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agnn.data import load_dataset
from agnn.experiments.facts import fact
from agnn.experiments.run_spec import absence, method_of, run_spec_of
from agnn.experiments.spec import Cell, Column, PaperFigure, Row, Table, cell_of
from agnn.experiments.store import Store
from agnn.experiments.stored_run import Key, StoredRun
from agnn.experiments.verdict import Verdict, verdict
from agnn.metrics import Summary


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
    """One row, compared; `absence` says why its method is not there.

    `method_note` is what the method itself says of its sources, empty for most.
    """

    row: Row
    cells: tuple[ComparedCell, ...]
    absence: str | None = None
    method_note: str = ""


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
    method = None if table.source == "data" else method_of(sample)
    is_absent = table.source != "data" and method is None
    note = str(getattr(method, "note", ""))
    return ComparedRow(row, cells, absence(sample) if is_absent else None, note)


def _compared(
    table: Table, row: Row, k: int, store: Store, used: dict[tuple[Key, int], StoredRun]
) -> ComparedCell:
    column: Column = table.columns[k]
    ours = _found(cell_of(table, row, column), store, used)
    beside = None
    if column.beside is not None:
        beside = _found(cell_of(table, row, column, column.beside), store, used)
    references = tuple(
        ComparedReference(
            each.source, each.figures[k], verdict(each.figures[k], ours, table.tolerance)
        )
        for each in row.references
    )
    paper = row.figures[k]
    return ComparedCell(paper, ours, verdict(paper, ours, table.tolerance), beside, references)


def _found(cell: Cell, store: Store, used: dict[tuple[Key, int], StoredRun]) -> Summary | None:
    if cell.source != "runs":
        value = fact(cell)
        return None if value is None else Summary([value])
    spec = run_spec_of(cell)
    if spec is None:
        return None
    key = Key(spec.hash, load_dataset(cell.dataset).fingerprint)
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
        devices=tuple(sorted({f"{run.device}, backend {run.backend}" for run in kept})),
        versions=tuple(sorted(words)),
    )
