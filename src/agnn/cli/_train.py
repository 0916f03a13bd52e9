"""`agnn train`: train a method on a dataset and score it on the test nodes."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agnn.cli._arguments import Dataset, Edges, Nodes, check_label, data_source, training_of
from agnn.cli._config import Config, ConfigSchema, SaveConfig, write_config
from agnn.cli._console import (
    print_candidate,
    print_warning,
    training_progress,
    trial_lines,
    write_json,
)
from agnn.cli._failures import finishing, interruptible, stopping
from agnn.cli._options import Json, Quiet, use_threads
from agnn.cli._record import print_plan, print_result, run_record
from agnn.errors import AgnnError

if TYPE_CHECKING:
    from agnn.data import ReadOptions
    from agnn.runs import Plan, Run, Training


def train(
    context: typer.Context,
    dataset: Dataset = None,
    nodes: Nodes = None,
    edges: Edges = None,
    name: Annotated[str | None, typer.Option(help="A name for your own data.")] = None,
    config: Config = None,
    save_config: SaveConfig = None,
    config_schema: ConfigSchema = False,
    json: Json = False,
    quiet: Quiet = False,
    *,
    read: "ReadOptions",
    options: dict[str, Any],
) -> None:
    """Train a method and score it on the test nodes.

    DATASET is the name of a bundled dataset, a graph file or a folder that `agnn partition` wrote.
    For your own tables give --nodes, --edges and --label instead.
    Hyper-parameters that are not set are the paper's on its datasets, and defaults elsewhere.
    """
    from agnn.distributed import Meeting
    from agnn.executors import LaunchedRank

    del config, config_schema  # read before the other options
    use_threads(options["threads"])
    with Meeting.of_process():  # the other ranks are to learn what keeps this one from training
        check_label(nodes, edges, read)
        source = data_source(dataset, nodes, edges, name, read)
        plan = training_of(context, source, options).plan()
    quiet = quiet or not LaunchedRank.is_first()
    if plan.checkpoints is not None:
        plan.checkpoints.on_warning = print_warning
    if save_config is not None:
        write_config(context, save_config)
    if not quiet:
        print_plan(plan, is_json=json)
    out = None if plan.training.out is None else Path(plan.training.out)
    failure: AgnnError | None = None
    with interruptible(lambda: _interruption_note(plan.training)):
        run = _train(plan, is_quiet=quiet)
        if run is None:  # another rank has it
            return
        with finishing(lambda: str(failure or f"the training has ended; its run is in '{out}'.")):
            try:
                plan.save(run)
            except AgnnError as error:  # the result is still shown
                failure = error
                out = None
    if json:
        report = {} if run.data.reading is None else {"data": run.data.report.to_dict()}
        write_json(run_record(run, out) | report)
    else:
        tuned = f", {run.method.configuration}" if plan.training.tuned else ""
        title = f"{run.method.title} on {run.data.name}, split {run.split_spec}{tuned}"
        arguments = sys.argv[1:] if sys.argv[1:2] == ["train"] else []
        print_result(run, title, out, arguments)
    if failure is not None:
        raise failure


def _train(plan: "Plan", *, is_quiet: bool) -> "Run | None":
    """Choose what is left to choose, then train; None on ranks other than the first."""
    metric = plan.training.metric
    plan = plan.choose(
        on_tried=None if is_quiet else print_candidate,
        on_trial=None if is_quiet else trial_lines(metric),
    )
    doing = f"Training {plan.method.title} on {plan.data.name}"
    with (
        stopping(plan.checkpoints),
        training_progress(doing, is_quiet=is_quiet) as progress,
    ):
        return plan.train(progress)


def _interruption_note(training: "Training") -> str:
    """Return what an interrupted training leaves behind, and how to go on."""
    if training.search is None:
        return (
            "the training was not finished and nothing was written; the same command starts again."
        )
    return (
        f"nothing was written but the finished trials of the search, which are kept in "
        f"'{training.search_file}'; the same command continues with them."
    )
