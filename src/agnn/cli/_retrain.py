"""`agnn retrain`: a run's method, trained again with more labels."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agnn.cli._console import screen, training_progress, write_json
from agnn.cli._failures import interruptible
from agnn.cli._options import (
    AllowUnchecked,
    Backend,
    Device,
    Json,
    Quiet,
    RunFolder,
    Threads,
    use_threads,
)
from agnn.cli._record import print_result, run_record

if TYPE_CHECKING:
    from agnn.metrics import NodeDifference


def retrain(
    run: RunFolder,
    labels: Annotated[
        Path,
        typer.Option(
            help="A .csv table of ids and classes, or the file that `agnn explore --label-mode` "
            "keeps."
        ),
    ],
    out: Annotated[Path, typer.Option(help="A new folder for the weights and results.")],
    device: Device = "auto",
    backend: Backend = "auto",
    threads: Threads = None,
    json: Json = False,
    quiet: Quiet = False,
    allow_unchecked: AllowUnchecked = False,
) -> None:
    """Train the method of a run again with more labels.

    Settings and seeds are those of the run. A node with a new label becomes a training node; all
    others stay in their parts. With cross-fitting a corrected label stays in its fold. The accuracy
    of both runs is measured on the same test nodes.
    """
    from agnn import runs
    from agnn.files import check_new_folder

    use_threads(threads)
    check_new_folder(out)
    before = runs.load_run(run, trust_unchecked=allow_unchecked)
    new_labels = runs.read_labels(labels, before.data)
    doing = f"Training {before.method.title} on {before.data.name}"
    with (
        interruptible(lambda: "the training was not finished and nothing was written."),
        training_progress(doing, is_quiet=quiet) as progress,
    ):
        after = runs.retrain(before, new_labels, device=device, backend=backend, progress=progress)
    try:
        runs.save_run(after, out)
    except OSError as error:
        raise runs.keep_elsewhere(after, out, error) from error
    accuracy_before, accuracy_after = runs.accuracy_before_and_after(before, after)
    difference = runs.accuracy_difference(before, after)
    if json:
        compared = {
            "labels": len(new_labels),
            "before": accuracy_before.to_dict(),
            "after": accuracy_after.to_dict(),
            "difference": None if difference is None else difference.to_dict(),
        }
        write_json(run_record(after, out) | {"retrained": compared})
        return
    print_result(after, f"{after.method.title} on {after.data.name}, {len(new_labels)} labels", out)
    screen().print(
        f"Accuracy on the test nodes of both runs: {accuracy_before.mean:.1f} % before, "
        f"{accuracy_after.mean:.1f} % now{_difference_words(difference)}."
    )


def _difference_words(difference: "NodeDifference | None") -> str:
    """The difference with its interval, and whether it may be chance."""
    if difference is None:
        return ""
    low, high = difference.interval
    if low == high == 0.0:
        return ", the same in every test node"
    is_sure = difference.is_clear or difference.is_worse
    return (
        f", a difference of {difference.mean:+.1f} points (95 % interval {low:+.1f} to {high:+.1f})"
        f"{'' if is_sure else ', which may be chance'}"
    )
