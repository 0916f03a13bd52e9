"""What an experiment of the paper is: a table of cells or a figure of panels, as plain data."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from agnn.errors import InputError

Source = Literal["runs", "data", "presets"]
Drawn = Literal["relevance", "neighbourhoods"]

_PRINTED = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)(?: ± ([0-9]+(?:\.[0-9]+)?))?")


@dataclass(frozen=True)
class PaperFigure:
    """A number as a paper prints it, with its standard error where it has one."""

    printed: str  # "83.1 ± 0.08"
    mean: float
    error: float | None = None

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The figure in "83.1 ± 0.08" or "83.1"; None for an empty cell."""
        if text == "":
            return None
        match = _PRINTED.fullmatch(text)
        if match is None:
            raise InputError(f"'{text}' is no figure; write '83.1', '83.1 ± 0.08' or ''.")
        return cls(text, float(match[1]), None if match[2] is None else float(match[2]))


@dataclass(frozen=True)
class Reference:
    """The same row in another paper."""

    source: str
    figures: tuple[PaperFigure | None, ...]


@dataclass(frozen=True)
class Column:
    """What the cells of a column share; `beside` is a split whose figure is printed with theirs."""

    title: str
    dataset: str | None = None
    split: str | None = None
    value: str | None = None
    beside: str | None = None


@dataclass(frozen=True)
class Row:
    """What the cells of a row share, and the paper's figures, one a column."""

    title: str
    figures: tuple[PaperFigure | None, ...]
    method: str | None = None
    configuration: str = "published"
    fields: Mapping[str, Any] = field(default_factory=dict)
    dataset: str | None = None
    split: str | None = None
    value: str | None = None
    seeds: int | None = None  # 1: nothing is drawn, so another seed would repeat the first
    group: str = ""
    notes: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table of the paper, or one of ours in its manner.

    `source` says where our figures come from: trained runs, the data, or the presets.
    """

    name: str
    place: str  # "Table 2", as in the paper
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    source: Source = "runs"
    seeds: int = 1
    tolerance: float = 0.4
    digits: int | None = 2  # decimal places of our figures; None: as many as they have
    unit: str = ""
    notes: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        """The title, after the table's place in the paper if it has one."""
        return f"{self.place}: {self.title}" if self.place else self.title


@dataclass(frozen=True)
class Panel:
    """A part of a figure: a layer's relevance, or the neighbourhoods of `count` test nodes."""

    dataset: str
    title: str
    layer: int | None = None
    count: int | None = None


@dataclass(frozen=True)
class Drawing:
    """A figure of the paper."""

    name: str
    place: str
    title: str
    kind: Drawn
    seeds: int
    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        """The title, after the figure's place in the paper if it has one."""
        return f"{self.place}: {self.title}" if self.place else self.title


Experiment = Table | Drawing


@dataclass(frozen=True)
class Cell:
    """One cell of a table: all that our figure in it depends on."""

    source: Source
    value: str
    dataset: str
    split: str
    method: str | None
    configuration: str
    fields: tuple[tuple[str, Any], ...]
    seeds: int


def cell_of(table: Table, row: Row, column: Column, split: str | None = None) -> Cell:
    """The cell where a row and a column meet; `split` takes the place of theirs."""
    return Cell(
        source=table.source,
        value=row.value or column.value or "accuracy",
        dataset=row.dataset or column.dataset or "",
        split=split or row.split or column.split or "fixed",
        method=row.method,
        configuration=row.configuration,
        fields=tuple(sorted(row.fields.items())),
        seeds=table.seeds if row.seeds is None else row.seeds,
    )


def is_finite_number(value: object) -> bool:
    """Whether this is an int or float of ordinary size; true and false are not."""
    return isinstance(value, int | float) and type(value) is not bool and math.isfinite(value)
