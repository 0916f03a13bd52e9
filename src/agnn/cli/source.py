"""The data that a user names: a dataset of the package, raw files, a graph file or two tables."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agnn.errors import DataError, InputError

if TYPE_CHECKING:
    from agnn.data import NodeData


@dataclass(frozen=True)
class Choice:
    """What the options say about the data."""

    dataset: str | None = None
    name: str | None = None
    nodes: Path | None = None
    edges: Path | None = None
    label: str | None = None
    node_id: str | None = None
    source: str | None = None
    target: str | None = None
    text: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    number: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    split_column: str | None = None
    drop_unknown: bool = False
    ignore_weights: bool = False

    def keywords(self) -> dict[str, Any]:
        """What the readers of tables and graphs take, as far as it was said."""
        plain = Choice()
        names = [
            "label", "node_id", "source", "target", "text", "category", "number", "ignore",
            "split_column", "drop_unknown", "ignore_weights",
        ]  # fmt: skip
        said = {name: getattr(self, name) for name in names}
        return {name: value for name, value in said.items() if value != getattr(plain, name)}


def find_data(choice: Choice) -> NodeData:
    """The data of a choice; bundled names win over folders of that name."""
    from agnn.data import GRAPH_FILES, TABLE_FILES, read_graph

    if choice.nodes is not None or choice.edges is not None:
        from agnn.data import read_tables

        nodes, edges = _both(choice)
        return read_tables(nodes, edges, name=choice.name, **choice.keywords())
    dataset = choice.dataset
    if dataset is None:
        raise InputError("missing argument 'dataset'; or give --nodes and --edges.")
    end = Path(dataset).suffix.lower()
    if end in GRAPH_FILES:
        return read_graph(dataset, name=choice.name, **choice.keywords())
    if end in TABLE_FILES:
        raise InputError(f"'{dataset}' is a table; give --nodes TABLE and --edges TABLE.")
    if choice.keywords():
        option = "--" + next(iter(choice.keywords())).replace("_", "-").replace("node-id", "id")
        raise InputError(f"{option} goes with --nodes and --edges, or with a graph file.")
    return _known_or_raw(dataset, choice.name)


def needs_labels(choice: Choice) -> None:
    """Raise where tables are given and nobody says which column holds the classes."""
    if choice.nodes is None or choice.edges is None or choice.label is not None:
        return
    from agnn.data.tables import open_table

    columns = ", ".join(open_table(choice.nodes).columns[:20])
    raise InputError(
        f"say with --label which column of '{choice.nodes}' holds the classes; it has {columns}."
    )


def chosen(dataset: str | None, name: str | None, **options: Any) -> Choice:
    """The choice that a verb's options make; repeatable options may be None."""
    lists: dict[str, Any] = {
        key: tuple(options.pop(key) or ()) for key in ("text", "category", "number", "ignore")
    }
    return replace(Choice(dataset, name), **options, **lists)


def _both(choice: Choice) -> tuple[Path, Path]:
    if choice.dataset is not None:
        raise InputError(f"give '{choice.dataset}' or --nodes and --edges, not both.")
    if choice.nodes is None or choice.edges is None:
        missing, given = ("edges", "nodes") if choice.edges is None else ("nodes", "edges")
        raise InputError(f"--{given} goes with --{missing}: one table of nodes, one of edges.")
    return choice.nodes, choice.edges


def _known_or_raw(dataset: str, name: str | None) -> NodeData:
    from agnn.data import dataset_names, load_dataset, load_planetoid

    folder = Path(dataset)
    is_bundled = dataset.lower() in dataset_names()
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
            f"'{folder}' holds no raw Planetoid files: ind.NAME.graph and its seven siblings are "
            f"expected."
        )
    if len(names) > 1:
        raise InputError(f"'{folder}' holds {', '.join(names)}; choose one with --name.")
    return names[0]
