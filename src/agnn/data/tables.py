"""A node table and an edge table to one checked NodeData."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

import numpy as np

from agnn.data._node_data import NodeData
from agnn.data.edge_columns import edge_entries
from agnn.data.edges import simple_edges
from agnn.data.feature_blocks import Source
from agnn.data.feature_columns import Fit, fitted_features
from agnn.data.label_column import Labels, encoded_labels
from agnn.data.node_index import NodeIndex
from agnn.data.node_table import NodeTable
from agnn.data.odd_edges import edge_notes
from agnn.data.read_options import ReadKeywords, ReadOptions, check_columns
from agnn.data.reading import ColumnUse, Reading
from agnn.data.split_column import column_split
from agnn.data.table_source import TableSource, frame_table, open_table
from agnn.errors import DataError

if TYPE_CHECKING:
    from agnn.data.splits import Split

_ID_NAMES: Final = ("id", "node", "node_id", "nodeid")


def read_tables(
    nodes: str | Path,
    edges: str | Path,
    *,
    name: str | None = None,
    **options: Unpack[ReadKeywords],
) -> NodeData:
    """The graph in a file with one row a node and a file with one row an edge.

    Both are CSV, TSV or Parquet; the edges may also be an edge list (two ids a line). The keywords
    are those of `ReadOptions`: `label` names the column of classes, and so on. What was taken as
    what, and what is odd, is in the data's `report`.
    """
    data_name = name or Path(nodes).stem
    return assembled(open_table(nodes), open_table(edges), data_name, ReadOptions(**options))


def from_pandas(
    nodes: Any, edges: Any, *, name: str = "frames", **options: Unpack[ReadKeywords]
) -> NodeData:
    """The graph in two pandas frames; the keywords are those of `read_tables`."""
    tables = frame_table(nodes, "`nodes`"), frame_table(edges, "`edges`")
    return assembled(*tables, name, ReadOptions(**options))


def assembled(nodes: TableSource, edges: TableSource, name: str, options: ReadOptions) -> NodeData:
    """The data in two tables."""
    table, index, said = _nodes(nodes, options)
    found = edge_entries(edges, index, options)
    simple, facts = simple_edges(found.entries, len(index.ids))
    labels = _labels(table, options)
    splits, uses, remarks = _splits(table, labels, options)
    taken = (index.column, options.label, options.split_column)
    rest = [column for column in table.frame.columns if column not in taken]
    fit = Fit() if options.preprocessing else fitted_features(table, rest, options, simple)
    preprocessing = options.preprocessing or fit.preprocessing
    reading = Reading(
        source=f"{nodes.place} and {edges.place}",
        columns=(*_given(index.column, options), *uses, *fit.uses, *found.uses),
        notes=(
            *(note for note in (nodes.note, edges.note, said) if note),
            *found.notes,
            *edge_notes(found, simple, facts, index.ids, edges.place),
            *remarks,
            *fit.notes,
        ),
        dropped_edges=found.dropped,
        unlabelled_as=labels.unlabelled_as,
    )
    return NodeData.build(
        name=name,
        features=preprocessing.features(Source(table, simple, len(index.ids))),
        labels=labels.codes,
        edges=simple,
        class_names=labels.class_names,
        node_ids=index.ids,
        splits=splits,
        facts=facts,
        row_normalised=preprocessing.row_normalised,
        preprocessing=preprocessing,
        reading=reading,
    )


def _nodes(nodes: TableSource, options: ReadOptions) -> tuple[NodeTable, NodeIndex, str]:
    """The columns that are looked at, the ids, and how their column was found."""
    named = [*options.text, *options.category, *options.number, *options.ignore]
    roles = [options.node_id, options.label, options.split_column]
    check_columns(nodes.place, nodes.columns, [*roles, *named])
    column, said = found_id_column(nodes, options)
    frame = nodes.frame([name for name in nodes.columns if name not in options.ignore])
    return (
        NodeTable(frame, nodes.place, nodes.is_untyped),
        NodeIndex(frame[column], nodes.place, column, _other_column(column, options)),
        said,
    )


def _other_column(column: str, options: ReadOptions) -> str:
    """What to say with ids that will not do, where their column was guessed."""
    is_sure = options.node_id is not None or column.lower() in _ID_NAMES
    return "" if is_sure else " If another column holds the ids, name it with --id."


def _given(id_column: str, options: ReadOptions) -> list[ColumnUse]:
    """What the columns became whose use does not depend on their values."""
    ignored = [ColumnUse("nodes", column, "left out", "as asked") for column in options.ignore]
    return [ColumnUse("nodes", id_column, "id"), *ignored]


def found_id_column(nodes: TableSource, options: ReadOptions) -> tuple[str, str]:
    """The column of ids, and what to say where it had to be found."""
    if options.node_id is not None:
        return options.node_id, ""
    taken = (
        options.label, options.split_column, *options.text, *options.category, *options.number,
    )  # fmt: skip
    free = [name for name in nodes.columns if name and name not in (*taken, *options.ignore)]
    if not free:
        raise DataError(f"{nodes.place} has no column that could hold ids; name it with --id.")
    usual = [name for name in free if name.lower() in _ID_NAMES]
    column = usual[0] if usual else free[0]
    why = "by its name" if usual else "the first"
    return column, f"Column '{column}' of {nodes.place} is taken as the id ({why})."


def _labels(table: NodeTable, options: ReadOptions) -> Labels:
    if options.label is None:
        blank = np.full(len(table.frame), -1, dtype=np.int64)
        return Labels(blank, tuple(options.class_names or ()), {})
    values = table.frame[options.label]
    return encoded_labels(values, table.where(options.label), options.class_names)


def _splits(
    table: NodeTable, labels: Labels, options: ReadOptions
) -> tuple[dict[str, Split], list[ColumnUse], list[str]]:
    """The split of the user's column, what label and split column became, and remarks."""
    uses = []
    if options.label is not None:
        detail = f"{len(labels.class_names)} classes"
        uses.append(ColumnUse("nodes", options.label, "label", detail))
    column = options.split_column
    if column is None:
        return {}, uses, []
    split, remarks = column_split(table.frame[column], labels.codes, table.where(column))
    sizes = [f"{part} {nodes.size:,}" for part, nodes in split.parts.items()]
    uses.append(ColumnUse("nodes", column, "split", ", ".join(sizes)))
    return {split.name: split}, uses, remarks
