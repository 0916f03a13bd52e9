"""TOML files to experiments; a key that is unknown or of the wrong kind is refused by name."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final, cast, get_args

from agnn.data import dataset_names
from agnn.errors import AgnnError, DataError
from agnn.experiments.keys import Keys
from agnn.experiments.spec import (
    Column,
    Drawing,
    Drawn,
    Experiment,
    Panel,
    PaperFigure,
    Reference,
    Row,
    Source,
    Table,
)

_CONFIGURATIONS: Final = ("published", "tuned")


def read_experiment(name: str, text: str, file: str) -> Experiment:
    """The experiment in a TOML text; `file` is what an error calls it."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"'{file}' is no TOML: {error}") from error
    keys = Keys(values, file)
    experiment = _drawing(name, keys) if "kind" in values else _table(name, keys)
    keys.finish()
    return experiment


def read_experiment_file(path: Path) -> Experiment:
    """The experiment in a file of one's own."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read '{path}': {error}") from error
    return read_experiment(path.stem, text, str(path))


def _table(name: str, keys: Keys) -> Table:
    columns = tuple(_column(each) for each in keys.tables("columns"))
    table = Table(
        name=name,
        place=keys.text("place", ""),
        title=keys.text("title"),
        columns=columns,
        rows=tuple(_row(each, len(columns)) for each in keys.tables("rows")),
        source=cast(Source, keys.choice("source", get_args(Source), "runs")),
        seeds=keys.count("seeds", 1),
        tolerance=keys.number("tolerance", 0.4),
        digits=keys.optional_count("digits", 2),
        unit=keys.text("unit", ""),
        notes=keys.texts("notes"),
    )
    _check_cells(table, keys)
    return table


def _column(keys: Keys) -> Column:
    column = Column(
        title=keys.text("title"),
        dataset=_dataset(keys),
        split=keys.optional_text("split"),
        value=keys.optional_text("value"),
        beside=keys.optional_text("beside"),
    )
    keys.finish()
    return column


def _row(keys: Keys, width: int) -> Row:
    row = Row(
        title=keys.text("title"),
        figures=_figures(keys, "paper", width),
        method=keys.optional_text("method"),
        configuration=keys.choice("configuration", _CONFIGURATIONS, "published"),
        fields=keys.mapping("fields"),
        dataset=_dataset(keys),
        split=keys.optional_text("split"),
        value=keys.optional_text("value"),
        seeds=keys.optional_count("seeds", None),
        group=keys.text("group", ""),
        notes=keys.texts("notes"),
        references=tuple(_reference(each, width) for each in keys.tables("references", ())),
    )
    keys.finish()
    return row


def _reference(keys: Keys, width: int) -> Reference:
    reference = Reference(keys.text("source"), _figures(keys, "figures", width))
    keys.finish()
    return reference


def _figures(keys: Keys, key: str, width: int) -> tuple[PaperFigure | None, ...]:
    printed = keys.texts(key)
    if len(printed) != width:
        raise keys.error(key, f"has {len(printed)} figures for {width} columns")
    try:
        return tuple(PaperFigure.parse(each) for each in printed)
    except AgnnError as error:
        raise keys.error(key, str(error)) from error


def _dataset(keys: Keys) -> str | None:
    return keys.choice("dataset", dataset_names(), None)


def _check_cells(table: Table, keys: Keys) -> None:
    """Every cell needs a dataset, and one that is run or preset a method."""
    if not table.columns or not table.rows:
        raise keys.error("rows", "and `columns` must not be empty")
    for row in table.rows:
        if table.source != "data" and row.method is None:
            raise keys.error("rows", f"'{row.title}' needs a `method`")
        for column in table.columns:
            if row.dataset is None and column.dataset is None:
                raise keys.error("rows", f"'{row.title}' has no `dataset` under '{column.title}'")


def _drawing(name: str, keys: Keys) -> Drawing:
    kind = cast(Drawn, keys.choice("kind", get_args(Drawn), None))
    panels = tuple(_panel(each, kind) for each in keys.tables("panels"))
    return Drawing(
        name=name,
        place=keys.text("place", ""),
        title=keys.text("title"),
        kind=kind,
        seeds=keys.count("seeds", 1),
        panels=panels,
        notes=keys.texts("notes"),
    )


def _panel(keys: Keys, kind: Drawn) -> Panel:
    is_relevance = kind == "relevance"
    panel = Panel(
        dataset=str(keys.choice("dataset", dataset_names(), "")),
        title=keys.text("title"),
        layer=keys.count("layer") if is_relevance else None,
        count=None if is_relevance else keys.count("count"),
    )
    keys.finish()
    if not panel.dataset:
        raise keys.error("dataset", "is missing")
    return panel
