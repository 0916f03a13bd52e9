"""Options that several commands share, each with one name and one meaning."""

from __future__ import annotations

from typing import Annotated

import typer

from agnn.cli._fields import hyper_parameter_option, training_option
from agnn.errors import InputError

SplitName = Annotated[str | None, training_option("split")]
Replicas = Annotated[int, training_option("replicas")]
Seed = Annotated[int, training_option("seed")]
Epochs = Annotated[int | None, hyper_parameter_option("epochs")]
Device = Annotated[str, training_option("device")]
Backend = Annotated[str, training_option("backend")]
Threads = Annotated[int | None, training_option("threads")]
Executor = Annotated[str | None, training_option("executor")]
Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print one JSON object and nothing else; an error is still a line of text on stderr.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress and no report on the data.")]
AllowUnchecked = Annotated[
    bool,
    typer.Option(
        "--allow-unchecked",
        help="Load a run folder without checksums, whose origin you know.",
    ),
]


def use_threads(count: int | None) -> None:
    """Compute with this many threads; None leaves it to torch."""
    if count is None:
        return
    if not 1 <= count <= 1024:
        raise InputError(f"`threads` must be from 1 to 1024; got {count}.")
    import torch

    torch.set_num_threads(count)
