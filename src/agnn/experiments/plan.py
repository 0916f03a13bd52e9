"""A table to the work behind it: which runs, each once, and in what order."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

from agnn.data import NodeData, load_dataset
from agnn.errors import InputError, unknown_name
from agnn.experiments.run_spec import MEASURES, RunSpec, method_of
from agnn.experiments.spec import Cell, Column, Drawing, Row, Table, cell_of
from agnn.experiments.store import Key
from agnn.methods import Method, method_names


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

    @cached_property
    def spec(self) -> RunSpec:
        """What the runs depend on besides data and seed."""
        return RunSpec.of(self.method, self.split, self.measure)

    @cached_property
    def key(self) -> Key:
        """Where the runs are found in a store."""
        return Key(self.spec.hash, self.data.fingerprint)

    @property
    def label(self) -> str:
        """The work in words."""
        return f"{self.experiment}: {self.title} on {self.data.name}, {self.split}"


@dataclass(frozen=True)
class Choice:
    """What a user narrows an experiment to; None narrows nothing."""

    methods: frozenset[str] | None = None
    datasets: frozenset[str] | None = None
    seeds: int | None = None

    def takes_method(self, name: str | None) -> bool:
        """Whether a row of this method stays; one without a method does where none is named."""
        return self.methods is None or name in self.methods

    def takes_dataset(self, name: str | None) -> bool:
        """Whether a row or column of this dataset stays; one without a dataset does."""
        return self.datasets is None or name is None or name in self.datasets


def narrowed(table: Table, choice: Choice) -> Table:
    """The table with the chosen rows and columns, and so many seeds."""
    kept = [k for k, column in enumerate(table.columns) if choice.takes_dataset(column.dataset)]
    rows = tuple(
        _narrowed_row(row, kept, choice)
        for row in table.rows
        if choice.takes_method(row.method) and choice.takes_dataset(row.dataset)
    )
    columns = tuple(table.columns[k] for k in kept)
    seeds = table.seeds if choice.seeds is None else choice.seeds
    return replace(table, rows=rows, columns=columns, seeds=seeds)


def narrowed_drawing(drawing: Drawing, choice: Choice) -> Drawing:
    """The figure with the panels of the chosen datasets; none where AGNN is not chosen."""
    panels = tuple(each for each in drawing.panels if choice.takes_dataset(each.dataset))
    seeds = drawing.seeds if choice.seeds is None else choice.seeds
    return replace(drawing, panels=panels if choice.takes_method("agnn") else (), seeds=seeds)


def _narrowed_row(row: Row, kept: list[int], choice: Choice) -> Row:
    references = tuple(
        replace(each, figures=tuple(each.figures[k] for k in kept)) for each in row.references
    )
    # One seed means that nothing is drawn: more would be the same run again.
    seeds = row.seeds if choice.seeds is None or row.seeds == 1 else None
    figures = tuple(row.figures[k] for k in kept)
    return replace(row, figures=figures, references=references, seeds=seeds)


def check_choice(choice: Choice, tables: Collection[Table]) -> None:
    """Raise for a method that neither exists nor stands in a table, and for no seeds at all."""
    known = {row.method for table in tables for row in table.rows if row.method is not None}
    for name in choice.methods or ():
        if name not in known and name not in method_names():
            raise unknown_name("method", name, known)
    for name in choice.datasets or ():
        load_dataset(name)
    if choice.seeds is not None and choice.seeds < 1:
        raise InputError(f"`seeds` must be at least 1; got {choice.seeds}.")


def works_of(table: Table) -> list[Work]:
    """The work behind a table, column by column of a row; what is not there (yet) is left out."""
    found: dict[Key, Work] = {}
    if table.source != "runs":
        return []
    for row in table.rows:
        for column in table.columns:
            for cell in cells_of(table, row, column):
                work = _work(table.name, row.title, cell)
                if work is not None:
                    found.setdefault(work.key, work)
    return list(found.values())


def cells_of(table: Table, row: Row, column: Column) -> list[Cell]:
    """The cell, and the one whose figure stands beside it."""
    beside = [] if column.beside is None else [cell_of(table, row, column, column.beside)]
    return [cell_of(table, row, column), *beside]


def _work(experiment: str, title: str, cell: Cell) -> Work | None:
    method = method_of(cell)
    if method is None:
        return None
    data, measure = load_dataset(cell.dataset), MEASURES[cell.value]
    return Work(experiment, title, method, data, cell.split, measure, tuple(range(cell.seeds)))
