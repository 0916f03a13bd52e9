"""`agnn compare`: which method for this graph, and whether the difference is clear."""

import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agnn.cli._arguments import Dataset, Edges, Nodes, check_label, find_data
from agnn.cli._console import experiment_progress, rich_table, screen, write_json
from agnn.cli._failures import interruptible
from agnn.cli._options import (
    Backend,
    Device,
    Executor,
    Json,
    Quiet,
    Seed,
    SplitName,
    Threads,
    use_threads,
)

if TYPE_CHECKING:
    from agnn.data import ReadOptions
    from agnn.studies import Leaderboard, Store


def compare(
    dataset: Dataset = None,
    *,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Methods to compare, as in agnn,gcn,ridge.",
            show_default="13, from the most frequent class to agnn_plus",
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(help="Stop after this time: 90s, 10m, 1h.", show_default="no limit"),
    ] = None,
    replicas: Annotated[
        int | None,
        typer.Option(
            help="Models of each method, each with its own seed; with folds, trials.",
            show_default="10; with --time as many as fit",
        ),
    ] = None,
    split: SplitName = None,
    metric: Annotated[
        str,
        typer.Option(
            help="Order methods and choose settings by accuracy, balanced_accuracy, f1, auc or "
            "log_loss."
        ),
    ] = "accuracy",
    search: Annotated[
        int,
        typer.Option(
            help="Settings of each method to try first, scored on validation nodes.",
            show_default="0: defaults",
        ),
    ] = 0,
    seed: Seed = 0,
    name: Annotated[
        str | None,
        typer.Option(help="A name for your own data."),
    ] = None,
    device: Device = "auto",
    backend: Backend = "auto",
    threads: Threads = None,
    executor: Executor = None,
    out: Annotated[
        Path, typer.Option(help="Folder for finished runs, the page and the figure.")
    ] = Path("comparison"),
    json: Json = False,
    quiet: Quiet = False,
    nodes: Nodes = None,
    edges: Edges = None,
    read: "ReadOptions",
) -> None:
    """Train many methods on the same splits of a graph and print a leaderboard.

    Every finished run is kept in --out: the same command continues where it was interrupted. With a
    longer --time or more --replicas it adds to what is there.
    """
    from agnn import studies
    from agnn.options import seconds_of
    from agnn.report import write_leaderboard

    limit = None if time is None else seconds_of(time, "--time")
    use_threads(None if executor else threads)
    check_label(nodes, edges, read)
    data = find_data(dataset, nodes, edges, name, read)
    command = shlex.join(["agnn", *sys.argv[1:]]) if sys.argv[1:2] == ["compare"] else ""
    names = None if methods is None else [word.strip() for word in methods.split(",") if word]
    with _store(out) as store:
        with (
            interruptible(lambda: _kept_words(store)),
            experiment_progress(is_quiet=quiet) as progress,
        ):
            board = studies.compare(
                data,
                names,
                split=split,
                replicas=replicas,
                seed=seed,
                time_limit=limit,
                metric=metric,
                search=search,
                store=store,
                device=device,
                backend=backend,
                executor=executor,
                threads=threads,
                progress=progress,
            )
        page = write_leaderboard(board, out, command)
    if json:
        write_json({**board.to_dict(), "page": str(page)})
    else:
        _show(board, page)


@contextmanager
def _store(out: Path) -> "Iterator[Store]":
    """Open the store in this folder; a folder that holds no run at the end is not left behind."""
    from agnn.studies import Store

    is_new = not out.exists()
    store = Store.open(out / "runs.sqlite")
    try:
        yield store
    finally:
        is_empty = not store.runs()
        store.close()
        if is_new and is_empty:
            shutil.rmtree(out)


def _kept_words(store: "Store") -> str:
    """Return what an interrupted comparison leaves behind, and how to continue."""
    return (
        f"{len(store.runs())} runs are finished and kept in '{store.name}'; the same command "
        f"continues from there."
    )


def _show(board: "Leaderboard", page: Path) -> None:
    """Print the leaderboard, what it says, and where the files are."""
    console = screen()
    if not console.is_terminal:
        console.width = 200  # rich takes a file to be 80 wide and folds the cells
    console.print(f"Methods on {board.data.name}, split {board.split}", style="bold")
    console.print(rich_table(board.table))
    for note in board.notes:
        console.print(note, soft_wrap=True)
    console.print(f"{page}, .md, .json and .csv", style="dim", soft_wrap=True)
