"""`agnn train`: a method on a dataset, replica by replica, with an honest mean."""

from pathlib import Path
from typing import Annotated

import typer

from agnn.cli.console import screen, write_json
from agnn.cli.options import Backend, Device, Epochs, Json, Quiet, Replicas, Seed, Threads
from agnn.cli.progress import training_progress
from agnn.cli.record import run_record, run_table
from agnn.cli.source import find_data
from agnn.cli.threads import use_threads
from agnn.cli.tuning import tuned_method
from agnn.errors import InputError

_PRESET = "the paper's"


def train(
    dataset: Annotated[
        str,
        typer.Argument(
            help="cora, citeseer, pubmed, or a folder of raw Planetoid files ind.NAME.* (write "
            "./cora for a folder of that name)."
        ),
    ],
    method: Annotated[str, typer.Option(help="See `agnn methods`.")] = "agnn",
    split: Annotated[
        str, typer.Option(help="fixed, uniform, balanced, 10-fold (any number), or a .json file.")
    ] = "fixed",
    replicas: Replicas = 10,
    seed: Seed = 0,
    epochs: Epochs = None,
    layers: Annotated[
        int | None, typer.Option(help="Propagation layers.", show_default=_PRESET)
    ] = None,
    hidden: Annotated[
        int | None, typer.Option(help="Width of the states.", show_default=_PRESET)
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="Adam's step size.", show_default=_PRESET)
    ] = None,
    weight_decay: Annotated[
        float | None, typer.Option(help="Weight of the L2 term.", show_default=_PRESET)
    ] = None,
    dropout: Annotated[
        float | None, typer.Option(help="From 0 to below 1.", show_default=_PRESET)
    ] = None,
    tuned: Annotated[
        bool,
        typer.Option("--tuned", help="Choose the method's grid on validation nodes, by split."),
    ] = False,
    name: Annotated[
        str | None, typer.Option(help="NAME of the files ind.NAME.* where a folder holds several.")
    ] = None,
    device: Device = "auto",
    backend: Backend = "auto",
    threads: Threads = None,
    out: Annotated[
        Path | None, typer.Option(help="A new folder for the weights and results.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a method and score it on the test nodes.

    Hyper-parameters that are not set are those of the paper for this dataset and kind of split.
    """
    from agnn.evaluation import check_output_folder, evaluate, replica_seeds, save_run

    seeds = replica_seeds(seed, replicas)
    use_threads(threads)
    if out is not None:
        check_output_folder(out)
    data = find_data(dataset, name)
    changes = {
        "epochs": epochs, "layers": layers, "hidden": hidden, "learning_rate": learning_rate,
        "weight_decay": weight_decay, "dropout": dropout,
    }  # fmt: skip
    chosen = tuned_method(method, split, data.name, changes, is_tuned=tuned)
    _check_test_nodes(split)
    label = f"Training {chosen.title} on {data.name}"
    with training_progress(label, is_quiet=quiet) as progress:
        run = evaluate(
            chosen, data, split, seeds, device=device, backend=backend, progress=progress
        )
    if out is not None:
        save_run(run, out)
    if json:
        write_json(run_record(run, out))
    else:
        console = screen()
        how = f", {chosen.configuration}" if tuned else ""
        console.print(f"{chosen.title} on {data.name}, split {split}{how}", style="bold")
        console.print(run_table(run, out))


def _check_test_nodes(split: str) -> None:
    """Raise for a split file without test nodes: there would be nothing to score."""
    from agnn.data import Split

    if split.endswith(".json") and not Split.load(split).test.size:
        raise InputError(f"the split in '{split}' has no test nodes, so nothing can be scored.")
