"""Nodes that come later, with edges among themselves and into the graph that is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from agnn.data._node_data import NodeData
from agnn.data.edge_columns import edge_entries
from agnn.data.edges import simple_edges
from agnn.data.feature_blocks import Source
from agnn.data.node_index import NodeIndex
from agnn.data.node_table import NodeTable
from agnn.data.odd_edges import edge_notes
from agnn.data.packages import tables_package
from agnn.data.read_options import ReadKeywords, ReadOptions, check_columns
from agnn.data.reading import Reading
from agnn.data.table_source import TableSource, frame_table, open_table
from agnn.data.tables import found_id_column
from agnn.errors import DataError, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.data.features import SparseRows
    from agnn.data.preprocessing import Preprocessing


def with_new_nodes(
    data: NodeData,
    nodes: str | Path | Any,
    edges: str | Path | Any,
    **options: Unpack[ReadKeywords],
) -> NodeData:
    """`data` followed by the nodes of a table, which have no labels; splits stay as they are.

    `nodes` and `edges` are files or pandas frames. An edge may name old and new ids. The new
    nodes' features are made as the old ones were, so they need the same columns. Of the options
    `node_id`, `source`, `target`, `drop_unknown` and `ignore_weights` have a meaning here.
    """
    chosen = ReadOptions(**options)
    if data.preprocessing is None:
        raise InputError(f"'{data.name}' was not made from a table: new nodes cannot be added.")
    new = _opened(nodes, "`nodes`")
    # A file of edges holds some, but a frame may have none: nodes that know nobody yet.
    links = replace(_opened(edges, "`edges`"), may_be_empty=not isinstance(edges, str | Path))
    check_columns(new.place, new.columns, [chosen.node_id])
    column, said = found_id_column(new, chosen)
    table = NodeTable(new.frame(new.columns), new.place, new.is_untyped)
    index = _joined(data, NodeIndex(table.frame[column], new.place, column))
    found = edge_entries(links, index, chosen)
    entries = np.concatenate([data.edges, found.entries], axis=1)
    simple, facts = simple_edges(entries, len(index.ids))
    odd = edge_notes(found, *simple_edges(found.entries, len(index.ids)), index.ids, links.place)
    return NodeData.build(
        name=data.name,
        features=_features(data, data.preprocessing, table, simple),
        labels=np.concatenate([data.labels, np.full(len(table.frame), -1)]),
        edges=simple,
        class_names=data.class_names,
        node_ids=index.ids,
        splits=data.splits,
        facts=facts,
        row_normalised=data.row_normalised,
        preprocessing=data.preprocessing,
        reading=Reading(
            source=f"'{data.name}', {new.place} and {links.place}",
            columns=tuple(found.uses),
            notes=tuple(note for note in (new.note, said, *found.notes, *odd) if note),
            dropped_edges=found.dropped,
        ),
    )


def _opened(table: Any, place: str) -> TableSource:
    return open_table(table) if isinstance(table, str | Path) else frame_table(table, place)


def _joined(data: NodeData, own: NodeIndex) -> NodeIndex:
    """Old ids, then new ones; an id that is in both is refused."""
    known = set(data.node_ids)
    both = [row for row, node in enumerate(own.ids) if node in known]
    if both:
        raise DataError(
            f"{own.where}, row {both[0] + 1}: the id {own.ids[both[0]]!r} is in '{data.name}' "
            f"already; new nodes need new ids."
        )
    series = tables_package("pandas").Series([*data.node_ids, *own.ids], dtype=object)
    return NodeIndex(series.infer_objects(), f"'{data.name}' or {own.place}", own.column)


def _features(
    data: NodeData, preprocessing: Preprocessing, table: NodeTable, edges: NDArray[np.int64]
) -> SparseRows:
    """Rows of all nodes; where the graph itself makes them, the old ones change with it."""
    from scipy import sparse

    if preprocessing.is_structural:
        return preprocessing.features(Source(None, edges, data.nodes + len(table.frame)))
    new = preprocessing.features(Source(table, edges, len(table.frame)))
    return sparse.csr_array(sparse.vstack([data.features, new], format="csr"))
