"""A table over a folder of somebody's own graphs: methods as rows, graphs as columns."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from agnn.data import NodeData, preset_name
from agnn.errors import DataError, InputError
from agnn.experiments._spec import Column, Table

_GRAPH_FILES: Final = (".npz", ".graphml", ".gexf")
_SEPARATORS: Final = {".csv": ",", ".tsv": "\t"}
_LABELS: Final = ("label", "class", "y")


class GraphFolder(Mapping[str, NodeData]):
    """The graphs of a folder by name, each read when it is first asked for.

    A graph is a .npz, .graphml or .gexf file, or a folder with two tables (.csv or .tsv): that of
    the edges has the columns source and target. The classes are in the nodes' column called
    label, class or y, or else in the last one.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise InputError(f"'{folder}' is not a folder of graphs.")
        self._read = dict[str, NodeData]()
        self.places = {
            place.stem: place
            for place in sorted(folder.iterdir())
            if place.suffix.lower() in _GRAPH_FILES or (place.is_dir() and len(_tables(place)) == 2)
        }
        if not self.places:
            raise DataError(
                f"'{folder}' holds no graphs: .npz, .graphml or .gexf files, or folders with a "
                f"table of nodes and one of edges, are expected."
            )

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, name: str) -> NodeData:
        from agnn.data import read_graph  # needs an extra that the bundled tables do without

        if name not in self._read:
            place = self.places[name]
            self._read[name] = (
                read_graph(place, name=name) if place.is_file() else _from_tables(name, place)
            )
        return self._read[name]


def _tables(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.iterdir()) if file.suffix.lower() in _SEPARATORS]


def _header(file: Path) -> list[str]:
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return next(csv.reader(stream, delimiter=_SEPARATORS[file.suffix.lower()]), [])


def _from_tables(name: str, folder: Path) -> NodeData:
    from agnn.data import read_tables

    headers = {file: _header(file) for file in _tables(folder)}
    edges = [file for file, columns in headers.items() if {"source", "target"} <= set(columns)]
    if len(edges) != 1:
        raise DataError(f"'{folder}' needs one table with the columns source and target.")
    (nodes,) = headers.keys() - set(edges)
    columns = headers[nodes]
    label = next((each for each in _LABELS if each in columns), columns[-1] if columns else None)
    return read_tables(nodes, edges[0], name=name, label=label)


@dataclass(frozen=True)
class GraphTable(Table):
    """A table whose columns are graphs of a folder; no figure of it has been published."""

    graphs: Mapping[str, NodeData] = field(default_factory=dict, repr=False, compare=False)

    def data(self, dataset: str) -> NodeData:
        """The graph of a column."""
        return self.graphs[dataset]

    def preset(self, dataset: str) -> str:
        """The dataset whose published hyper-parameters a column takes: "*" for none."""
        return preset_name(self.graphs[dataset])


def over_graphs(table: Table, folder: Path) -> GraphTable:
    """The rows of a table without columns, over the graphs of a folder.

    A graph with masks of its own is split by them; any other has 20 training nodes per class, 30
    per class to validate on, and the rest to test.
    """
    graphs = GraphFolder(folder)
    columns = tuple(Column(name, name, split_of(graphs[name])) for name in graphs)
    rows = tuple(replace(row, figures=(None,) * len(columns)) for row in table.rows)
    return GraphTable(**{**vars(table), "rows": rows, "columns": columns, "graphs": graphs})


def split_of(data: NodeData) -> str:
    """The kind of split that a graph of one's own is compared on."""
    return "own" if data.splits else "20-per-class"
