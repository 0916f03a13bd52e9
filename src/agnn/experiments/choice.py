"""What a user narrows experiments to: some rows, some datasets, so many seeds."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from agnn.data import load_dataset
from agnn.errors import InputError, unknown_name
from agnn.experiments.spec import Drawing, Row, Table
from agnn.methods import method_names


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
