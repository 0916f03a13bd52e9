"""The graph of a run with nodes that come in a request behind its own."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agnn.data import with_new_nodes
from agnn.data.packages import tables_package
from agnn.errors import InputError
from agnn.web.api.problems import ConflictError, UnknownNodeError

if TYPE_CHECKING:
    from agnn.data import NodeData
    from agnn.explanation import OpenedRun

NewNode = tuple[Hashable, Mapping[str, Any]]  # an id and its columns
Link = tuple[Hashable, Hashable]


def larger_graph(opened: OpenedRun, nodes: Sequence[NewNode], edges: Sequence[Link]) -> NodeData:
    """The data with the new nodes behind the old ones, as `agnn predict` has it.

    The ids must be new and all different; an edge may name old and new ones.
    """
    if opened.data.preprocessing is None:
        raise ConflictError(
            f"'{opened.data.name}' was not made from a table: new nodes cannot be added."
        )
    new = _by_text(opened, [node for node, _ in nodes])
    own = opened.data.node_ids

    def end(name: Hashable) -> Hashable:
        """An id as the graph itself writes it."""
        return new[str(name)] if str(name) in new else own[place_of(opened, name)]

    pandas = tables_package("pandas")
    links = [(end(first), end(second)) for first, second in edges]
    frame = pandas.DataFrame(links, columns=["source", "target"], dtype=object)
    table, key = _table(nodes, pandas)
    return with_new_nodes(opened.data, table, frame, node_id=key)


def place_of(opened: OpenedRun, name: Hashable) -> int:
    """The index of the node with this id."""
    try:
        return opened.node(name)
    except InputError as error:
        raise UnknownNodeError(str(error)) from error


def _by_text(opened: OpenedRun, ids: Sequence[Hashable]) -> dict[str, Hashable]:
    """The new ids by their text, since 7 and "7" would be one node to whoever asks."""
    new: dict[str, Hashable] = {}
    for each in ids:
        if str(each) in new:
            raise ConflictError(f"the id {each!r} is given twice in `nodes`.")
        if opened.has_node(each):
            raise ConflictError(f"the graph has a node {each!r} already; ask for it by its id.")
        new[str(each)] = each
    return new


def _table(nodes: Sequence[NewNode], pandas: Any) -> tuple[Any, str]:
    """The new nodes as a frame, and the name of its column of ids."""
    key = "id"
    while any(key in columns for _, columns in nodes):  # a column may have any name
        key += "_"
    rows = [{key: each, **_cells(columns)} for each, columns in nodes]
    table = pandas.DataFrame(rows, columns=list(rows[0]))
    table[key] = table[key].astype(object)
    return table, key


def _cells(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Cells as a table has them: whole numbers among names are names."""
    return {
        name: str(value) if isinstance(value, int) else value for name, value in columns.items()
    }
