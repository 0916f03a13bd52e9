"""What a user writes on the command line, as values that the library takes; the data they name."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from functools import partial
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    get_args,
    get_origin,
    get_type_hints,
)

import typer

from agnn.cli._config import file_of
from agnn.cli._options import HYPER_PARAMETERS
from agnn.errors import InputError, unknown_name
from agnn.options import TABLES, flag_of

if TYPE_CHECKING:
    from agnn.choosing import ClassWeight
    from agnn.data import DataReport, NodeData, ReadOptions
    from agnn.methods import Method
    from agnn.runs import Training
    from agnn.tables import ResultTable

_KINDS: Final = {"cannot train": "bad", "leak?": "bad", "left out": "warning"}  # of cells

Dataset = Annotated[
    str | None,
    typer.Argument(
        help="cora, citeseer or pubmed; or a .graphml, .gexf or .npz file.",
        show_default="--nodes and --edges",
    ),
]
Nodes = Annotated[
    str | None,
    typer.Option(
        help="Table with one row per node: CSV, TSV, Parquet; or a query.", rich_help_panel=TABLES
    ),
]
Edges = Annotated[
    str | None,
    typer.Option(
        help="Table with one row per edge, or an .edgelist file; or a query.",
        rich_help_panel=TABLES,
    ),
]


def given_options(read: ReadOptions) -> dict[str, Any]:
    """The options that differ from their defaults."""
    return {
        field.name: getattr(read, field.name)
        for field in fields(read)
        if field.default is not MISSING and getattr(read, field.name) != field.default
    }


def data_source(
    dataset: str | None, nodes: str | None, edges: str | None, name: str | None, read: ReadOptions
) -> str | Callable[[], NodeData]:
    """Return what a training is given: a folder of parts, or a function that reads the data."""
    from agnn.distributed import PartsFolder

    if dataset is None or not PartsFolder.is_at(dataset):
        return partial(find_data, dataset, nodes, edges, name, read)
    tables = {"nodes": nodes, "edges": edges, "name": name} | given_options(read)
    for field, value in tables.items():
        if value is not None:
            raise InputError(
                f"{reader_flag(field)} is for tables and graph files; '{dataset}' is a folder "
                f"of parts, which `agnn partition` made with such options."
            )
    return dataset


def find_data(
    dataset: str | None, nodes: str | None, edges: str | None, name: str | None, read: ReadOptions
) -> NodeData:
    """The data that a user names."""
    from agnn.data import TABLE_FILES
    from agnn.data.sources import GRAPH_FILES, read_graph

    options = given_options(read)
    if nodes is not None or edges is not None:
        if dataset is not None:
            raise InputError(f"give '{dataset}' or --nodes and --edges, not both.")
        from agnn.data.tables import read_tables

        return read_tables(*both_tables(nodes, edges), name=name, **options)
    if dataset is None:
        raise InputError("missing argument 'dataset'; or give --nodes and --edges.")
    end = Path(dataset).suffix.lower()
    if end in GRAPH_FILES and read.database is None:
        return read_graph(dataset, name=name, **options)
    if end in TABLE_FILES:
        raise InputError(f"'{dataset}' is a table; give --nodes TABLE and --edges TABLE.")
    if options:
        flag = reader_flag(next(iter(options)))
        raise InputError(f"{flag} goes with --nodes and --edges, or with a graph file.")
    return _load_bundled(dataset, name)


def reader_flag(field: str) -> str:
    """The option that sets a field of the readers' options."""
    from agnn.data import ReadOptions

    return flag_of(field, ReadOptions)


def both_tables(nodes: str | None, edges: str | None) -> tuple[str, str]:
    """Both tables; one alone is an error."""
    if nodes is None or edges is None:
        missing, present = ("edges", "nodes") if edges is None else ("nodes", "edges")
        raise InputError(f"--{present} goes with --{missing}: one table of nodes, one of edges.")
    return nodes, edges


def check_label(nodes: str | None, edges: str | None, read: ReadOptions) -> None:
    """Raise where tables are given without the column that holds the classes."""
    if nodes is None or edges is None or read.label is not None:
        return
    from agnn.data.tables import open_source

    table = open_source(nodes, "nodes", read.database)
    columns = ", ".join(table.columns[:20])
    raise InputError(
        f"name the column of {table.place} that holds the classes with --label; it has {columns}."
    )


def _load_bundled(dataset: str, name: str | None) -> NodeData:
    from agnn.data import load_dataset
    from agnn.data.store import dataset_names
    from agnn.distributed import PartsFolder

    path = Path(dataset)
    names = ", ".join(dataset_names())
    is_bundled = dataset.lower() in dataset_names()
    if not is_bundled and PartsFolder.is_at(path):
        raise InputError(f"'{dataset}' is a folder of parts, for `agnn train` and `agnn inspect`.")
    if not is_bundled and path.is_dir() and any(path.glob("ind.*.graph")):
        raise InputError(
            f"'{dataset}' holds raw Planetoid files, which are pickles and are not read; convert "
            f"them with scripts/planetoid.py of agnn's repository, then give the .npz file."
        )
    if not is_bundled and (path.exists() or os.sep in dataset):
        raise InputError(
            f"'{dataset}' is not a graph that agnn reads; give a .graphml, .gexf or .npz file, "
            f"--nodes and --edges, or one of {names}."
        )
    if name is not None:
        raise InputError(f"--name is for your own data; '{dataset}' has its name.")
    return load_dataset(dataset)


