"""A node table and an edge table to one checked NodeData."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

import numpy as np

from agnn.data.edge_columns import edge_entries
from agnn.data.edges import simple_edges
from agnn.data.feature_blocks import Source
from agnn.data.feature_columns import Fit, fitted_features
from agnn.data.label_column import Labels, encoded_labels
from agnn.data.node_data import NodeData
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
    roles = [options.node_id, options.label, options.split_column]
    named = [*options.text, *options.category, *options.ignore]
    check_columns(nodes.place, nodes.columns, [*roles, *named])
    id_column, remark = found_id_column(nodes, options)
    wanted = [column for column in nodes.columns if column not in options.ignore]
    frame = nodes.frame(wanted)
    table = NodeTable(frame, nodes.place, nodes.is_untyped)
    index = NodeIndex(frame[id_column], table.where(id_column))
    found = edge_entries(edges, index, options)
    simple, facts = simple_edges(found.entries, len(frame))
    notes = [note for note in (nodes.note, edges.note, remark) if note]
    notes += found.notes + edge_notes(found, simple, facts, index.ids, edges.place)
    labels = _labels(table, options)
    uses = [ColumnUse("nodes", id_column, "id")]
    uses += [ColumnUse("nodes", column, "left out", "as asked") for column in options.ignore]
    splits = _splits(table, labels, options, uses, notes)
    rest = [column for column in wanted if column not in (id_column, *roles)]
    source = Source(table, simple, len(frame))
    fit = Fit() if options.preprocessing else fitted_features(table, rest, options, simple)
    preprocessing = options.preprocessing or fit.preprocessing
    reading = Reading(
        source=f"{nodes.place} and {edges.place}",
        columns=(*uses, *fit.uses, *found.uses),
        notes=(*notes, *fit.notes),
        dropped_edges=found.dropped,
        unlabelled_as=labels.unlabelled_as,
    )
    return NodeData.build(
        name=name,
        features=preprocessing.features(source),
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


def found_id_column(nodes: TableSource, options: ReadOptions) -> tuple[str, str]:
    """The column of ids, and what to say where it had to be found."""
    if options.node_id is not None:
        return options.node_id, ""
    taken = (options.label, options.split_column, *options.text, *options.category)
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
    table: NodeTable,
    labels: Labels,
    options: ReadOptions,
    uses: list[ColumnUse],
    notes: list[str],
) -> dict[str, Split]:
    """The split of the user's column; remembers what the label and split columns became."""
    if options.label is not None:
        detail = f"{len(labels.class_names)} classes"
        uses.append(ColumnUse("nodes", options.label, "label", detail))
    column: str | None = options.split_column
    if column is None:
        return {}
    split, said = column_split(table.frame[column], labels.codes, table.where(column))
    sizes: Sequence[str] = [f"{part} {nodes.size:,}" for part, nodes in split.parts.items()]
    uses.append(ColumnUse("nodes", column, "split", ", ".join(sizes)))
    notes += said
    return {split.name: split}
