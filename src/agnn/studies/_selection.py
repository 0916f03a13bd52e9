"""The experiments that a user asks for: some rows, some datasets, graphs of their own."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar

from agnn.data import NodeData, load_dataset
from agnn.data.store import preset_name
from agnn.errors import DataError, InputError, unknown_name
from agnn.methods import method_names
from agnn.studies._reading import GRAPHS, find_experiments
from agnn.studies._spec import KINDS, Column, Drawing, Experiment, Row, Table

_GRAPH_FILES: Final = (".npz", ".graphml", ".gexf")
_SEPARATORS: Final = {".csv": ",", ".tsv": "\t"}
_LABELS: Final = ("label", "class", "y")

_T = TypeVar("_T", bound=Table)


def select_experiments(
    names: str | Sequence[str | Experiment],
    *,
    methods: Iterable[str] | None = None,
    datasets: Iterable[str] | None = None,
    seeds: int | None = None,
    data: Path | str | None = None,
) -> list[Experiment]:
    """Return experiments by name, narrowed to some methods, datasets and a number of seeds.

    The arguments are those of `reproduce`. Experiments of which nothing is left are left out.

    >>> [table.command for table in select_experiments(["table2", "figure3"], datasets=["Cora"])]
    ['agnn reproduce table2 --datasets cora']
    """
    choice = Choice(
        None if methods is None else frozenset(name.lower() for name in methods),
        None if datasets is None else frozenset(name.lower() for name in datasets),
        seeds,
    )
    folder = None if data is None else Path(data)
    experiments = [
        _over_folder(experiment, folder)
        for experiment in find_experiments([names] if isinstance(names, str) else names)
    ]
    tables = [experiment for experiment in experiments if isinstance(experiment, Table)]
    if folder is not None and not any(isinstance(table, GraphTable) for table in tables):
        raise InputError(f"`data` goes with the experiment '{GRAPHS}'.")
    choice.check(tables)
    narrowed = [_narrow(experiment, choice) for experiment in experiments]
    selected = [experiment for experiment in narrowed if not _is_empty(experiment)]
    if names and not selected:
        raise InputError("no cell is left with the chosen methods and datasets.")
    return selected


def _narrow(experiment: Experiment, choice: Choice) -> Experiment:
    command = _command(experiment, choice)
    if isinstance(experiment, Table):
        return replace(choice.narrow(experiment), command=command)
    return replace(choice.narrow_drawing(experiment), command=command)


def _is_empty(experiment: Experiment) -> bool:
    if isinstance(experiment, Table):
        return not experiment.rows or not experiment.columns
    return not experiment.panels


def _command(experiment: Experiment, choice: Choice) -> str:
    """Return the command that makes a narrowed experiment again."""
    command = experiment.command  # of one that was selected before
    if not command:
        parts = ["agnn", "reproduce", experiment.file or experiment.name]
        if isinstance(experiment, GraphTable):
            parts += ["--data", str(experiment.folder)]
        command = shlex.join(parts)
    if choice.methods is not None:
        command += f" --methods {shlex.quote(','.join(sorted(choice.methods)))}"
    if choice.datasets is not None:
        command += f" --datasets {shlex.quote(','.join(sorted(choice.datasets)))}"
    if choice.seeds is not None:
        command += f" --seeds {choice.seeds}"
    return command


@dataclass(frozen=True)
class Choice:
    """What experiments are narrowed to, in lower case; None narrows nothing."""

    methods: frozenset[str] | None = None
    datasets: frozenset[str] | None = None
    seeds: int | None = None

    def takes_method(self, name: str | None) -> bool:
        """Return whether a row of this method stays; one without a method does if none is named."""
        return self.methods is None or name in self.methods

    def takes_dataset(self, name: str | None) -> bool:
        """Return whether a row or column of this dataset stays; one without a dataset does."""
        return self.datasets is None or name is None or name.lower() in self.datasets

    def narrow(self, table: _T) -> _T:
        """Return the table with the chosen rows, columns and number of seeds."""
        picks = [k for k, column in enumerate(table.columns) if self.takes_dataset(column.dataset)]
        rows = tuple(
            self._narrow_row(row, picks)
            for row in table.rows
            if self.takes_method(row.method) and self.takes_dataset(row.dataset)
        )
        columns = tuple(table.columns[k] for k in picks)
        seeds = table.seeds if self.seeds is None else self.seeds
        return replace(table, rows=rows, columns=columns, seeds=seeds)

    def _narrow_row(self, row: Row, picks: list[int]) -> Row:
        references = tuple(
            replace(reference, figures=tuple(reference.figures[k] for k in picks))
            for reference in row.references
        )
        # One seed means that nothing is drawn: more would be the same run again.
        seeds = row.seeds if self.seeds is None or row.seeds == 1 else None
        figures = tuple(row.figures[k] for k in picks)
        return replace(row, figures=figures, references=references, seeds=seeds)

    def narrow_drawing(self, drawing: Drawing) -> Drawing:
        """Return the figure with the panels of chosen datasets; none if its method is not."""
        panels = tuple(panel for panel in drawing.panels if self.takes_dataset(panel.dataset))
        seeds = drawing.seeds if self.seeds is None else self.seeds
        is_chosen = self.takes_method(KINDS[drawing.kind].methods[0])
        return replace(drawing, panels=panels if is_chosen else (), seeds=seeds)

    def check(self, tables: Sequence[Table]) -> None:
        """Raise for an unknown method or dataset, and for a number of seeds below 1."""
        in_tables = {row.method for table in tables for row in table.rows if row.method is not None}
        for name in self.methods or ():
            if name not in in_tables and name not in method_names():
                raise unknown_name("method", name, in_tables)
        graphs = {
            name.lower()
            for table in tables
            if isinstance(table, GraphTable)
            for name in table.graphs
        }
        for name in self.datasets or ():
            if name in graphs:
                continue
            if graphs:
                raise unknown_name("graph", name, graphs)
            load_dataset(name)
        if self.seeds is not None and self.seeds < 1:
            raise InputError(f"`seeds` must be at least 1; got {self.seeds}.")


@dataclass(frozen=True, kw_only=True)
class GraphTable(Table):
    """A table whose columns are graphs of a folder; no figure of it has been published."""

    graphs: Mapping[str, NodeData] = field(default_factory=dict, repr=False, compare=False)
    folder: Path = Path()

    def data(self, dataset: str) -> NodeData:
        """Return the graph of a column."""
        return self.graphs[dataset]

    def preset(self, dataset: str) -> str:
        """Return the dataset whose published hyper-parameters a column takes: "*" for none."""
        return preset_name(self.graphs[dataset])


def _over_folder(experiment: Experiment, folder: Path | None) -> Experiment:
    """Return a table without columns as one over the graphs of a folder.

    A graph with masks of its own is split by them; any other has 20 training nodes per class, 30
    per class to validate on, and the rest to test.
    """
    if isinstance(experiment, Drawing | GraphTable) or experiment.columns:
        return experiment
    if folder is None:
        raise InputError(
            f"'{experiment.name}' is a table over your own graphs: name their folder with --data."
        )
    graphs = GraphFolder(folder)
    columns = tuple(
        Column(name, name, "own" if data.splits else "20-per-class")
        for name, data in graphs.items()
    )
    rows = tuple(replace(row, figures=(None,) * len(columns)) for row in experiment.rows)
    values = vars(experiment) | {"rows": rows, "columns": columns}
    return GraphTable(**values, graphs=graphs, folder=folder)


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
        self.paths = {
            path.stem: path
            for path in sorted(folder.iterdir())
            if path.suffix.lower() in _GRAPH_FILES or (path.is_dir() and len(_tables(path)) == 2)
        }
        if not self.paths:
            raise DataError(
                f"'{folder}' holds no graphs: .npz, .graphml or .gexf files, or folders with a "
                f"table of nodes and one of edges, are expected."
            )

    def __iter__(self) -> Iterator[str]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, name: str) -> NodeData:
        from agnn.data.sources import (
            read_graph,  # needs an extra that the bundled tables do without
        )

        if name not in self._read:
            path = self.paths[name]
            self._read[name] = (
                read_graph(path, name=name) if path.is_file() else _from_tables(name, path)
            )
        return self._read[name]


def _tables(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.iterdir()) if file.suffix.lower() in _SEPARATORS]


def _header(file: Path) -> list[str]:
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return next(csv.reader(stream, delimiter=_SEPARATORS[file.suffix.lower()]), [])


def _from_tables(name: str, folder: Path) -> NodeData:
    from agnn.data.tables import read_tables

    headers = {file: _header(file) for file in _tables(folder)}
    edges = [file for file, columns in headers.items() if {"source", "target"} <= set(columns)]
    if len(edges) != 1:
        raise DataError(f"'{folder}' needs one table with the columns source and target.")
    (nodes,) = headers.keys() - set(edges)
    columns = headers[nodes]
    label = next((key for key in _LABELS if key in columns), columns[-1] if columns else None)
    return read_tables(nodes, edges[0], name=name, label=label)
