"""A node table and an edge table as NodeData, and nodes that are added later."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Unpack

import numpy as np
import pandas as pd

from agnn.data._edges import edge_notes, mean_weights, merged_edges, simple_edges, weight_note
from agnn.data._labels import Labels, class_notes
from agnn.data._node_data import NodeData
from agnn.data._options import ReadKeywords, ReadOptions, check_columns, option_for
from agnn.data._report import ColumnUse, Reading, counted, shown_rows
from agnn.data.preprocessing import Source
from agnn.data.splits import Split
from agnn.data.tables._columns import NodeTable, plain_text, written
from agnn.data.tables._database import open_query
from agnn.data.tables._fit import Fit, fitted_features
from agnn.data.tables._ids import NodeIndex, edge_entries
from agnn.data.tables._leaks import feature_leaks, table_leaks
from agnn.data.tables._source import TableSource, frame_table, open_table
from agnn.errors import DataError, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.data._features import SparseRows

_NODE, _SOURCE, _TARGET = "(node)", "(source)", "(target)"  # names that no attribute has
_ID_NAMES: Final = ("id", "node", "node_id", "nodeid")


def read_tables(
    nodes: str | Path,
    edges: str | Path,
    *,
    name: str | None = None,
    **options: Unpack[ReadKeywords],
) -> NodeData:
    """The graph in a file with one row per node and a file with one row per edge.

    Both are CSV, TSV or Parquet; the edges may also be an edge list (two ids per line). With
    `database`, a SQLite or DuckDB file, they are two queries whose results are the tables. The
    keywords are those of `ReadOptions`: `label` names the column of classes, and so on. The use of
    each column, and what is unusual, is in the data's `report`.
    """
    chosen = ReadOptions(**options)
    if not all(isinstance(each, str | Path) for each in (nodes, edges)):
        raise InputError("`read_tables` reads files; for pandas frames use `agnn.from_pandas`.")
    own_name = name or Path(nodes if chosen.database is None else chosen.database).stem
    return assembled(
        _opened(nodes, "nodes", chosen), _opened(edges, "edges", chosen), own_name, chosen
    )


def from_pandas(
    nodes: Any, edges: Any, *, name: str = "frames", **options: Unpack[ReadKeywords]
) -> NodeData:
    """The graph in two pandas frames; the keywords are those of `read_tables`."""
    tables = frame_table(nodes, "`nodes`"), frame_table(edges, "`edges`")
    return assembled(*tables, name, ReadOptions(**options))


def data_of_records(
    nodes: Sequence[tuple[Hashable, Mapping[str, Any]]],
    edges: Sequence[tuple[Hashable, Hashable, Mapping[str, Any]]],
    place: str,
    name: str,
    options: ReadOptions,
) -> NodeData:
    """The graph in nodes (id, attributes) and edges (source, target, attributes)."""
    sources, targets = [edge[0] for edge in edges], [edge[1] for edge in edges]
    own = replace(options, node_id=_NODE, source=_SOURCE, target=_TARGET)
    return assembled(
        _records({_NODE: [node[0] for node in nodes]}, [n[1] for n in nodes], f"{place} (nodes)"),
        _records({_SOURCE: sources, _TARGET: targets}, [e[2] for e in edges], f"{place} (edges)"),
        name,
        own,
    )


class NewNodes(NamedTuple):
    """Nodes of a later table."""

    ids: tuple[Hashable, ...]  # [k]
    features: SparseRows  # [k, d_x] made as those of the known nodes were
    # [2, e] each edge once, as positions, those of the new nodes after the known ones
    edges: NDArray[np.int64]
    edge_weights: NDArray[np.float32] | None = None  # [e] where the data has weights


def read_new_nodes(
    data: NodeData,
    nodes: str | Path | Any,
    edges: str | Path | Any,
    **options: Unpack[ReadKeywords],
) -> NewNodes:
    """What `with_new_nodes` adds to `data`, at the cost of the new nodes and edges alone.

    Not for data whose features come from the graph alone.
    """
    chosen = ReadOptions(**options)
    new, links, column, _ = _new_tables(data, nodes, edges, chosen)
    chosen = _with_weight_column(data, links, chosen)
    table, own_index, _ = _indexed(new, new.columns, column)
    index = _GrownIndex(data, own_index)
    found = edge_entries(links, index, chosen)
    assert data.preprocessing is not None  # noqa: S101 (as `_new_tables` has checked)
    source = Source(table, np.zeros((2, 0), dtype=np.int64), len(table.frame))
    total = data.nodes + len(table.frame)
    simple, _ = simple_edges(found.entries, total)
    weights = None
    if found.weights is not None:
        weights = mean_weights(simple, found.entries, found.weights, total)
    return NewNodes(index.own.ids, data.preprocessing.features(source), simple, weights)


def _with_weight_column(data: NodeData, links: TableSource, options: ReadOptions) -> ReadOptions:
    """The options for new edges of `data`: where it has weights, these have some, too."""
    if data.edge_weights is None:
        if options.edge_weight is not None:
            raise InputError(f"'{data.name}' has no edge weights; leave out `edge_weight`.")
        return options
    if options.ignore_weights:
        raise InputError(f"'{data.name}' has edge weights; leave out `ignore_weights`.")
    uses = data.reading.columns if data.reading is not None else ()
    known = [use.name for use in uses if (use.table, use.use) == ("edges", "weight")]
    column = options.edge_weight or (known[0] if known else None)
    if column is None or column not in links.columns:
        missing = "" if column is None else f" It has no column '{column}'."
        raise DataError(
            f"{links.place}: '{data.name}' has edge weights, so new edges need theirs.{missing} "
            f"Name the column with {option_for('edge_weight')}."
        )
    return replace(options, edge_weight=column)


def _new_tables(
    data: NodeData, nodes: Any, edges: Any, options: ReadOptions
) -> tuple[TableSource, TableSource, str, str]:
    """The two tables of new nodes, the column of ids, and how it was found."""
    if data.preprocessing is None:
        raise InputError(f"'{data.name}' was not made from a table: new nodes cannot be added.")
    new = _opened(nodes, "nodes", options)
    # A file of edges holds some, but a frame may have none: nodes without neighbours.
    links = replace(
        _opened(edges, "edges", options), may_be_empty=not isinstance(edges, str | Path)
    )
    check_columns(new.place, new.columns, [options.node_id])
    return new, links, *id_column(new, options)


def with_new_nodes(
    data: NodeData,
    nodes: str | Path | Any,
    edges: str | Path | Any,
    **options: Unpack[ReadKeywords],
) -> NodeData:
    """`data` followed by the nodes of a table, which have no labels; splits stay as they are.

    `nodes` and `edges` are files or pandas frames. An edge may name old and new ids. The features
    of the new nodes are made as the old ones were, so they need the same columns. The options
    `node_id`, `source`, `target`, `drop_unknown`, `edge_weight` and `ignore_weights` apply.
    """
    chosen = ReadOptions(**options)
    new, links, column, why = _new_tables(data, nodes, edges, chosen)
    chosen = _with_weight_column(data, links, chosen)
    assert data.preprocessing is not None  # noqa: S101 (as `_new_tables` has checked)
    table, own_index, copy_notes = _indexed(new, new.columns, column)
    index = _GrownIndex(data, own_index)
    found = edge_entries(links, index, chosen)
    total = data.nodes + len(table.frame)
    simple, facts = simple_edges(found.entries, total)
    odd = edge_notes(
        found.entries, found.rows, simple, facts, index.ids, links.place,
        is_weighted=found.weights is not None,
    )  # fmt: skip
    reading = Reading(
        source=f"'{data.name}', {new.place} and {links.place}",
        columns=(ColumnUse("nodes", column, "id", why), *found.uses),
        notes=tuple(each for each in (new.note, *copy_notes, *found.notes, *odd) if each),
        dropped_edges=found.dropped,
    )
    if data.preprocessing.is_structural:  # the features of all nodes change with the graph
        whole = merged_edges(data.edges, simple, total)
        features = data.preprocessing.features(Source(None, whole, total))
    else:
        features = data.preprocessing.features(Source(table, simple, len(table.frame)))
    return data.with_new_nodes(
        features, found.entries, index.own.ids, reading=reading, edge_weights=found.weights
    )


class _GrownIndex:
    """The ids of known data followed by new ones; an id that is in both is refused.

    The known ids are looked up in the data, where their index is made once.
    """

    def __init__(self, data: NodeData, own: NodeIndex) -> None:
        self.data, self.own = data, own
        self.where = f"'{data.name}' or {own.where}"
        for row, node in enumerate(own.ids):
            if data.index_of(node) is not None:
                raise DataError(
                    f"{own.where}, row {row + 1}: the id {node!r} is in '{data.name}' already; new "
                    f"nodes need new ids."
                )

    @property
    def ids(self) -> tuple[Hashable, ...]:
        """The known ids, then the new ones."""
        return (*self.data.node_ids, *self.own.ids)

    def positions_of_both(self, first: Any, second: Any) -> NDArray[np.int64]:
        """[2, k] The positions that two series of ids name; -1 for none."""
        return np.stack([self._positions(first), self._positions(second)])

    def _positions(self, values: Any) -> NDArray[np.int64]:
        new = self.own.positions(values)
        found = np.where(new < 0, -1, new + self.data.nodes)
        rows = np.flatnonzero(new < 0)
        places = [self.data.index_of(each) for each in plain_text(values).iloc[rows].tolist()]
        found[rows] = [-1 if place is None else place for place in places]
        return found


def assembled(nodes: TableSource, edges: TableSource, name: str, options: ReadOptions) -> NodeData:
    """The data in two tables."""
    table, index, why, copy_notes = _nodes(nodes, options)
    found = edge_entries(edges, index, options, table.frame)
    simple, facts = simple_edges(found.entries, len(index.ids))
    weights, weight_notes = None, []
    if found.weights is not None:
        weights = mean_weights(simple, found.entries, found.weights, len(index.ids))
        weight_notes = weight_note(
            found.entries, found.weights, simple, weights, index.ids, edges.place
        )
    labels = labels_of_table(table, options)
    splits, uses, split_notes = splits_of_table(table, labels, options)
    used_too = {*options.text, *options.category, *options.number}
    shown = [name for name in options.shown.values() if name not in used_too]
    taken = (index.column, options.label, options.split_by, *shown)
    rest = [column for column in table.frame.columns if column not in taken]
    fit = Fit() if options.preprocessing else fitted_features(table, rest, options, simple)
    preprocessing = options.preprocessing or fit.preprocessing
    features = preprocessing.features(Source(table, simple, len(index.ids)))
    used = [each.name for each in fit.uses if each.use != "left out"]
    leaks = table_leaks(table, used, table.frame[index.column], labels.codes)
    single = feature_leaks(features, preprocessing, labels, told=leaks) if used else []
    reading = Reading(
        source=f"{nodes.place} and {edges.place}",
        columns=(*_given(index.column, why, options), *uses, *fit.uses, *found.uses),
        notes=(
            *(each for each in (nodes.note, edges.note) if each),
            *copy_notes,
            *found.notes,
            *edge_notes(
                found.entries,
                found.rows,
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
        dropped_edges=found.dropped,
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
        row_normalised=preprocessing.row_normalised,
        preprocessing=preprocessing,
        reading=reading,
        edge_weights=weights,
        texts={key: table.texts(column) for key, column in options.shown.items()},
    )


def _nodes(nodes: TableSource, options: ReadOptions) -> tuple[NodeTable, NodeIndex, str, list[str]]:
    """The columns that are read, the ids, how their column was found, and notes on copies."""
    named = [*options.text, *options.category, *options.number, *options.ignore]
    roles = [options.node_id, options.label, options.split_by, *options.shown.values()]
    check_columns(nodes.place, nodes.columns, [*roles, *named])
    column, why = id_column(nodes, options)
    read = [name for name in nodes.columns if name not in options.ignore]
    table, index, notes = _indexed(nodes, read, column, _other_column(column, options))
    return table, index, why, notes


def _indexed(
    nodes: TableSource, columns: Sequence[str], column: str, hint: str = ""
) -> tuple[NodeTable, NodeIndex, list[str]]:
    """These columns of a node table, its ids, and a note on rows that are copies of another.

    Copies are left out. An id in several rows that differ is an error.
    """
    frame = nodes.frame(columns)
    try:
        return NodeTable.of(nodes, frame), NodeIndex(frame[column], nodes.place, column, hint), []
    except DataError:
        ids = written(plain_text(frame[column]))
        is_twin = ids.duplicated(keep=False).to_numpy()
        twins = frame[is_twin].apply(lambda values: written(plain_text(values)))
        is_copy = np.zeros(len(frame), dtype=bool)
        is_copy[is_twin] = twins.duplicated().to_numpy()
        kept = np.flatnonzero(~is_copy)
        if not is_copy.any() or ids.iloc[kept].duplicated().any():
            raise
    rest = frame.iloc[kept].reset_index(drop=True)
    note = (
        f"{nodes.place}: {counted(int(is_copy.sum()), 'exact copy', 'exact copies')} of other rows "
        f"left out: {shown_rows(np.flatnonzero(is_copy))}."
    )
    index = NodeIndex(rest[column], nodes.place, column, hint)
    return NodeTable.of(nodes, rest, kept=kept), index, [note]


def _other_column(column: str, options: ReadOptions) -> str:
    """A hint for messages about ids whose column was guessed."""
    is_sure = options.node_id is not None or column.lower() in _ID_NAMES
    hint = f" If another column holds the ids, name it as {option_for('node_id')}."
    return "" if is_sure else hint


def _given(id_column: str, why: str, options: ReadOptions) -> list[ColumnUse]:
    """The use of columns that does not depend on their values."""
    ignored = [ColumnUse("nodes", column, "left out", "as requested") for column in options.ignore]
    shown = [ColumnUse("nodes", column, key) for key, column in options.shown.items()]
    return [ColumnUse("nodes", id_column, "id", why), *ignored, *shown]


def id_column(nodes: TableSource, options: ReadOptions) -> tuple[str, str]:
    """The column of ids, and how it was found if nobody named it."""
    if options.node_id is not None:
        return options.node_id, ""
    taken = (
        options.label, options.split_by, *options.text, *options.category, *options.number,
    )  # fmt: skip
    free = [name for name in nodes.columns if name and name not in (*taken, *options.ignore)]
    if not free:
        raise DataError(
            f"{nodes.place} has no column that could hold ids; name it as {option_for('node_id')}."
        )
    usual = [name for name in free if name.lower() in _ID_NAMES]
    return (usual[0], "by its name") if usual else (free[0], "the first column")


def labels_of_table(table: NodeTable, options: ReadOptions) -> Labels:
    if options.label is not None:
        return table.labels(options.label, options.class_names)
    blank = np.full(len(table.frame), -1, dtype=np.int64)
    return Labels(blank, tuple(options.class_names or ()), np.empty(0, dtype=np.int64), {})


def splits_of_table(
    table: NodeTable, labels: Labels, options: ReadOptions
) -> tuple[dict[str, Split], list[ColumnUse], list[str]]:
    """The split of the user's column, the use of label and split column, and notes."""
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


def _opened(table: Any, what: str, options: ReadOptions) -> TableSource:
    """A file, a query where there is a database, or a frame."""
    if not isinstance(table, str | Path):
        return frame_table(table, f"`{what}`")
    if options.database is not None:
        return open_query(str(table), options.database, what)
    return open_table(table)


def _records(
    ids: Mapping[str, list[Any]], attributes: Sequence[Mapping[str, Any]], place: str
) -> TableSource:
    """Columns of ids and attribute dictionaries as one table."""
    frame = pd.DataFrame(list(attributes), index=range(len(attributes)))
    frame.columns = pd.Index([str(column) for column in frame.columns])
    for column, values in ids.items():
        frame[column] = _id_series(values)
    return TableSource(
        place=place,
        columns=tuple(frame.columns),
        batches=lambda some: iter([frame[list(some)]]),
        may_be_empty=True,
    )


def _id_series(values: list[Any]) -> pd.Series[Any]:
    """Ids as a series: numbers and text as such, all else as the objects they are."""
    plain = all(type(value) is str for value in values) or all(type(v) is int for v in values)
    series = pd.Series(index=range(len(values)), dtype=object)
    series[:] = values
    return series.infer_objects() if plain else series
