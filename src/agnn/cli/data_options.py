"""Options that name somebody's own data: files, columns, and what is forgiven."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_PANEL = "Your own tables"

Dataset = Annotated[
    str | None,
    typer.Argument(
        help="cora, citeseer, pubmed; a folder of raw Planetoid files ind.NAME.* (write ./cora for "
        "a folder of that name); or a .graphml, .gexf or .npz file.",
        show_default="--nodes and --edges",
    ),
]
Nodes = Annotated[
    Path | None,
    typer.Option(help="Table with one row a node: CSV, TSV, Parquet.", rich_help_panel=_PANEL),
]
Edges = Annotated[
    Path | None,
    typer.Option(help="Table with one row an edge, or an .edgelist file.", rich_help_panel=_PANEL),
]
Label = Annotated[str | None, typer.Option(help="Column of the classes.", rich_help_panel=_PANEL)]
NodeId = Annotated[
    str | None,
    typer.Option(
        "--id",
        "--node-id",
        help="Column of the ids.",
        show_default="'id', 'node', or the first",
        rich_help_panel=_PANEL,
    ),
]
Source = Annotated[
    str | None,
    typer.Option(
        help="Column of one end of the edges.",
        show_default="'source', or the first",
        rich_help_panel=_PANEL,
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        help="Column of the other end.",
        show_default="'target', or the second",
        rich_help_panel=_PANEL,
    ),
]
Text = Annotated[
    list[str] | None,
    typer.Option(help="Column of sentences; may be repeated.", rich_help_panel=_PANEL),
]
Category = Annotated[
    list[str] | None,
    typer.Option(
        help="Column of names, even if they look like numbers; may be repeated.",
        rich_help_panel=_PANEL,
    ),
]
Number = Annotated[
    list[str] | None,
    typer.Option(
        help="Column of numbers to keep even if it looks like an identifier; may be repeated.",
        rich_help_panel=_PANEL,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(help="Column of the nodes to leave out; may be repeated.", rich_help_panel=_PANEL),
]
SplitColumn = Annotated[
    str | None,
    typer.Option(help="Column that says train, validation or test.", rich_help_panel=_PANEL),
]
DropUnknown = Annotated[
    bool,
    typer.Option(
        "--drop-unknown", help="Leave out edges to ids that no node has.", rich_help_panel=_PANEL
    ),
]
IgnoreWeights = Annotated[
    bool,
    typer.Option(
        "--ignore-weights", help="Leave out numbers at the edges.", rich_help_panel=_PANEL
    ),
]
