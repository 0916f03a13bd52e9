"""`agnn inspect`: what is in some data, without training on it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agnn.cli._console import screen, write_json
from agnn.cli._data import Dataset, Edges, Nodes, data_table, find_data
from agnn.cli._options import Json
from agnn.cli._partition import manifest_record, manifest_table

if TYPE_CHECKING:
    from agnn.data import ReadOptions


def inspect(
    dataset: Dataset = None,
    nodes: Nodes = None,
    edges: Edges = None,
    name: Annotated[str | None, typer.Option(help="What to call the data.")] = None,
    json: Json = False,
    *,
    read: "ReadOptions",
) -> None:
    """Show what is in a graph, how each column is used and what is unusual, before training.

    Of a folder of parts: how it is divided.
    """
    if dataset is not None and (Path(dataset) / "manifest.json").is_file():
        _inspect_parts(Path(dataset), as_json=json)
        return
    report = find_data(dataset, nodes, edges, name, read).report
    if json:
        write_json({"data": report.to_dict()})
        return
    console = screen()
    console.print(report.name, style="bold")
    console.print(data_table(report))


def _inspect_parts(folder: Path, *, as_json: bool) -> None:
    from agnn.distributed import read_manifest

    manifest = read_manifest(folder)
    if as_json:
        write_json({"parts": manifest_record(manifest)})
        return
    console = screen()
    console.print(f"{manifest.name}: {len(manifest.parts)} parts", style="bold")
    console.print(manifest_table(manifest))