def data_table(report: DataReport) -> ResultTable:
    """What is in the data, how each column is used, and what is unusual, the worst first."""
    from agnn.tables import Cell, facts_table

    warnings = (
        (Cell(name, kind=_KINDS.get(name.split(": ")[-1], "")), text)
        for name, text in report.warning_lines()
    )
    facts = (*report.count_lines(), report.class_line(), *report.column_lines())
    return facts_table((*facts, *warnings))


def training_of(context: typer.Context, source: Any, options: dict[str, Any]) -> Training:
    """Return what the options ask for; rules are checked before the data is read."""
    from agnn.runs import Training

    named = {name: options.pop(name) for name in HYPER_PARAMETERS}
    settings = options.pop("changes")
    training = Training(
        data=source,
        **options
        | {
            "class_weight": class_weight_of(options["class_weight"]),
            "callbacks": _trackers(options["callbacks"]),
        },
    )
    if training.is_auto:  # which has no hyper-parameters, and says so
        replicas = training.replicas
        training = replace(
            training, replicas=Training.USUAL_REPLICAS if replicas is None else replicas
        )
        named |= dict(word.partition("=")[::2] for word in settings or ())
        return replace(training, changes=named)
    data = training.read_data()
    if training.parts is None:
        training = replace(training, data=data)
    if training.replicas is None:
        training = replace(training, replicas=Training.usual_replicas(data, options["split"]))
    changes = hyper_parameters(
        training.method_name(data),
        named,
        settings,
        is_tuned=training.tuned,
        file=file_of(context, "changes"),
    )
    return replace(training, changes=changes)


def _trackers(names: list[str] | None) -> list[Any]:
    """Return the trackers that --track names."""
    if not names:
        return []
    from agnn.trackers import tracker

    return [tracker(name) for name in names]


def hyper_parameters(
    method: str,
    named: Mapping[str, Any],
    settings: Sequence[str] | None,
    *,
    is_tuned: bool = False,
    file: Path | None = None,
) -> dict[str, Any]:
    """Return the hyper-parameters that a user sets: by their own options and by NAME=VALUE.

    `file` is the one whose table `set` holds the settings, if one does. Raises for one that the
    method does not have, for one of another type, and for one that is given twice or chosen by
    tuning.
    """
    from agnn.methods import get_method

    method_class = get_method(method)
    names = {field.name for field in fields(method_class)}
    changes: dict[str, Any] = {}
    for name, value in named.items():
        if value is None:
            continue
        if name not in names:
            takes = ", ".join(_option(field) for field in named if field in names) or "none of them"
            raise InputError(f"{method_class.name} has no {_option(name)}; it takes {takes}.")
        is_list = get_origin(get_type_hints(method_class)[name]) is tuple
        changes[name] = typed_value(method_class, name, value) if is_list else value
    for word in settings or ():
        name, sign, text = word.partition("=")
        if not sign:
            raise InputError(f"--set takes NAME=VALUE, such as --set heads=4; got '{word}'.")
        try:
            if name not in names:
                raise unknown_name(f"hyper-parameter of {method_class.name}", name, names)
            if name in changes:
                raise InputError(f"`{name}` is set twice; leave one out.")
            changes[name] = typed_value(method_class, name, text)
        except InputError as error:
            if file is None:
                raise
            raise InputError(f"'{file}', key `set.{name}`: {error}") from error
    for name, value in changes.items():
        label = _option(name) if named.get(name) is not None else f"`{name}`"
        if is_tuned and name in method_class.grid:
            raise InputError(f"{label} is chosen by --tuned; leave one of them out.")
        _check_number(label, value)
    return changes


def typed_value(method: type[Method], name: str, text: str) -> Any:
    """Return the value of a hyper-parameter, by the type of its field."""
    from pydantic import TypeAdapter, ValidationError

    hint = get_type_hints(method)[name]
    value: Any = text.strip()
    if value == "none" and method.may_be_none(name):
        return value
    if get_origin(hint) is tuple:
        value = tuple(part.strip() for part in value.strip("()").split(",") if part.strip())
    try:
        return TypeAdapter(hint).validate_python(value)
    except ValidationError as error:
        message = f"`{name}` of {method.name} must be {_kind_words(hint)}; got '{text}'."
        raise InputError(message) from error


def _kind_words(hint: Any) -> str:
    """Return a type in words."""
    kinds = get_args(hint)
    if get_origin(hint) is Literal:
        return f"one of {', '.join(map(str, kinds))}"
    if get_origin(hint) is tuple:
        return f"values separated by commas, each {_kind_words(kinds[0])}"
    if kinds:  # a union
        return " or ".join(map(_kind_words, kinds))
    by_type = {
        type(None): "none",
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "a text",
    }
    return by_type.get(hint, str(hint))


def _check_number(label: str, value: Any) -> None:
    """Raise for a count below 1 and for infinity and NaN; the method checks the rest."""
    if label.startswith("--") and type(value) is int and value < 1:
        raise InputError(f"{label} must be at least 1; got {value}.")
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{label} must be a finite number; got {value}.")


def _option(field: str) -> str:
    return "--" + field.replace("_", "-")


def class_weight_of(entries: Sequence[str] | None) -> ClassWeight:
    """Return the class weights that `evaluate` takes."""
    if not entries:
        return None
    if list(entries) == ["balanced"]:
        return "balanced"
    weights = {}
    for entry in entries:
        name, sign, number = entry.rpartition("=")
        if name in weights:
            raise InputError(f"--class-weight is given twice for class '{name}'; leave one out.")
        try:
            weights[name] = float(number)
        except ValueError:
            sign = ""
        if not sign:
            raise InputError(f"--class-weight is 'balanced' or NAME=WEIGHT; got '{entry}'.")
    return weights
