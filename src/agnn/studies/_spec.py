"""What an experiment is: a table of cells or a figure of panels, as plain data.

The annotations are also the schema of the TOML files: pydantic reads these classes from them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from agnn.data import NodeData, load_dataset
from agnn.data.store import dataset_names
from agnn.errors import InputError

Source = Literal["runs", "data", "presets"]

_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_PRINTED = re.compile(rf"(-?{_NUMBER})(?: ± ({_NUMBER})(?P<deviation> \(sd(?: of ([0-9]+))?\))?)?")
_CLOSED = ConfigDict(extra="forbid")
_ELSEWHERE: Final = "not in the paper"  # the place of a table of ours


@dataclass(frozen=True)
class PaperFigure:
    """A number as a paper prints it, with its standard error where that is known."""

    printed: str  # "83.1 ± 0.08"
    mean: float
    standard_error: float | None = None
    deviation: float | None = None  # what is printed after ± where that is no standard error

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the figure in a text; None for an empty one.

        "83.1 ± 0.08" has a standard error. In "85.4 ± 0.4 (sd of 100)" a standard deviation over
        100 runs is printed, in "85.4 ± 0.4 (sd)" one over an unknown number.
        """
        if text == "":
            return None
        match = _PRINTED.fullmatch(text)
        if match is None:
            raise InputError(
                f"'{text}' is not a figure; write '83.1', '83.1 ± 0.08', '83.1 ± 0.8 (sd of 100)' "
                f"or ''."
            )
        mean = float(match[1])
        spread = None if match[2] is None else float(match[2])
        if spread is None or match["deviation"] is None:
            return cls(text, mean, spread)
        runs = None if match[4] is None else int(match[4])
        return cls(text, mean, None if runs is None else spread / math.sqrt(runs), spread)


def _parse_figures(texts: object) -> object:
    """Return the figures in a list of texts."""
    if not isinstance(texts, tuple) or not all(isinstance(text, str) for text in texts):
        raise ValueError("must be a list of texts")
    return tuple(PaperFigure.parse(text) for text in texts)


def _check_dataset(dataset: str | None) -> str | None:
    """Return the name of a dataset of the package; raise for any other."""
    if dataset is not None and dataset not in dataset_names():
        names = ", ".join(dataset_names())
        raise ValueError(f"is '{dataset}', which is unknown; known: {names}")
    return dataset


def _or_none(number: object) -> object:
    return None if number == -1 else number


Figures = Annotated[tuple[PaperFigure | None, ...], BeforeValidator(_parse_figures)]
Dataset = Annotated[str | None, AfterValidator(_check_dataset)]
Count = Annotated[int, Field(ge=1, strict=True)]
# A whole number from 0 up; -1 in a file stands for none.
OptionalCount = Annotated[int | None, Field(ge=0, strict=True), BeforeValidator(_or_none)]


@dataclass(frozen=True)
class Reference:
    """The same row in another paper."""

    __pydantic_config__: ClassVar = _CLOSED

    source: str
    figures: Figures


@dataclass(frozen=True)
class Column:
    """What the cells of a column share; `beside` is a split whose figure is printed with theirs."""

    __pydantic_config__: ClassVar = _CLOSED

    title: str
    dataset: Dataset = None
    split: str | None = None
    value: str | None = None
    beside: str | None = None


@dataclass(frozen=True)
class Row:
    """What the cells of a row share, and the paper's figures, one per column."""

    __pydantic_config__: ClassVar = _CLOSED

    title: str
    figures: Annotated[Figures, Field(alias="paper")] = ()
    method: str | None = None
    # "default": what a graph without published hyper-parameters gets
    configuration: Literal["published", "tuned", "default"] = "published"
    fields: Mapping[str, Any] = field(default_factory=dict)
    dataset: Dataset = None
    split: str | None = None
    value: str | None = None
    seeds: OptionalCount = None  # 1: nothing is drawn, so another seed would repeat the first
    group: str = ""
    notes: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True)
class Claim:
    """A claim of the paper about two rows of a table: the first has the higher figures."""

    __pydantic_config__: ClassVar = _CLOSED

    text: str
    first: str  # title of a row
    second: str
    or_equal: bool = False  # the claim is that the first is at least as good


