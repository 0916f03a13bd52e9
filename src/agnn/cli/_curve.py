"""`agnn curve`: the accuracy of a run with fewer labels, and what more may bring."""

from pathlib import Path
from typing import Annotated

import typer

from agnn.cli._console import rich_table, screen, training_progress, write_json
from agnn.cli._failures import interruptible
from agnn.cli._options import AllowUnchecked, Backend, Device, Json, Quiet, Threads, use_threads
from agnn.errors import InputError


def curve(
    run: Annotated[Path, typer.Argument(help="A folder that `agnn train --out` wrote.")],
    repeats: Annotated[int, typer.Option(help="Draws of the labels for every number.")] = 3,
    out: Annotated[Path | None, typer.Option(help="A new .csv file for the curve.")] = None,
    device: Device = "auto",
    backend: Backend = "auto",
    threads: Threads = None,
    json: Json = False,
    quiet: Quiet = False,
    allow_unchecked: AllowUnchecked = False,
) -> None:
    """Show how the accuracy grows with the number of labels.

    The run's method is trained again with an eighth to three quarters of the labels. What twice or
    four times as many would give is extrapolated, and marked so.
    """
    from agnn import decisions
    from agnn.files import check_new_file, write_file
    from agnn.runs import load_run

    use_threads(threads)
    if out is not None:
        if out.suffix.lower() != ".csv":
            raise InputError(f"'{out}' must end in .csv to be written.")
        check_new_file(out)
    trained = load_run(run, trust_unchecked=allow_unchecked)
    doing = f"Training {trained.method.title} with fewer labels"
    with (
        interruptible(lambda: "the curve was not finished and nothing was written."),
        training_progress(doing, is_quiet=quiet) as progress,
    ):
        learning_curve = decisions.learning_curve(
            trained, repeats=repeats, device=device, backend=backend, progress=progress
        )
    if out is not None:
        write_file(out, learning_curve.table.csv())
    if json:
        written = {} if out is None else {"out": str(out)}
        write_json({"run": str(run), **learning_curve.to_dict(), **written})
        return
    console = screen()
    console.print(rich_table(learning_curve.table))
    console.print()
    for sentence in learning_curve.sentences:
        console.print(sentence)
    if out is not None:
        console.print(f"the curve: {out}", soft_wrap=True)
