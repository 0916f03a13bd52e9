"""A node table and an edge table as NodeData, and nodes that are added later."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from agnn.data._edges import edge_notes, mean_weights, merged_edges, simple_edges, weight_note
from agnn.data._labels import Labels, class_notes
from agnn.data._node_data import NodeData
from agnn.data._options import ReadKeywords, ReadOptions, check_columns, option_for
from agnn.data._report import ColumnUse, Reading
from agnn.data._splits._split import Split
from agnn.data._wording import quantity, row_list
from agnn.data.preprocessing import Source
from agnn.data.scaling import SparseRows
from agnn.data.tables._columns import NodeTable, as_text, plain_text
from agnn.data.tables._edge_table import edge_entries
from agnn.data.tables._fit import Fit, fitted_features
from agnn.data.tables._ids import GrownIndex, NodeIndex
from agnn.data.tables._leaks import feature_leaks, table_leaks
from agnn.data.tables._source import TableSource, frame_table, open_source
from agnn.errors import DataError, InputError

# Names of columns that no attribute has.
_NODE: Final = "(node)"
_SOURCE: Final = "(source)"
_TARGET: Final = "(target)"
_ID_NAMES: Final = ("id", "node", "node_id", "nodeid")


def read_tables(
    nodes: str | Path | Any,
    edges: str | Path | Any,
    *,
    name: str | None = None,
    **options: Unpack[ReadKeywords],
) -> NodeData:
    """Return the graph in a table with one row per node and a table with one row per edge.

    Each is a file or a table in memory. Files are CSV, TSV or Parquet; the edges may also be an
    edge list (two ids per line). In memory they are frames of pandas or Polars, tables of PyArrow,
    relations of DuckDB, or anything else with `__arrow_c_stream__`. With `database`, a SQLite or
    DuckDB file, they are two queries whose results are the tables. The keywords are those of
    `ReadOptions`: `label` names the column of classes, and so on. The use of each column, and what
    is unusual, is in the data's `report`.
    """
    chosen = ReadOptions(**options)
    source = nodes if chosen.database is None else chosen.database
    file_name = Path(source).stem if isinstance(source, str | Path) else "frames"
    return assemble(
        open_source(nodes, "nodes", chosen.database),
        open_source(edges, "edges", chosen.database),
        name or file_name,
        chosen,
    )


def from_pandas(
    nodes: Any, edges: Any, *, name: str = "frames", **options: Unpack[ReadKeywords]
) -> NodeData:
    """Return the graph in two tables in memory; the keywords are those of `read_tables`.

    They are frames of pandas or Polars, tables of PyArrow, relations of DuckDB, or anything else
    with `__arrow_c_stream__`. The same values give the same data from each.
    """
    return assemble(
        frame_table(nodes, "`nodes`"), frame_table(edges, "`edges`"), name, ReadOptions(**options)
    )


def data_of_records(
    nodes: Sequence[tuple[Hashable, Mapping[str, Any]]],
    edges: Sequence[tuple[Hashable, Hashable, Mapping[str, Any]]],
    place: str,
    name: str,
    options: ReadOptions,
) -> NodeData:
    """Return the graph in nodes (id, attributes) and edges (source, target, attributes)."""
    ids = {_NODE: [node for node, _ in nodes]}
    ends = {_SOURCE: [source for source, _, _ in edges], _TARGET: [end for _, end, _ in edges]}
    return assemble(
        _records(ids, [attributes for _, attributes in nodes], f"{place} (nodes)"),
        _records(ends, [attributes for *_, attributes in edges], f"{place} (edges)"),
        name,
        replace(options, node_id=_NODE, source=_SOURCE, target=_TARGET),
    )


class NewNodes(NamedTuple):
    """Nodes of a later table."""

    ids: tuple[Hashable, ...]  # [k]
    features: SparseRows  # [k, d_x] made as those of the known nodes were
    # [2, e] each edge once, as positions, those of the new nodes after the known ones
    edges: NDArray[np.int64]
    edge_weights: NDArray[np.float32] | None = None  # [e] where the data has weights

    @classmethod
    def read(
        cls,
        data: NodeData,
        nodes: str | Path | Any,
        edges: str | Path | Any,
        **options: Unpack[ReadKeywords],
    ) -> NewNodes:
        """Return what `with_new_nodes` adds to `data`, at the cost of the new nodes alone.

        Not for data whose features come from the graph alone.
        """
        new = _NewTables(data, nodes, edges, ReadOptions(**options))
        weights = None
        if new.links.weights is not None:
            weights = mean_weights(new.simple, new.links.entries, new.links.weights, new.total)
        return cls(new.index.new.ids, new.features(), new.simple, weights)


def with_new_nodes(
    data: NodeData,
    nodes: str | Path | Any,
    edges: str | Path | Any,
    **options: Unpack[ReadKeywords],
) -> NodeData:
    """Return `data` followed by the nodes of a table, which have no labels.

    Splits stay as they are. `nodes` and `edges` are files or data frames. An edge may name old
    and new ids. The features of the new nodes are made as the old ones were, so they need the same
    columns. The options `node_id`, `source`, `target`, `drop_unknown`, `edge_weight` and
    `ignore_weights` apply.
    """
    new = _NewTables(data, nodes, edges, ReadOptions(**options))
    if new.preprocessing.is_structural:  # the features of all nodes change with the graph
        edges_of_all, _ = merged_edges(data.edges, new.simple, new.total)
        features = new.preprocessing.features(Source(None, edges_of_all, new.total))
    else:
        features = new.features()
    return data.with_new_nodes(
        features,
        new.links.entries,
        new.index.new.ids,
        reading=new.reading(),
        edge_weights=new.links.weights,
    )


class _NewTables:
    """Tables of nodes that are added to `data`, and of their edges, read and checked."""

    def __init__(self, data: NodeData, nodes: Any, edges: Any, options: ReadOptions) -> None:
        if data.preprocessing is None:
            raise InputError(f"'{data.name}' was not made from a table: new nodes cannot be added.")
        self.preprocessing = data.preprocessing
        self._nodes = open_source(nodes, "nodes", options.database)
        # A file of edges holds some, but a frame may have none: nodes without neighbours.
        self._edges = replace(
            open_source(edges, "edges", options.database),
            may_be_empty=not isinstance(edges, str | Path),
        )
        check_columns(self._nodes.place, self._nodes.columns, [options.node_id])
        id_name, why = id_column(self._nodes, options)
        self._id_use = ColumnUse("nodes", id_name, "id", why)
        options = _with_weight_column(data, self._edges, options)
        self._table, new_ids, self._notes = _index_nodes(self._nodes, self._nodes.columns, id_name)
        self.index = GrownIndex(data, new_ids)
        self.links = edge_entries(self._edges, self.index, options)
        self.total = data.nodes + self._table.nodes
        self.simple, self._counts = simple_edges(self.links.entries, self.total)

    def features(self) -> SparseRows:
        """Return the features of the new nodes; [k, d_x]."""
        return self.preprocessing.features(Source(self._table, self.simple, self._table.nodes))

    def reading(self) -> Reading:
        """Return how the tables were read."""
        return Reading(
            source=f"'{self.index.data.name}', {self._nodes.place} and {self._edges.place}",
            columns=(self._id_use, *self.links.uses),
            notes=(
                *([self._nodes.note] if self._nodes.note else []),
                *self._notes,
                *self.links.notes,
                *edge_notes(
                    self.links.entries,
                    self.links.rows,
                    self.simple,
                    self._counts,
                    self.index.ids,
                    self._edges.place,
                    is_weighted=self.links.weights is not None,
                ),
            ),
            dropped_edges=self.links.dropped,
        )


def _with_weight_column(data: NodeData, links: TableSource, options: ReadOptions) -> ReadOptions:
    """Return the options for new edges of `data`: where it has weights, these have some, too."""
    if not data.is_weighted:
        if options.edge_weight is not None:
            raise InputError(f"'{data.name}' has no edge weights; leave out `edge_weight`.")
        return options
    if options.ignore_weights:
        raise InputError(f"'{data.name}' has edge weights; leave out `ignore_weights`.")
    uses = data.reading.columns if data.reading is not None else ()
    weight_columns = [use.name for use in uses if (use.table, use.use) == ("edges", "weight")]
    column = options.edge_weight or (weight_columns[0] if weight_columns else None)
    if column is None or column not in links.columns:
        missing = "" if column is None else f" It has no column '{column}'."
        raise DataError(
            f"{links.place}: '{data.name}' has edge weights, so new edges need theirs.{missing} "
            f"Name the column with {option_for('edge_weight')}."
        )
    return replace(options, edge_weight=column)


def assemble(nodes: TableSource, edges: TableSource, name: str, options: ReadOptions) -> NodeData:
    """Return the data in two tables."""
    id_use = find_ids(nodes, options)
    read = [column for column in nodes.columns if column not in options.ignore]
    hint = _other_column(id_use.name, options)
    table, index, copy_notes = _index_nodes(nodes, read, id_use.name, hint)
    links = edge_entries(edges, index, options, table)
    simple, facts = simple_edges(links.entries, len(index.ids))
    weights = None
    weight_notes: list[str] = []
    if links.weights is not None:
        weights = mean_weights(simple, links.entries, links.weights, len(index.ids))
        weight_notes = weight_note(
            links.entries, links.weights, simple, weights, index.ids, edges.place
        )
    labels = labels_of_table(table, options)
    splits, uses, split_notes = splits_of_table(table, labels, options)
    columns = feature_columns(table, index.column, options)
    fit = Fit() if options.preprocessing else fitted_features(table, columns, options, simple)
    preprocessing = options.preprocessing or fit.preprocessing
    features = preprocessing.features(Source(table, simple, len(index.ids)))
    used = [column.name for column in fit.uses if column.use != "left out"]
    leaks = table_leaks(table, used, table.column(index.column), labels.codes)
    single = feature_leaks(features, preprocessing, labels, reported=leaks) if used else []
    reading = Reading(
        source=f"{nodes.place} and {edges.place}",
        columns=(id_use, *_stated_uses(options), *uses, *fit.uses, *links.uses),
        notes=(
            *(note for note in (nodes.note, edges.note) if note),
            *copy_notes,
            *links.notes,
            *edge_notes(
                links.entries,
                links.rows,
                simple,
                facts,
                index.ids,
                edges.place,
                is_weighted=weights is not None,
            ),
            *weight_notes,
            *class_notes(labels.class_names, table.where(options.label or "")),
            *split_notes,
            *fit.notes,
        ),
        dropped_edges=links.dropped,
        leaks=(*leaks.values(), *single),
        unlabelled_as=labels.unlabelled_as,
        label_kind=labels.kind,
    )
    return NodeData.build(
        name=name,
        features=features,
        labels=labels.codes,
        edges=simple,
        class_names=labels.class_names,
        node_ids=index.ids,
        splits=splits,
        facts=facts,
        preprocessing=preprocessing,
        reading=reading,
        edge_weights=weights,
        texts={key: table.texts(column) for key, column in options.shown_columns.items()},
    )


def find_ids(nodes: TableSource, options: ReadOptions) -> ColumnUse:
    """Check that a node table has the columns that the options name; return the use of its ids."""
    named = [*options.text, *options.category, *options.number, *options.ignore]
    roles = [options.node_id, options.label, options.split_by, *options.shown_columns.values()]
    check_columns(nodes.place, nodes.columns, [*roles, *named])
    column, why = id_column(nodes, options)
    return ColumnUse("nodes", column, "id", why)


def feature_columns(table: NodeTable, id_name: str, options: ReadOptions) -> list[str]:
    """Return the columns that features may be made of."""
    used_too = {*options.text, *options.category, *options.number}
    shown_columns = [name for name in options.shown_columns.values() if name not in used_too]
    other_uses = (id_name, options.label, options.split_by, *shown_columns)
    return [column for column in table.columns if column not in other_uses]


def _index_nodes(
    nodes: TableSource, columns: Sequence[str], column: str, hint: str = ""
) -> tuple[NodeTable, NodeIndex, list[str]]:
    """Return these columns of a node table, its ids, and a note on rows that are copies of another.

    Copies are left out. An id in several rows that differ is an error.
    """
    frame = nodes.frame(columns)
    try:
        return NodeTable.of(nodes, frame), NodeIndex(frame[column], nodes.place, column, hint), []
    except DataError:
        ids = as_text(plain_text(frame[column]))
        is_twin = ids.duplicated(keep=False).to_numpy()
        twins = frame[is_twin].apply(lambda values: as_text(plain_text(values)))
        is_copy = np.zeros(len(frame), dtype=bool)
        is_copy[is_twin] = twins.duplicated().to_numpy()
        kept_rows = np.flatnonzero(~is_copy)
        if not is_copy.any() or ids.iloc[kept_rows].duplicated().any():
            raise
    distinct_rows = frame.iloc[kept_rows].reset_index(drop=True)
    copies = np.flatnonzero(is_copy)
    note = (
        f"{nodes.place}: {quantity(copies.size, 'exact copy', 'exact copies')} of other rows left "
        f"out: {row_list(copies)}."
    )
    index = NodeIndex(distinct_rows[column], nodes.place, column, hint)
    return NodeTable.of(nodes, distinct_rows, kept=kept_rows), index, [note]


def _other_column(column: str, options: ReadOptions) -> str:
    """Return a hint for messages about ids whose column was guessed."""
    is_sure = options.node_id is not None or column.lower() in _ID_NAMES
    hint = f" If another column holds the ids, name it as {option_for('node_id')}."
    return "" if is_sure else hint


def _stated_uses(options: ReadOptions) -> list[ColumnUse]:
    """Return the use of columns that does not depend on their values."""
    ignored = [ColumnUse("nodes", column, "left out", "as requested") for column in options.ignore]
    shown_uses = [ColumnUse("nodes", column, key) for key, column in options.shown_columns.items()]
    return [*ignored, *shown_uses]


def id_column(nodes: TableSource, options: ReadOptions) -> tuple[str, str]:
    """Return the column of ids, and how it was found if nobody named it."""
    if options.node_id is not None:
        return options.node_id, ""
    features = [*options.text, *options.category, *options.number]
    other_uses = [options.label, options.split_by, *features, *options.ignore]
    free = [name for name in nodes.columns if name and name not in other_uses]
    if not free:
        raise DataError(
            f"{nodes.place} has no column that could hold ids; name it as {option_for('node_id')}."
        )
    usual = [name for name in free if name.lower() in _ID_NAMES]
    return (usual[0], "by its name") if usual else (free[0], "the first column")


def labels_of_table(table: NodeTable, options: ReadOptions) -> Labels:
    if options.label is not None:
        return table.labels(options.label, options.class_names)
    blank = np.full(table.nodes, -1, dtype=np.int64)
    return Labels(blank, tuple(options.class_names or ()), np.empty(0, dtype=np.int64), {})


def splits_of_table(
    table: NodeTable, labels: Labels, options: ReadOptions
) -> tuple[dict[str, Split], list[ColumnUse], list[str]]:
    """Return the split of the user's column, the use of label and split column, and notes."""
    uses = []
    if options.label is not None:
        detail = f"{len(labels.class_names)} classes"
        uses.append(ColumnUse("nodes", options.label, "label", detail))
    column = options.split_by
    if column is None:
        return {}, uses, []
    if options.split_column is not None:
        split, notes = table.split(column, labels.codes)
        splits = {split.name: split}
    else:
        splits, notes = table.splits_by(column, labels, is_time=options.split_time is not None)
        split = next(iter(splits.values()))
    sizes = [f"{part} {nodes.size:,}" for part, nodes in split.parts.items()]
    uses.append(ColumnUse("nodes", column, "split", ", ".join(sizes)))
    return splits, uses, notes


def _records(
    ids: Mapping[str, list[Any]], attributes: Sequence[Mapping[str, Any]], place: str
) -> TableSource:
    """Return columns of ids and attribute dictionaries as one table."""
    frame = pd.DataFrame(list(attributes), index=range(len(attributes)))
    frame.columns = pd.Index([str(column) for column in frame.columns])
    for column, values in ids.items():
        frame[column] = _id_series(values)
    return TableSource(
        place=place,
        columns=tuple(frame.columns),
        batches=lambda names: iter([frame[list(names)]]),
        may_be_empty=True,
    )


def _id_series(values: list[Any]) -> pd.Series[Any]:
    """Return ids as a series: numbers and text as such, all else as the objects they are."""
    plain = all(type(value) is str for value in values) or all(type(v) is int for v in values)
    series = pd.Series(index=range(len(values)), dtype=object)
    series[:] = values
    return series.infer_objects() if plain else series
