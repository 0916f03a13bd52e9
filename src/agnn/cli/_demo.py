"""`agnn demo`: AGNN on Cora from the data to a page, in one command."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agnn.cli._console import screen, write_json
from agnn.cli._failures import interruptible
from agnn.cli._hyper_parameters import hyper_parameters
from agnn.cli._options import Epochs, Json, Quiet, Replicas, Seed, Threads, use_threads
from agnn.cli._progress import training_progress
from agnn.cli._record import run_record, run_table
from agnn.files import json_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.table import Table

    from agnn.runs import Run

_DATASET, _SPLIT = "cora", "fixed"
_EXAMPLE = "8617"  # a test node that every replica gets right, with neighbours for and against it
_PAPER = "The paper reports 83.1 ± 0.1 % for this dataset and split."


def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for the page; an earlier demo there is replaced.")
    ] = Path("demo"),
    replicas: Replicas = 10,
    seed: Seed = 0,
    epochs: Epochs = None,
    threads: Threads = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train AGNN on Cora, explain what it attends to, and write figures and a page."""
    from agnn.data import load_dataset
    from agnn.explanation import layer_relevances
    from agnn.report import check_demo_folder
    from agnn.runs import evaluate, prepare, replica_seeds

    seeds = replica_seeds(seed, replicas)
    use_threads(threads)
    check_demo_folder(out)
    data = load_dataset(_DATASET)
    changes = hyper_parameters("agnn", {"epochs": epochs}, None)
    method = prepare("agnn", data, _SPLIT, changes)
    label = f"Training {method.title} on {_DATASET}"
    kept = "nothing was written; the same command starts again."
    with interruptible(lambda: kept), training_progress(label, is_quiet=quiet) as progress:
        run = evaluate(method, data, _SPLIT, seeds, progress=progress)
    changed = {"--replicas": replicas, "--seed": seed, "--epochs": epochs}
    words = [f"{name} {value}" for name, value in changed.items() if value is not None]
    command = " ".join(["agnn demo", *words, "--out", shlex.quote(str(out))])
    relevance = layer_relevances(run)[-1].numpy()
    record = run_record(run, out) | {
        "relevance": {
            "layer": len(run.betas[0]) if run.betas else 0,
            "class_names": list(run.data.class_names),
            "values": relevance.tolist(),
        },
    }
    _write(run, record, command, out)
    if json:
        write_json(record)
        return
    console = screen()
    console.print(f"{method.title} on {_DATASET}, split {_SPLIT}", style="bold")
    console.print(run_table(run))
    console.print("\nRelevance of the last layer, from column to row (0: an even share)")
    console.print(_relevance_table(run.data.class_names, relevance))
    console.print(f"\nThe page, with figures: {out / 'index.html'}", soft_wrap=True)
    console.print("What to do next:")
    folder = shlex.quote(str(out / "run"))
    about = {
        f"agnn explore {folder}": "walk through the graph in the browser",
        f"agnn explain {folder} {_EXAMPLE}": "the reasons for one prediction",
    }
    width = max(map(len, about))
    for line, what in about.items():
        console.print(f"  {line:<{width}}   {what}", soft_wrap=True)


def _write(run: "Run", record: dict[str, Any], command: str, out: Path) -> None:
    """The page, its figures, the result as JSON and the run, all of it or nothing."""
    from agnn.report import (
        demo_folder,
        rendered,
        run_facts,
        run_figures,
        run_page,
        write_run_figures,
    )
    from agnn.runs import save_run

    with demo_folder(out) as draft:
        facts = run_facts(run)
        figures = run_figures(facts)
        write_run_figures(draft / "figures", figures)
        page = run_page(
            facts, rendered(figures), remark=_PAPER, command=command, folder=str(out / "run")
        )
        (draft / "index.html").write_text(page, encoding="utf-8")
        (draft / "result.json").write_text(json_text(record, indent=2), encoding="utf-8")
        save_run(run, draft / "run")


def _relevance_table(class_names: tuple[str, ...], relevance: "NDArray[np.float64]") -> "Table":
    """Rows by name and number, columns by number: it fits 80 characters."""
    from rich.table import Table

    from agnn.report import signed

    table = Table("", box=None, header_style="dim", padding=(0, 1, 0, 0))
    for number, _ in enumerate(class_names, 1):
        table.add_column(str(number), justify="right")
    for number, (name, row) in enumerate(zip(class_names, relevance.tolist(), strict=True), 1):
        table.add_row(f"{number} {name}", *map(signed, row))
    return table