@dataclass(frozen=True, kw_only=True)
class _Experiment:
    """What tables and figures have in common."""

    __pydantic_config__: ClassVar = _CLOSED

    name: str
    title: str
    place: str = ""  # "Table 2", as in the paper
    seeds: Count = 1
    notes: tuple[str, ...] = ()
    file: str = ""  # of one's own, that it was read from
    command: str = ""  # that makes it again, once it is selected

    @property
    def heading(self) -> str:
        """The title, after the place in the paper if there is one."""
        return f"{self.place}: {self.title}" if self.place else self.title


@dataclass(frozen=True, kw_only=True)
class Table(_Experiment):
    """A table of the paper, or one of ours in its manner.

    `source` says where our figures come from: trained runs, the data, or the presets.
    """

    rows: tuple[Row, ...]
    columns: tuple[Column, ...] = ()
    source: Source = "runs"
    tolerance: Annotated[float, Field(ge=0, strict=True, allow_inf_nan=False)] = 0.4
    digits: OptionalCount = 2  # decimal places of our figures; None: as many as they have
    unit: str = ""
    claims: tuple[Claim, ...] = ()

    @property
    def is_of_others(self) -> bool:
        """Whether the published figures are those of other papers."""
        return self.place == _ELSEWHERE

    def data(self, dataset: str) -> NodeData:
        """Return the graph of a column."""
        return load_dataset(dataset)

    def preset(self, dataset: str) -> str:
        """Return the dataset whose published hyper-parameters a column takes."""
        return dataset


@dataclass(frozen=True)
class Panel:
    """A part of a figure."""

    __pydantic_config__: ClassVar = _CLOSED

    dataset: Annotated[str, AfterValidator(_check_dataset)]
    title: str

    @property
    def stem(self) -> str:
        """What sets its file apart from those of the other panels."""
        return self.dataset


@dataclass(frozen=True)
class RelevancePanel(Panel):
    """The relevance of a layer's attention, by classes, and what the paper reads from it."""

    layer: Count
    strongest: tuple[tuple[str, str], ...] = ()  # (from, to), the paper's strongest relations
    weakest: tuple[tuple[str, str], ...] = ()
    largest: str = ""  # the paper's value of the first of the strongest

    @property
    def stem(self) -> str:
        """The dataset and the layer."""
        return f"{self.dataset}-layer{self.layer}"


@dataclass(frozen=True)
class NeighbourhoodPanel(Panel):
    """The neighbourhoods of `count` test nodes, after the first `skip`, which others show."""

    count: Count
    skip: Annotated[int, Field(ge=0, strict=True)] = 0


@dataclass(frozen=True, kw_only=True)
class Drawing(_Experiment):
    """A figure of the paper."""

    kind: str
    panels: tuple[Panel, ...]


Experiment = Table | Drawing


@dataclass(frozen=True)
class Kind:
    """A kind of figure: the methods it looks at and what its panels hold.

    `agnn.report` has the function that draws it, under the same name.
    """

    methods: tuple[str, ...]
    panel: type[Panel]


KINDS: Final[Mapping[str, Kind]] = {
    "relevance": Kind(("agnn",), RelevancePanel),
    # What one gets right and the other wrong.
    "neighbourhoods": Kind(("agnn", "gcn"), NeighbourhoodPanel),
}


@dataclass(frozen=True)
class Cell:
    """One cell of a table: all that our figure in it depends on."""

    source: Source
    value: str
    dataset: str
    preset: str  # the dataset whose published hyper-parameters are meant; "*": the defaults
    split: str
    method: str | None
    configuration: str
    fields: tuple[tuple[str, Any], ...]
    seeds: int
    data: NodeData | None = field(default=None, repr=False, compare=False)  # that defaults suit


def cell_of(table: Table, row: Row, column: Column, split: str | None = None) -> Cell:
    """Return the cell where a row and a column meet; `split` takes the place of theirs."""
    dataset = row.dataset or column.dataset or ""
    preset = "*" if row.configuration == "default" else table.preset(dataset)
    return Cell(
        source=table.source,
        value=row.value or column.value or "accuracy",
        dataset=dataset,
        preset=preset,
        split=split or row.split or column.split or "fixed",
        method=row.method,
        configuration=row.configuration,
        fields=tuple(sorted(row.fields.items())),
        seeds=table.seeds if row.seeds is None else row.seeds,
        data=table.data(dataset) if preset == "*" else None,
    )
