"""The data that a user names, and the options that describe it.

The readers' options are made from the fields of `agnn.data.ReadOptions`: a field that is added
there is an option of every command that reads tables.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import MISSING, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args, get_type_hints

import typer
from typer.models import OptionInfo

from agnn.cli._options import PANELS
from agnn.errors import DataError, InputError

if TYPE_CHECKING:
    from rich.table import Table

    from agnn.data import DataReport, NodeData, ReadOptions

_PANEL: Final = "Your own tables"

_STYLES: Final = {"cannot train": "bold red", "leak?": "bold red", "left out": "yellow"}

Dataset = Annotated[
    str | None,
    typer.Argument(
        help="cora, citeseer or pubmed; a folder of raw Planetoid files ind.NAME.* (write ./cora "
        "for a folder of that name); or a .graphml, .gexf or .npz file.",
        show_default="--nodes and --edges",
    ),
]
Nodes = Annotated[
    str | None,
    typer.Option(
        help="Table with one row per node: CSV, TSV, Parquet; or a query.", rich_help_panel=_PANEL
    ),
]
Edges = Annotated[
    str | None,
    typer.Option(
        help="Table with one row per edge, or an .edgelist file; or a query.",
        rich_help_panel=_PANEL,
    ),
]


def with_reader_options(
    command: Callable[..., None], names: Sequence[str] | None = None
) -> Callable[..., None]:
    """The command with an option for each of these fields of ReadOptions, or for all.

    The command takes them as one argument, `read`.
    """
    from agnn.data import ReadOptions

    signature, hints = inspect.signature(command), get_type_hints(ReadOptions, include_extras=True)
    own = {name: _in_panel(each) for name, each in signature.parameters.items() if name != "read"}
    made: dict[str, inspect.Parameter] = {}
    for field in fields(ReadOptions):
        hint = hints[field.name]
        if hasattr(hint, "__metadata__") and (names is None or field.name in names):
            made[field.name] = _parameter(field.name, *get_args(hint)[:2])

    @wraps(command)
    def expanded(**given: Any) -> None:
        chosen = {name: given.pop(name) for name in made}
        # A repeatable option that is not given is None, and an empty list to the readers.
        read = ReadOptions(**{name: value for name, value in chosen.items() if value})
        command(**given, read=read)

    expanded.__signature__ = signature.replace(parameters=[*own.values(), *made.values()])  # type: ignore[attr-defined]
    expanded.__annotations__ = {name: each.annotation for name, each in (own | made).items()}
    return expanded


def _in_panel(parameter: inspect.Parameter) -> inspect.Parameter:
    """The parameter as an option in its panel of the help; itself if it belongs to none."""
    panel = next((panel for panel, names in PANELS.items() if parameter.name in names), None)
    known = getattr(parameter.annotation, "__metadata__", (None,))[0]
    if panel is None or not isinstance(known, OptionInfo) or known.rich_help_panel is not None:
        return parameter
    option = copy(known)
    option.rich_help_panel = panel
    return parameter.replace(annotation=Annotated[get_args(parameter.annotation)[0], option])


def _parameter(name: str, kind: Any, words: str) -> inspect.Parameter:
    """The parameter for a field: a switch, a text, or a text that may be repeated."""
    from agnn.data import flags_of

    if kind is bool:
        default: Any = False
    else:
        default, is_list = None, kind == Sequence[str]
        kind = list[str] | None if is_list else str | None
        words = f"{words[:-1]}; may be repeated." if is_list else words
    option = typer.Option(*flags_of(name), help=words, rich_help_panel=_PANEL)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
    )


def given_options(read: ReadOptions) -> dict[str, Any]:
    """The options that differ from their defaults."""
    return {
        field.name: getattr(read, field.name)
        for field in fields(read)
        if field.default is not MISSING and getattr(read, field.name) != field.default
    }


def find_data(
    dataset: str | None, nodes: str | None, edges: str | None, name: str | None, read: ReadOptions
) -> NodeData:
    """The data that a user names; bundled datasets win over folders of that name."""
    from agnn.data import GRAPH_FILES, TABLE_FILES, read_graph

    options = given_options(read)
    if nodes is not None or edges is not None:
        if dataset is not None:
            raise InputError(f"give '{dataset}' or --nodes and --edges, not both.")
        from agnn.data import read_tables

        return read_tables(*both_tables(nodes, edges), name=name, **options)
    if dataset is None:
        raise InputError("missing argument 'dataset'; or give --nodes and --edges.")
    end = Path(dataset).suffix.lower()
    if end in GRAPH_FILES and read.database is None:
        return read_graph(dataset, name=name, **options)
    if end in TABLE_FILES:
        raise InputError(f"'{dataset}' is a table; give --nodes TABLE and --edges TABLE.")
    if options:
        flag = flag_of(next(iter(options)))
        raise InputError(f"{flag} goes with --nodes and --edges, or with a graph file.")
    return _known_or_raw(dataset, name)


def flag_of(field: str) -> str:
    """The option that sets a field."""
    from agnn.data import flags_of

    return flags_of(field)[0]


def both_tables(nodes: str | None, edges: str | None) -> tuple[str, str]:
    """Both tables; one alone is an error."""
    if nodes is None or edges is None:
        missing, given = ("edges", "nodes") if edges is None else ("nodes", "edges")
        raise InputError(f"--{given} goes with --{missing}: one table of nodes, one of edges.")
    return nodes, edges


def check_label(nodes: str | None, edges: str | None, read: ReadOptions) -> None:
    """Raise where tables are given without the column that holds the classes."""
    if nodes is None or edges is None or read.label is not None:
        return
    from agnn.data.tables import open_query, open_table

    is_file = read.database is None
    table = open_table(nodes) if is_file else open_query(nodes, read.database or "", "nodes")
    columns = ", ".join(table.columns[:20])
    raise InputError(
        f"name the column of {table.place} that holds the classes with --label; it has {columns}."
    )


def _known_or_raw(dataset: str, name: str | None) -> NodeData:
    from agnn.data import dataset_names, load_dataset, load_planetoid
    from agnn.distributed import is_parts_folder

    folder = Path(dataset)
    is_bundled = dataset.lower() in dataset_names()
    if not is_bundled and is_parts_folder(folder):
        raise InputError(f"'{dataset}' is a folder of parts, for `agnn train` and `agnn inspect`.")
    if not is_bundled and folder.is_dir():
        return load_planetoid(folder, name or _only_name(folder))
    if not is_bundled and (folder.exists() or os.sep in dataset):
        raise InputError(
            f"'{dataset}' is not a folder; give a folder of files ind.NAME.* or one of "
            f"{', '.join(dataset_names())}."
        )
    if name is not None:
        raise InputError(f"--name goes with a folder of raw files; '{dataset}' is not one.")
    return load_dataset(dataset)


def _only_name(folder: Path) -> str:
    matches = (re.fullmatch(r"ind\.(.+)\.graph", path.name) for path in folder.iterdir())
    names = sorted(match[1] for match in matches if match)
    if not names:
        raise DataError(
            f"'{folder}' holds no raw Planetoid files: ind.NAME.graph and seven more are expected."
        )
    if len(names) > 1:
        raise InputError(f"'{folder}' holds {', '.join(names)}; choose one with --name.")
    return names[0]


def data_table(report: DataReport) -> Table:
    """What is in the data, how each column is used, and what is unusual, the worst first."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, text in (*report.count_lines(), report.class_line(), *report.column_lines()):
        table.add_row(name, text)
    for name, text in report.warning_lines():
        table.add_row(Text(name, style=_STYLES.get(name.split(": ")[-1], "")), text)
    return table
