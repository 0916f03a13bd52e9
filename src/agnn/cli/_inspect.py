"""`agnn inspect`: what is in some data, without training on it."""

from typing import TYPE_CHECKING, Annotated

import typer

from agnn.cli._console import screen, write_json
from agnn.cli._data import Dataset, Edges, Nodes, data_table, find_data
from agnn.cli._options import Json

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
    """Show what is in a graph, how each column is used and what is unusual, before training."""
    report = find_data(dataset, nodes, edges, name, read).report
    if json:
        write_json({"data": report.to_dict()})
        return
    console = screen()
    console.print(report.name, style="bold")
    console.print(data_table(report))
