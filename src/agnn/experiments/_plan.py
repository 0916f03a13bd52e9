"""The runs behind a table: which ones, each once, and in what order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from agnn.data import NodeData
from agnn.experiments._run_spec import MEASURES, RunSpec, method_of
from agnn.experiments._spec import Cell, Column, Row, Table, cell_of
from agnn.experiments._store import Key, Store
from agnn.methods import Method


@dataclass(frozen=True, eq=False)
class Work:
    """The runs of one cell: a method on a dataset's splits, seed by seed."""

    experiment: str
    title: str  # of the row
    method: Method
    data: NodeData
    split: str
    measure: str | None
    seeds: tuple[int, ...]
    metric: str | None = None  # by which epochs and settings are chosen

    @cached_property
    def spec(self) -> RunSpec:
        """What the runs depend on besides data and seed."""
        return RunSpec.of(self.method, self.split, self.measure, self.metric)

    @cached_property
    def key(self) -> Key:
        """Where the runs are found in a store."""
        return Key(self.spec.hash, self.data.fingerprint)

    @property
    def label(self) -> str:
        """The work in words."""
        return f"{self.experiment}: {self.title} on {self.data.name}, {self.split}"


def works_of(table: Table) -> list[Work]:
    """The work behind a table, column by column of a row; what is not there (yet) is left out."""
    if table.source != "runs":
        return []
    works = (
        _work(table, row, cell)
        for row in table.rows
        for column in table.columns
        for cell in cells_of(table, row, column)
    )
    return together(work for work in works if work is not None)


def together(works: Iterable[Work]) -> list[Work]:
    """The same work with every key once: tables share runs, and the longest list of seeds counts.

    The order is that in which the keys first come.
    """
    found: dict[Key, Work] = {}
    for work in works:
        known = found.setdefault(work.key, work)
        if len(work.seeds) > len(known.seeds):
            found[work.key] = replace(known, seeds=work.seeds)
    return list(found.values())


def cells_of(table: Table, row: Row, column: Column) -> list[Cell]:
    """The cell, and the one whose figure stands beside it."""
    beside = [] if column.beside is None else [cell_of(table, row, column, column.beside)]
    return [cell_of(table, row, column), *beside]


def _work(table: Table, row: Row, cell: Cell) -> Work | None:
    method = method_of(cell)
    if method is None:
        return None
    return Work(
        table.name, row.title, method, table.data(cell.dataset), cell.split, MEASURES[cell.value],
        tuple(range(cell.seeds)),
    )  # fmt: skip


def count_runs(works: Iterable[Work], store: Store) -> tuple[int, int]:
    """How many runs of these works are finished, and how many there are in all."""
    works = together(works)
    total = sum(len(work.seeds) for work in works)
    return total - sum(len(store.missing(work.key, work.seeds)) for work in works), total
