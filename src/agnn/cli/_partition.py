"""`agnn partition`: a graph divided into parts on disk, from tables larger than memory."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agnn.cli._arguments import Dataset, Edges, Nodes, both_tables, find_data
from agnn.cli._console import rich_table, screen, write_json
from agnn.cli._options import Json, Quiet
from agnn.errors import InputError

if TYPE_CHECKING:
    from agnn.data import ReadOptions
    from agnn.distributed import GraphSource, Manifest
    from agnn.tables import ResultTable

_SHOWN = 16  # parts with a line of their own
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}


def partition(
    dataset: Dataset = None,
    parts: Annotated[int, typer.Option(help="How many parts: one per rank or machine.")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="A new folder for the parts.", show_default=False)
    ] = None,
    order: Annotated[
        str,
        typer.Option(
            help="given (as in the table), streaming (neighbours together, in one sweep after "
            "the other), metis, or column:NAME (sorted by a column of the nodes); auto is metis "
            "where it is installed and --memory allows it, else streaming."
        ),
    ] = "auto",
    memory: Annotated[
        str, typer.Option(help="How much memory may be used, about; the rest goes to disk.")
    ] = "4GB",
    spill: Annotated[
        Path | None,
        typer.Option(help="Folder for temporary files.", show_default="beside --out"),
    ] = None,
    synthetic: Annotated[
        str | None,
        typer.Option(help="NODES,EDGES: divide a random graph of communities, for trials."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="What to call the data.")] = None,
    json: Json = False,
    quiet: Quiet = False,
    nodes: Nodes = None,
    edges: Edges = None,
    *,
    read: "ReadOptions",
) -> None:
    """Divide a graph into parts on disk, to train on several ranks or with less memory.

    Tables (--nodes, --edges) may be larger than memory: edges are looked up and sorted in pieces,
    and the ids and a few numbers per node stay in memory. What queries (--database) give must fit
    in memory.
    """
    from agnn.distributed import check_order, partition as divide
    from agnn.files import check_new_folder

    # All of this before the tables, which may take long to read.
    if out is None:
        raise InputError("name a new folder for the parts with --out.")
    check_new_folder(out)
    limit = _bytes(memory)
    column = order.removeprefix("column:") if order.startswith("column:") else None
    if column is None:
        check_order(order)
    if synthetic is not None:
        if dataset or nodes or edges or column:
            raise InputError("--synthetic makes its own graph; leave the others out.")
        source: Any = _synthetic(synthetic)
        positions = None
    else:
        source, positions = _source(dataset, nodes, edges, name, read, column, limit)
    console = screen(is_error=True)

    def tell(step: str) -> None:
        if not quiet:
            console.print(step, style="dim")

    manifest = divide(
        source, out, parts, order=order, positions=positions, memory=limit, spill=spill, tell=tell
    )
    if json:
        write_json({"out": str(out), **manifest_record(manifest)})
        return
    screen().print(f"{manifest.name}: {parts} parts in {out}", style="bold")
    screen().print(rich_table(manifest_table(manifest)))


def _source(
    dataset: str | None,
    nodes: str | None,
    edges: str | None,
    name: str | None,
    read: "ReadOptions",
    column: str | None,
    memory: int,
) -> tuple[Any, Any]:
    """Return what to divide, and the order by a column where one is named."""
    from agnn.distributed import GraphSource

    if (nodes is not None or edges is not None) and read.database is None:
        if dataset is not None:
            raise InputError(f"give '{dataset}' or --nodes and --edges, not both.")
        from agnn.data.tables import LargeTables

        node_file, edge_file = (Path(path) for path in both_tables(nodes, edges))
        tables = LargeTables(node_file, edge_file, read, memory)
        positions = None if column is None else tables.order_by(column)
        return GraphSource.of_tables(tables, name or node_file.stem), positions
    if column is not None:
        raise InputError("an order by a column goes with --nodes and --edges that are files.")
    return find_data(dataset, nodes, edges, name, read), None


def _synthetic(text: str) -> "GraphSource":
    """Return the random graph of NODES,EDGES."""
    from agnn.distributed import GraphSource

    counts = re.fullmatch(r"(\d+),(\d+)", text.replace("_", ""))
    if counts is None:
        raise InputError(f"--synthetic takes NODES,EDGES; got '{text}'.")
    return GraphSource.synthetic(int(counts[1]), int(counts[2]))


def _bytes(text: str) -> int:
    """Return a size such as 4GB or 512MiB in bytes."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmg]i?)?b?", text.strip().lower())
    size = 0 if match is None else int(float(match[1]) * _UNITS[match[2] or ""])
    if size < 100 * 10**6:
        raise InputError(f"--memory takes a size of at least 100MB, such as 4GB; got '{text}'.")
    return size


def manifest_record(manifest: "Manifest") -> dict[str, Any]:
    """Return what `--json` prints of a folder of parts."""
    record = manifest.to_dict() | {"cut": manifest.cut}
    for key in ("column_means", "column_scales", "preprocessing", "files"):
        del record[key]
    facts = ("rows", "edges", "cut", "halo")
    record["parts"] = [{key: getattr(part, key) for key in facts} for part in manifest.parts]
    return record


def manifest_table(manifest: "Manifest") -> "ResultTable":
    """Return what is in a folder of parts, in a few lines."""
    from agnn.tables import facts_table

    parts = manifest.parts
    kind = "dense" if manifest.is_dense else "sparse"
    largest = max(parts, key=lambda part: part.edges)
    more = f"and {len(parts) - _SHOWN} more; --json lists them all"
    return facts_table(
        [
            ("nodes", f"{manifest.nodes:,}"),
            ("edges", f"{manifest.edges:,} ({manifest.entries:,} as given)"),
            ("edge weights", "in the parts" if manifest.is_weighted else None),
            ("features", f"{manifest.feature_count:,}, {kind}"),
            ("classes", f"{len(manifest.class_names)}"),
            ("masks", ", ".join(manifest.masks) or "none"),
            ("order", manifest.order),
            ("cut", f"{manifest.cut:.1%} of the edges join two parts"),
            ("halo", f"{sum(p.halo for p in parts) / manifest.nodes:.2f} rows per node in all"),
            ("largest part", f"{largest.rows:,} rows, {largest.edges:,} stored edges"),
            *(("note", note) for note in manifest.notes),
            *(
                (
                    f"part {k}",
                    f"{part.rows:,} rows, {part.edges:,} stored edges, cut {part.cut:,}, halo "
                    f"{part.halo:,}",
                )
                for k, part in enumerate(parts[:_SHOWN])
            ),
            ("", more if len(parts) > _SHOWN else None),
        ]
    )
