"""TOML files to experiments, and the experiments that come with the package."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from agnn.errors import DataError, unknown_name
from agnn.studies._spec import (
    KINDS,
    Claim,
    Column,
    Drawing,
    Experiment,
    Panel,
    Reference,
    Row,
    Table,
)

NAMES: Final = (
    "table1",
    "table2",
    "table3",
    "table4",
    "table5",
    "figure1",
    "table6",
    "figure2",
    "figure3",
    "figure4",
    "figure5",
    "figure6",
    "table7",
    "table8",
    "hyperparameters",
    "embeddings",
    "beyond",
)
"""The tables and figures of the package, in the order of the paper."""

GRAPHS: Final = "graphs"  # the table over a folder of somebody's own graphs
_DERIVED: Final = {"name", "file", "command"}  # fields that no file has
_TYPES: Final = {
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "a text",
    "tuple_type": "a list",
    "mapping_type": "a table",
    "dict_type": "a table",
}


@cache
def read_bundled(name: str) -> Experiment:
    """Return an experiment that comes with the package."""
    if name not in (*NAMES, GRAPHS):
        raise unknown_name("experiment", name, (*NAMES, GRAPHS, "all"))
    file = resources.files("agnn.studies") / "tables" / f"{name}.toml"
    return read_experiment(name, file.read_text(encoding="utf-8"), f"{name}.toml")


def find_experiments(names: Sequence[str | Experiment]) -> list[Experiment]:
    """Return the experiments of these names and files, each once; "all" stands for `NAMES`."""
    experiments: dict[str, Experiment] = {}
    for name in names:
        if not isinstance(name, str):
            experiments[name.file or name.name] = name
        elif name.endswith(".toml"):
            experiments[name] = read_experiment_file(Path(name))
        elif name.lower() == "all":
            experiments |= {bundled_name: read_bundled(bundled_name) for bundled_name in NAMES}
        else:
            experiments[name.lower()] = read_bundled(name.lower())
    return list(experiments.values())


def read_experiment_file(path: Path) -> Experiment:
    """Return the experiment in a file of one's own."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read '{path}': {error}") from error
    return replace(read_experiment(path.stem, text, str(path)), file=str(path))


def read_experiment(name: str, text: str, file: str) -> Experiment:
    """Return the experiment in a TOML text; `file` is what an error calls it."""
    try:
        values = _with_tuples(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"'{file}' is not TOML: {error}") from error
    for key in _DERIVED & set(values):
        raise DataError(f"{file}: unknown key `{key}`; an experiment goes by the name of its file.")
    if "kind" in values:
        return _drawing(name, values, file)
    table: Table = _read(Table, values | {"name": name}, file)
    _check_cells(table, file)
    return table


def _with_tuples(values: Any) -> Any:
    """Return the same values with tuples instead of lists, as the specifications have them."""
    if isinstance(values, dict):
        return {key: _with_tuples(value) for key, value in values.items()}
    return tuple(map(_with_tuples, values)) if isinstance(values, list) else values


def _drawing(name: str, values: dict[str, Any], file: str) -> Drawing:
    kind = values["kind"]
    if kind not in KINDS:
        raise DataError(f"{file}: `kind` is {kind!r}, which is unknown; known: {', '.join(KINDS)}.")
    panel = KINDS[kind].panel
    panels = _read(tuple[panel, ...], values.get("panels", ()), file, "panels", panel)  # type: ignore[valid-type]
    drawing: Drawing = _read(Drawing, values | {"name": name, "panels": panels}, file)
    return drawing


def _check_cells(table: Table, file: str) -> None:
    """Check that every cell has a dataset, every run or preset a method, every column a figure.

    A table without columns is one over graphs of somebody's own, which have no printed figures.
    """
    width = len(table.columns)
    if not table.rows:
        raise DataError(f"{file}: `rows` must not be empty.")
    for k, row in enumerate(table.rows):
        where = f"{file}, rows[{k}]"
        lists = [("paper", row.figures)]
        lists += [("figures", reference.figures) for reference in row.references]
        for key, figures in lists:
            if len(figures) != width:
                raise DataError(f"{where}: `{key}` has {len(figures)} figures for {width} columns.")
        if table.source != "data" and row.method is None:
            raise DataError(f"{where}: '{row.title}' needs a `method`.")
        for column in table.columns:
            if row.dataset is None and column.dataset is None:
                raise DataError(f"{where}: '{row.title}' has no `dataset` under '{column.title}'.")
    titles = [row.title for row in table.rows]
    for k, claim in enumerate(table.claims):
        for title in (claim.first, claim.second):
            if title not in titles:
                raise DataError(f"{file}, claims[{k}]: there is no row '{title}'.")


def _read(schema: Any, values: Any, file: str, start: str = "", panel: type = Panel) -> Any:
    """Return the values as the schema has them; the first mistake is an error by file and key."""
    try:
        return TypeAdapter(schema).validate_python(values)
    except ValidationError as error:
        mistake = error.errors()[0]
        location = [*([start] if start else []), *mistake["loc"]]
        tables = {
            "": schema,
            "columns": Column,
            "rows": Row,
            "references": Reference,
            "panels": panel,
            "claims": Claim,
        }
        # An entry of a plain list: the key is that of the list.
        while isinstance(location[-1], int) and location[-2] not in tables:
            location.pop()
        where = file
        table = ""
        for part in location[:-1]:
            where += f"[{part}]" if isinstance(part, int) else f", {part}"
            table = table if isinstance(part, int) else part
        key = location[-1]
        if isinstance(key, int):
            raise DataError(f"{where}[{key}] must be a table; got {mistake['input']!r}.") from error
        if mistake["type"] == "unexpected_keyword_argument":
            text = f"unknown key `{key}`; {_hint(key, tables[table])}"
        else:
            text = f"`{key}` {_description(mistake)}."
        raise DataError(f"{where}: {text}".replace("..", ".")) from error


def _hint(key: str, table: type) -> str:
    """Return the nearest key that a table may have, or all of them."""
    keys = sorted(set(TypeAdapter(table).json_schema()["properties"]) - _DERIVED)
    near = difflib.get_close_matches(key, keys, n=1)
    return f"did you mean `{near[0]}`?" if near else f"known: {', '.join(keys)}."


def _description(mistake: Any) -> str:
    """Return what is wrong with a value."""
    context = mistake.get("ctx", {})
    text = repr(mistake["input"])
    match mistake["type"]:
        case "missing" | "missing_argument":
            return "is missing"
        case "value_error":
            return str(context["error"])
        case "literal_error":
            return f"is {text}, which is unknown; known: {context['expected']}"
        case "greater_than_equal":
            return f"must be at least {context['ge']:g}; got {text}"
        case kind:
            return f"must be {_TYPES.get(kind, 'valid')}; got {text}"
