"""`agnn inspect`: what is in some data, without training on it."""

from typing import Annotated

import typer

from agnn.cli.console import screen, write_json
from agnn.cli.data_options import (
    Category,
    Dataset,
    DropUnknown,
    Edges,
    Ignore,
    IgnoreWeights,
    Label,
    NodeId,
    Nodes,
    Number,
    Source,
    SplitColumn,
    Target,
    Text,
)
from agnn.cli.data_table import data_table
from agnn.cli.options import Json
from agnn.cli.source import chosen, find_data


def inspect(
    dataset: Dataset = None,
    nodes: Nodes = None,
    edges: Edges = None,
    label: Label = None,
    node_id: NodeId = None,
    source: Source = None,
    target: Target = None,
    text: Text = None,
    category: Category = None,
    number: Number = None,
    ignore: Ignore = None,
    split_column: SplitColumn = None,
    drop_unknown: DropUnknown = False,
    ignore_weights: IgnoreWeights = False,
    name: Annotated[str | None, typer.Option(help="What to call the data.")] = None,
    json: Json = False,
) -> None:
    """Show what is in a graph, what was taken as what, and what is odd, before training."""
    choice = chosen(
        dataset, name, nodes=nodes, edges=edges, label=label, node_id=node_id, source=source,
        target=target, text=text, category=category, number=number, ignore=ignore,
        split_column=split_column, drop_unknown=drop_unknown, ignore_weights=ignore_weights,
    )  # fmt: skip
    report = find_data(choice).report
    if json:
        write_json({"data": report.to_dict()})
        return
    console = screen()
    console.print(report.name, style="bold")
    console.print(data_table(report))
