"""Options that several commands share, each with one name and one meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

import typer

from agnn.errors import InputError

# The panels of a long help and the parameters in each; all others are in the first.
PANELS: Final[Mapping[str, Sequence[str]]] = {
    "Hyper-parameters": (
        "epochs", "layers", "hidden", "learning_rate", "weight_decay", "dropout", "scaling",
        "stop_after", "stop_on", "fanout", "precision", "settings", "class_weight",
    ),
    "Choosing settings": ("metric", "time", "nested", "tuned", "search", "search_file"),
    "Computing": ("device", "backend", "threads", "executor", "ranks", "divide", "wire"),
    "Results and files": (
        "out", "checkpoint", "resume", "track", "config", "save_config", "config_schema", "json",
        "quiet",
    ),
}  # fmt: skip

SplitName = Annotated[
    str | None,
    typer.Option(
        help="fixed, own, time, group, uniform, balanced, stratified, 20-per-class, 10-fold, "
        "10-fold-nested, stratified-5-fold (any number), or a .json file.",
        show_default="the data's own; without one stratified, with folds below 50 labels",
    ),
]
Replicas = Annotated[
    int,
    typer.Option(help="Models to train, each with its own seed; with folds, trials."),
]
Seed = Annotated[int, typer.Option(help="Seed of the first replica; the others count up from it.")]
Epochs = Annotated[
    int | None, typer.Option(help="At most this many epochs.", show_default="the paper's")
]
Metric = Annotated[
    str | None,
    typer.Option(
        help="Choose epochs and settings by this on validation nodes: accuracy, "
        "balanced_accuracy, f1, auc or log_loss.",
        show_default="the method's own rule",
    ),
]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Backend = Annotated[str, typer.Option(help="auto, reference, numba or triton.")]
Threads = Annotated[
    int | None, typer.Option(help="Threads to compute with.", show_default="torch's choice")
]
Executor = Annotated[
    str | None,
    typer.Option(
        help="Workers that train: local:N (processes), dask:ADDRESS (of a Dask scheduler; or its "
        "file), or dask (on this machine).",
        show_default="this process",
    ),
]
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
