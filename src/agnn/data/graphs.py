"""NetworkX graphs, and the graph files that NetworkX reads: GraphML and GEXF."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

from agnn.data._node_data import NodeData
from agnn.data.file_limits import check_text_file
from agnn.data.npz_files import read_npz
from agnn.data.packages import tables_package
from agnn.data.read_options import ReadKeywords, ReadOptions
from agnn.data.table_source import TableSource
from agnn.data.tables import assembled
from agnn.errors import DataError, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

GRAPH_FILES: Final = (".graphml", ".gexf", ".npz")
"""How the names of files end that hold a graph with all that belongs to it."""

_NODE, _SOURCE, _TARGET = "(node)", "(source)", "(target)"  # no attribute is called so


def read_graph(
    path: str | Path, *, name: str | None = None, **options: Unpack[ReadKeywords]
) -> NodeData:
    """The graph in a GraphML or GEXF file, or in an `.npz` of the gnn-benchmark kind.

    Attributes of the nodes are its columns: the keywords are those of `read_tables`. An `.npz`
    brings its own labels and takes `ignore_weights` only.
    """
    file = Path(path)
    end = file.suffix.lower()
    if end not in GRAPH_FILES:
        raise InputError(f"'{file}' must end in {', '.join(GRAPH_FILES)} to be read as a graph.")
    check = ReadOptions(**options)
    if end == ".npz":
        if check != ReadOptions(ignore_weights=check.ignore_weights):
            raise InputError(f"'{file}' names its own labels and features; leave columns away.")
        return read_npz(file, name or file.stem, ignore_weights=check.ignore_weights)
    check_text_file(file)
    return _data(_parsed(file), f"'{file}'", name or file.stem, check)


def from_networkx(graph: Any, *, name: str = "graph", **options: Unpack[ReadKeywords]) -> NodeData:
    """The graph in a NetworkX object; the keywords name attributes of its nodes."""
    if not (hasattr(graph, "nodes") and hasattr(graph, "is_directed")):
        raise InputError(f"`graph` must be a NetworkX graph; got {type(graph).__name__}.")
    return _data(graph, "the graph", name, ReadOptions(**options))


def _parsed(file: Path) -> Any:
    networkx = tables_package("networkx")
    read = networkx.read_graphml if file.suffix.lower() == ".graphml" else networkx.read_gexf
    try:
        return read(file)
    except (SyntaxError, KeyError, ValueError, TypeError, networkx.NetworkXException) as error:
        said = " ".join(str(error).split())[:120]
        raise DataError(f"'{file}' is damaged or of another kind: {said}.") from error


def _data(graph: Any, place: str, name: str, options: ReadOptions) -> NodeData:
    if graph.number_of_nodes() == 0:
        raise DataError(f"{place} has no nodes.")
    given = (options.node_id, options.source, options.target)
    if any(each is not None for each in given):
        raise InputError(f"{place} has its own ids; node_id, source and target go with tables.")
    ids, attributes = zip(*graph.nodes(data=True), strict=True)
    nodes = _table(f"{place} (nodes)", {_NODE: ids}, attributes)
    links = list(graph.edges(data=True))
    ends = {_SOURCE: [link[0] for link in links], _TARGET: [link[1] for link in links]}
    edges = _table(f"{place} (edges)", ends, [link[2] for link in links])
    own = replace(options, node_id=_NODE, source=_SOURCE, target=_TARGET)
    return assembled(nodes, edges, name, own)


def _table(place: str, ids: Mapping[str, Sequence[Any]], attributes: Sequence[Any]) -> TableSource:
    """Ids and attribute dictionaries as the columns of one frame."""
    pandas = tables_package("pandas")
    frame = pandas.DataFrame(list(attributes), index=range(len(attributes)))
    frame.columns = [str(column) for column in frame.columns]
    for column, values in ids.items():
        frame[column] = _id_series(list(values))
    columns = tuple(frame.columns)
    return TableSource(place, columns, lambda some: iter([frame[list(some)]]), may_be_empty=True)


def _id_series(values: list[Any]) -> Any:
    """Ids as a pandas series: numbers and text as such, all else as the objects they are."""
    pandas = tables_package("pandas")
    plain = all(type(value) is str for value in values) or all(type(v) is int for v in values)
    series = pandas.Series(index=range(len(values)), dtype=object)
    series[:] = values
    return series.infer_objects() if plain else series
