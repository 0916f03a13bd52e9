"""`agnn train`: train a method on a dataset and score it on the test nodes."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agnn.cli._config import Config, ConfigSchema, SaveConfig, file_of, write_config
from agnn.cli._console import screen, write_json
from agnn.cli._data import Dataset, Edges, Nodes, check_label, data_table, find_data, given_options
from agnn.cli._failures import finishing, interruptible, stopping
from agnn.cli._hyper_parameters import ClassWeights, Settings, class_weight_of, hyper_parameters
from agnn.cli._options import (
    Backend,
    Device,
    Epochs,
    Executor,
    Json,
    Metric,
    Quiet,
    Replicas,
    Seed,
    SplitName,
    Threads,
    use_threads,
)
from agnn.cli._progress import tell_tried, training_progress, trial_lines
from agnn.cli._ranks import (
    Divide,
    Every,
    RankCount,
    Resume,
    Wire,
    check_division,
    checkpoints_of,
    divisible,
    division_of,
    is_first_rank,
)
from agnn.cli._record import nested_record, nested_words, run_record, run_table
from agnn.errors import DataError, InputError

if TYPE_CHECKING:
    from agnn.data import NodeData, ReadOptions
    from agnn.runs import Plan, Run, Search
    from agnn.training import Callback

_PRESET = "the paper's"


def train(
    context: typer.Context,
    dataset: Dataset = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="A method (`agnn methods` lists them), or auto: the one that is best on "
            "validation nodes.",
            show_default="agnn on the paper's datasets, agnn_plus on any other graph",
        ),
    ] = None,
    split: SplitName = None,
    replicas: Replicas = 10,
    seed: Seed = 0,
    epochs: Epochs = None,
    layers: Annotated[
        int | None, typer.Option(help="Propagation layers.", show_default=_PRESET)
    ] = None,
    hidden: Annotated[
        int | None, typer.Option(help="Width of the hidden states.", show_default=_PRESET)
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="Learning rate of Adam.", show_default=_PRESET)
    ] = None,
    weight_decay: Annotated[
        float | None, typer.Option(help="Weight of the L2 penalty.", show_default=_PRESET)
    ] = None,
    dropout: Annotated[
        float | None,
        typer.Option(
            help="Share of inputs and states to drop, from 0 to below 1.", show_default=_PRESET
        ),
    ] = None,
    scaling: Annotated[
        str | None,
        typer.Option(
            help="Scaling of the features: sum (rows that sum to 1), length (rows of length 1), "
            "standard (columns of mean 0 and variance 1) or none.",
            show_default="sum on the paper's datasets, else what suits the features",
        ),
    ] = None,
    stop_after: Annotated[
        int | None,
        typer.Option(
            help="Stop a replica after this many epochs without progress at the watched nodes.",
            show_default=_PRESET,
        ),
    ] = None,
    stop_on: Annotated[
        str | None,
        typer.Option(help="What counts as progress: loss or score.", show_default="loss"),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            help="Training nodes per step, with --fanout.",
            show_default="all, or the method's own",
            rich_help_panel="Hyper-parameters",  # not that of `agnn predict`
        ),
    ] = None,
    fanout: Annotated[
        str | None,
        typer.Option(
            help="Neighbours to sample per hop, from the batch outwards, such as 15,10; one number "
            "is for every hop.",
            show_default="all neighbours",
        ),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(
            help="Type of the states between propagations: float32, or bf16 to halve them on a "
            "GPU.",
            show_default="float32",
        ),
    ] = None,
    settings: Settings = None,
    class_weight: ClassWeights = None,
    metric: Metric = None,
    time: Annotated[
        str | None,
        typer.Option(
            help="For --method auto: time for the choice and the training, as in 90s or 10m.",
            show_default="10m",
        ),
    ] = None,
    nested: Annotated[
        bool,
        typer.Option(
            "--nested",
            help="For --method auto: also repeat the whole choice on three splits, for an unbiased "
            "estimate of it; takes as much time again.",
        ),
    ] = False,
    tuned: Annotated[
        bool,
        typer.Option("--tuned", help="Choose from the method's grid on validation nodes."),
    ] = False,
    search: Annotated[
        int | None,
        typer.Option(
            help="Number of hyper-parameter settings to try first, scored on validation nodes.",
            show_default="none",
        ),
    ] = None,
    search_file: Annotated[
        Path,
        typer.Option(help="SQLite file that keeps the search; the same command continues it."),
    ] = Path("agnn-search.sqlite"),
    name: Annotated[
        str | None,
        typer.Option(
            help="NAME of the files ind.NAME.* where a folder holds several; or a name for your "
            "own data."
        ),
    ] = None,
    device: Device = "auto",
    backend: Backend = "auto",
    threads: Threads = None,
    executor: Executor = None,
    out: Annotated[
        Path | None, typer.Option(help="A new folder for the weights and results.")
    ] = None,
    checkpoint: Every = None,
    resume: Resume = False,
    ranks: RankCount = None,
    divide: Divide = None,
    wire: Wire = "float32",
    track: Annotated[
        list[str] | None,
        typer.Option(
            help="Record the training: tensorboard:FOLDER, mlflow:URI or wandb:PROJECT; may be "
            "repeated."
        ),
    ] = None,
    config: Config = None,
    save_config: SaveConfig = None,
    config_schema: ConfigSchema = False,
    json: Json = False,
    quiet: Quiet = False,
    nodes: Nodes = None,
    edges: Edges = None,
    *,
    read: "ReadOptions",
) -> None:
    """Train a method and score it on the test nodes.

    DATASET is the name of a bundled dataset, a graph file or a folder that `agnn partition` wrote.
    For your own tables give --nodes, --edges and --label instead.
    Hyper-parameters that are not set are the paper's on its datasets, and defaults elsewhere.
    """
    from agnn.data import check_learnable, default_split
    from agnn.distributed import check_parts, is_parts_folder, parse_executor
    from agnn.files import check_new_folder, check_space
    from agnn.runs import (
        AUTO,
        Search,
        auto_plan,
        default_name,
        folder_size,
        keep_elsewhere,
        nested_estimate,
        optimism,
        parts_data,
        parts_method,
        plan,
        prepare,
        replica_seeds,
        save_run,
        searched,
        seconds_of,
        whole_run,
    )

    del config, config_schema  # read before the other options
    seeds = replica_seeds(seed, replicas)
    weight = class_weight_of(class_weight)
    if executor is not None and search is None:
        raise InputError("--executor trains the candidates of --search; without one leave it out.")
    if executor is not None:
        parse_executor(executor)  # before the data is read
    if search is not None and tuned:
        raise InputError("--search and --tuned both choose hyper-parameters; leave one out.")
    use_threads(threads)
    trackers = _trackers(track)
    if out is not None:
        check_new_folder(out)
    check_label(nodes, edges, read)
    parts = dataset if dataset is not None and is_parts_folder(dataset) else None
    is_auto = method is not None and method.lower() == AUTO
    tables = {"nodes": nodes, "edges": edges, "name": name} | given_options(read)
    check_division(parts, tables, is_searched=search is not None, is_auto=is_auto)
    data = find_data(dataset, nodes, edges, name, read) if parts is None else parts_data(parts)
    if parts is not None and is_first_rank():
        check_parts(parts)  # all of them: this process puts the run together in the end
    check_learnable(data)
    spec = split or default_split(data)
    limit = None if time is None else seconds_of(time, "--time")
    named = {
        "epochs": epochs, "layers": layers, "hidden": hidden, "learning_rate": learning_rate,
        "weight_decay": weight_decay, "dropout": dropout, "scaling": scaling,
        "stop_after": stop_after, "stop_on": stop_on, "batch": batch, "fanout": fanout,
        "precision": precision,
    }  # fmt: skip
    how: dict[str, Any] = {
        "device": device,
        "backend": backend,
        "class_weight": weight,
        "metric": metric,
    }
    estimate: tuple[Run, ...] = ()
    if is_auto:
        given = [f"--{n.replace('_', '-')}" for n, value in named.items() if value is not None]
        given += ["--set"] * bool(settings) + ["--tuned"] * tuned + ["--search"] * bool(search)
        if given:
            raise InputError(f"--method auto chooses the settings; leave out {given[0]}.")
        for option in ["--checkpoint"] * (checkpoint is not None) + ["--resume"] * resume:
            raise InputError(f"{option} does not go with --method auto, which would choose again.")
        changes: dict[str, Any] = {}
        with interruptible(lambda: _kept_words(None)):
            tell = None if quiet else tell_tried
            if nested:
                estimate = nested_estimate(
                    data, split, seed, time_limit=limit, on_tried=tell, **how
                )
            planned = auto_plan(data, split, seeds, time_limit=limit, on_tried=tell, **how)
        spec, trained = planned.split_spec, planned.method
    else:
        for option in ["--time"] * (time is not None) + ["--nested"] * nested:
            raise InputError(f"{option} goes with --method auto.")
        chosen_method = method or default_name(data)
        changes = hyper_parameters(
            chosen_method, named, settings, is_tuned=tuned, file=file_of(context, "settings")
        )
        trained = prepare(chosen_method, data, spec, changes, is_tuned=tuned)
        if stop_on is not None and not changes.get("stop_after"):
            raise InputError("--stop-on goes with --stop-after, the number of epochs to wait.")
        planned = plan(trained, data, spec, replicas=replicas, seed=seed, **how)
    division = division_of(ranks, divide, wire, len(planned.seeds), parts)
    if method is None and changes.get("strength") is None:
        trained = divisible(trained.affordable(data, len(seeds), planned.device), division)
    if parts is not None:
        trained = parts_method(trained, parts, is_scaling_given=scaling is not None)
    planned = replace(planned, method=trained)
    checkpoints = None
    if not is_auto:
        checkpoints = checkpoints_of(trained, out, checkpoint, division, is_resumed=resume)
    quiet, json = quiet or not is_first_rank(), json and is_first_rank()
    if save_config is not None:
        write_config(context, save_config)
    if out is not None:
        check_space(out, folder_size(trained, data, len(planned.seeds)))
    looked_for = None
    if search is not None:
        looked_for = Search(search, search_file, frozenset(changes))
        if (words := optimism(planned.splits, planned.folds)) and not quiet:
            screen(is_error=True).print(f"note: {words}", soft_wrap=True)
    if data.reading is not None and not json and not quiet:
        _tell(data, planned)
        _tell_memory(planned)
    with interruptible(lambda: _kept_words(looked_for)):
        if looked_for is not None:
            trained = searched(
                trained, data, spec, seeds, looked_for, device=device, backend=backend,
                class_weight=weight, metric=metric,
                on_trial=None if quiet else trial_lines(metric), executor=executor, threads=threads,
            )  # fmt: skip
            planned = replace(planned, method=trained)
        doing = f"Training {trained.title} on {data.name}"
        with (
            stopping(checkpoints),
            training_progress(doing, is_quiet=quiet) as progress,
        ):
            run = planned.run_on_rank(progress, checkpoints, trackers, division)
        if run is None:  # another rank has it
            return
        if parts is not None:
            run = whole_run(run, parts)
            data = run.data
        failure = None
        if out is not None:
            with finishing(
                lambda: str(failure or f"the training has ended; its run is in '{out}'.")
            ):
                try:
                    save_run(run, out)
                except OSError as error:
                    failure, out = keep_elsewhere(run, out, error), None
                if checkpoints is not None and failure is None:
                    checkpoints.remove()
    if json:
        own = {} if data.reading is None else {"data": data.report.to_dict()}
        write_json(run_record(run, out) | own | nested_record(estimate))
    else:
        console = screen()
        words = f", {trained.configuration}" if tuned else ""
        console.print(f"{trained.title} on {data.name}, split {spec}{words}", style="bold")
        given = sys.argv[1:] if sys.argv[1:2] == ["train"] else []
        console.print(run_table(run, out, nested_words(estimate), given))
    if failure is not None and checkpoints is not None and checkpoints.stored is not None:
        raise DataError(f"{failure} Its checkpoint is '{checkpoints.stored}', for --resume.")
    if failure is not None:
        raise failure


def _trackers(words: list[str] | None) -> "list[Callback]":
    """The trackers that --track names."""
    if not words:
        return []
    from agnn.trackers import tracker

    return [tracker(each) for each in words]


def _kept_words(search: "Search | None") -> str:
    """What an interrupted training leaves behind, and how to go on."""
    if search is None:
        return (
            "the training was not finished and nothing was written; the same command starts again."
        )
    return (
        f"nothing was written but the finished trials of the search, which are kept in "
        f"'{search.file}'; the same command continues with them."
    )


def _tell(data: "NodeData", planned: "Plan") -> None:
    """Print the report on somebody's own data and how it is split, before the training."""
    from agnn.data import DEFAULT_SPLITS

    console = screen()
    console.print(f"The data: {data.name}", style="bold")
    console.print(data_table(data.report))
    words = DEFAULT_SPLITS.get(planned.split_spec, "")
    if planned.choice is not None:
        words = "one for all replicas"
    console.print(f"Split {planned.split_spec}{': ' * bool(words)}{words}.\n")


def _tell_memory(planned: "Plan") -> None:
    """Print how much memory the training will take, if that is known."""
    from agnn.methods import NetworkMethod

    if isinstance(planned.method, NetworkMethod):
        needed = planned.method.memory_estimate(planned.task()).total / 2**20
        words = f"{needed / 1024:.1f} GiB" if needed >= 1024 else f"{max(needed, 1):.0f} MiB"
        count = len(planned.seeds)
        models = "1 replica" if count == 1 else f"{count} replicas"
        screen().print(f"Training {models} takes up to {words} of memory.\n")
