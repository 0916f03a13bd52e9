"""What the verdicts of a whole reproduction amount to: every published figure counted once.

A figure stands in several cells: as a copy in a later table, and as variants, such as the published
and the tuned settings of a method. Cells that compare no trained model are counted apart.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from agnn.experiments._comparison import ComparedCell, Comparison
from agnn.experiments._spec import Column, Row, Table

KindOfCell = Literal["trained", "data", "presets", "others", "copies"]
_KINDS: Final[tuple[KindOfCell, ...]] = ("trained", "data", "presets", "others", "copies")


class Variant(NamedTuple):
    """One way in which a published figure was rerun."""

    row: Row
    cell: ComparedCell


@dataclass(frozen=True)
class PublishedFigure:
    """A figure of the paper that models were trained for, with all its variants in a table."""

    table: Table
    column: Column
    variants: tuple[Variant, ...]  # as published first

    @property
    def as_published(self) -> Variant:
        """The first row that has the figure: the published settings."""
        return self.variants[0]

    @property
    def nearest(self) -> Variant:
        """The variant that is nearest to the figure, which is a choice by the figure itself."""
        return min(self.variants, key=lambda each: abs(each.cell.difference or 0.0))


@dataclass(frozen=True)
class Counts:
    """The cells that have a figure of ours and a published one, by kind."""

    cells: dict[KindOfCell, tuple[ComparedCell, ...]]
    figures: tuple[PublishedFigure, ...]  # of the kind "trained", in the order of the tables

    @property
    def headline(self) -> tuple[PublishedFigure, ...]:
        """The fixed splits of the methods that the paper trained itself, with its settings.

        These are the methods whose figures have a standard error somewhere in its tables.
        """
        trained = {
            each.as_published.row.method
            for each in self.figures
            if (paper := each.as_published.cell.paper) is not None and paper.error is not None
        }
        return tuple(each for each in self.figures if _is_headline(each, trained))


def _is_headline(figure: PublishedFigure, methods: set[str | None]) -> bool:
    row = figure.as_published.row
    is_plain = not row.fields and (row.value or figure.column.value) is None
    return row.method in methods and is_plain and figure.column.split in (None, "fixed")


def count_figures(comparisons: Sequence[Comparison]) -> Counts:
    """Sort the compared cells of all tables by kind, and gather the variants of each figure."""
    cells: dict[KindOfCell, list[ComparedCell]] = {kind: [] for kind in _KINDS}
    figures: dict[Hashable, list[Variant]] = {}
    homes: dict[Hashable, tuple[Table, Column]] = {}
    seen: set[Hashable] = set()
    for comparison in comparisons:
        table = comparison.table
        for compared in comparison.rows:
            for column, cell in zip(table.columns, compared.cells, strict=True):
                if cell.difference is None:
                    continue
                row = compared.row
                kind, figure = _kind(table), _identity(row, column, cell)
                # The same runs: the settings, the splits and their number are those of the figure.
                variant = (figure, row.configuration, row.split, _seeds(table, row))
                if table.source == "runs" and variant in seen:
                    kind = "copies"
                seen.add(variant)
                cells[kind].append(cell)
                if kind == "trained":
                    figures.setdefault(figure, []).append(Variant(row, cell))
                    homes.setdefault(figure, (table, column))
    return Counts(
        {kind: tuple(found) for kind, found in cells.items()},
        tuple(
            PublishedFigure(*homes[figure], tuple(variants)) for figure, variants in figures.items()
        ),
    )


def _kind(table: Table) -> KindOfCell:
    if table.source != "runs":
        return table.source
    return "others" if table.is_of_others else "trained"


def _identity(row: Row, column: Column, cell: ComparedCell) -> Hashable:
    """Return what a published figure is one of; rows may leave the splits of their column."""
    return (
        row.method,
        row.value or column.value,
        row.dataset or column.dataset,
        column.split or "fixed",
        tuple(sorted(row.fields.items())),
        None if cell.paper is None else cell.paper.printed,
    )


def _seeds(table: Table, row: Row) -> int:
    return table.seeds if row.seeds is None else row.seeds
