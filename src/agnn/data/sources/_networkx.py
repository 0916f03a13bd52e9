"""NetworkX graphs, and the graph files that NetworkX reads: GraphML and GEXF."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Unpack

from agnn.data._input_files import check_text_file, local_file
from agnn.data._node_data import NodeData
from agnn.data._options import ReadKeywords, ReadOptions
from agnn.data.sources._arrays import read_npz
from agnn.errors import DataError, InputError, import_extra

GRAPH_FILES: Final = (".graphml", ".gexf", ".npz")
"""Endings of files that hold a whole graph."""

# What XML of another kind makes NetworkX raise.
_DAMAGE: Final = (
    SyntaxError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    RecursionError,
)


def read_graph(
    path: str | Path, *, name: str | None = None, **options: Unpack[ReadKeywords]
) -> NodeData:
    """Return the graph in a GraphML or GEXF file, or in an `.npz` of the gnn-benchmark kind.

    Attributes of the nodes are its columns; the keywords are those of `read_tables`. An `.npz`
    has its own labels, and splits if it holds masks, and takes `ignore_weights` only.
    """
    file = local_file(path)
    end = file.suffix.lower()
    if end not in GRAPH_FILES:
        raise InputError(f"'{file}' must end in {', '.join(GRAPH_FILES)} to be read as a graph.")
    chosen = ReadOptions(**options)
    if end == ".npz":
        if chosen != ReadOptions(ignore_weights=chosen.ignore_weights):
            raise InputError(f"'{file}' has its own labels and features; give no columns.")
        return read_npz(file, name or file.stem, ignore_weights=chosen.ignore_weights)
    check_text_file(file)
    return _data(_read_networkx(file), f"'{file}'", name or file.stem, chosen)


def from_networkx(graph: Any, *, name: str = "graph", **options: Unpack[ReadKeywords]) -> NodeData:
    """Return the graph in a NetworkX object; the keywords name attributes of its nodes."""
    if not (hasattr(graph, "nodes") and hasattr(graph, "is_directed")):
        raise InputError(f"`graph` must be a NetworkX graph; got {type(graph).__name__}.")
    return _data(graph, "the graph", name, ReadOptions(**options))


def _read_networkx(file: Path) -> Any:
    networkx = import_extra("networkx", "graph files are read with it", "agnn[tables]")
    read = networkx.read_graphml if file.suffix.lower() == ".graphml" else networkx.read_gexf
    try:
        return read(file)
    except (*_DAMAGE, networkx.NetworkXException) as error:
        reason = " ".join(str(error).split())[:120]
        raise DataError(f"'{file}' is damaged or of another kind: {reason}.") from error


def _data(graph: Any, place: str, name: str, options: ReadOptions) -> NodeData:
    if graph.number_of_nodes() == 0:
        raise DataError(f"{place} has no nodes.")
    if any(option is not None for option in (options.node_id, options.source, options.target)):
        raise InputError(f"{place} has its own ids; node_id, source and target go with tables.")
    from agnn.data.tables import data_of_records

    return data_of_records(
        list(graph.nodes(data=True)), list(graph.edges(data=True)), place, name, options
    )
