"""Options that several verbs share, each with one name and one meaning."""

from __future__ import annotations

from typing import Annotated

import typer

Replicas = Annotated[
    int, typer.Option(help="How many models to train, all at once; with folds, how many trials.")
]
Seed = Annotated[int, typer.Option(help="The first replica's seed; the others count on from it.")]
Epochs = Annotated[
    int | None, typer.Option(help="At most this many epochs.", show_default="the paper's")
]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Backend = Annotated[str, typer.Option(help="auto, reference, numba or triton.")]
Threads = Annotated[
    int | None, typer.Option(help="Threads to compute with.", show_default="torch's choice")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]
AllowUnchecked = Annotated[
    bool,
    typer.Option(
        "--allow-unchecked",
        help="Load a run folder without checksums, whose origin you know.",
    ),
]
