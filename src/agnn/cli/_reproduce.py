"""`agnn reproduce`: the paper's tables and figures, rerun and compared cell by cell."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agnn.cli._console import screen, write_json
from agnn.cli._failures import interruptible
from agnn.cli._options import Backend, Device, Executor, Json, Quiet, Threads, use_threads
from agnn.cli._progress import experiment_progress
from agnn.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table as Grid

    from agnn.experiments import Comparison, Result

_EVERY = "all of them"
_UNFINISHED = 1  # exit code where runs are missing and nothing went wrong


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Experiments (see --list), `all`, or .toml files of your own."),
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    methods: Annotated[
        str | None,
        typer.Option(help="Only these methods, as in agnn,gcn.", show_default=_EVERY),
    ] = None,
    datasets: Annotated[
        str | None,
        typer.Option(help="Only these datasets, as in cora,pubmed.", show_default=_EVERY),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(help="Runs per cell; with folds, trials.", show_default="the paper's"),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of your own graphs for `graphs`: .npz, .graphml or .gexf files, or "
            "folders with a table of nodes and one of edges."
        ),
    ] = None,
    device: Device = "auto",
    backend: Backend = "auto",
    threads: Threads = None,
    executor: Executor = None,
    out: Annotated[Path, typer.Option(help="Folder for reports and figures.")] = Path(
        "reproduction"
    ),
    store: Annotated[
        Path | None,
        typer.Option(help="File for finished runs (SQLite).", show_default="runs.sqlite in --out"),
    ] = None,
    rows: Annotated[
        Path | None, typer.Option(help="Folder of exported runs to count as finished.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Folder to export the store's runs to, as text.")
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(help="Write one Markdown page from finished runs; run nothing."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Rerun the paper's tables and figures and compare every cell with the published figure.

    Finished runs are kept at once: the same command continues where it was interrupted. `graphs`
    compares the methods on graphs of your own.
    """
    from agnn import experiments
    from agnn.report import figure_drawer, result_values, write_page, write_reproduction

    if list_all:
        _show_list(as_json=json)
        return
    choice = experiments.Choice.of(_words(methods), _words(datasets), seeds, data)
    file = store or out / "runs.sqlite"
    if page is not None:
        write_page(page, names or ["all"], choice, file, rows, out)
        return
    if not names and export is None:
        raise InputError("name an experiment, such as table2, or all; --list shows them.")
    use_threads(threads)
    chosen = experiments.chosen_experiments(names or [], choice)
    with closing(experiments.Store.open(file)) as kept:
        if rows is not None:
            experiments.import_rows(kept, rows)

        def kept_words() -> str:
            return _kept_words(
                *experiments.count_runs(experiments.works_behind(chosen), kept), file, out
            )

        with interruptible(kept_words), experiment_progress(is_quiet=quiet) as progress:
            done = experiments.reproduce(
                chosen, methods=choice.methods, datasets=choice.datasets, seeds=seeds, data=data,
                store=kept, device=device, backend=backend, progress=progress,
                draw=figure_drawer(out), executor=executor, threads=threads,
            )  # fmt: skip
        write_reproduction(done.results, out)
        if export is not None:
            experiments.export_rows(kept, export)
    if json:
        values = [result_values(each, out) for each in done.results]
        write_json(
            {"experiments": values, "failures": done.failures, "unfinished": done.unfinished}
        )
    else:
        _show(done.results, out)
    console = screen(is_error=True)
    for failure in done.failures:
        console.print(f"error: {failure}", soft_wrap=True)
    if done.unfinished:
        console.print(
            f"unfinished: another process is working on {done.unfinished} of the runs; give the "
            f"same command again when it is done.",
            soft_wrap=True,
        )
    if done.failures or done.unfinished:
        raise typer.Exit(2 if done.failures else _UNFINISHED)


def _words(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def _kept_words(finished: int, total: int, file: Path, out: Path) -> str:
    """What an interrupted call leaves behind, and how to continue."""
    if not total:
        return f"finished figures are kept in '{out}'; the same command draws the others."
    return (
        f"{finished} of {total} runs are finished and kept in '{file}'; the same command continues "
        f"from there."
    )


def _show_list(*, as_json: bool) -> None:
    """Print the experiments of the package in the paper's order."""
    from agnn.experiments import NAMES, bundled

    found = [bundled(name) for name in NAMES]
    if as_json:
        facts = [{"name": e.name, "place": e.place, "title": e.title} for e in found]
        write_json({"experiments": facts})
        return
    from rich.table import Table as Grid

    grid = Grid(box=None, show_header=False, padding=(0, 2, 0, 0))
    for each in found:
        grid.add_row(each.name, each.place, each.title)
    grid.add_row("graphs", "", "Your own graphs, in the folder --data")
    screen().print(grid)


def _show(results: "Sequence[Result]", out: Path) -> None:
    """Print the tables, and where the files are."""
    console = screen()
    if not console.is_terminal:
        console.width = 120  # rich takes a file to be 80 wide and folds the cells
    for each in results:
        console.print(f"\n{each.experiment.heading}", style="bold")
        if each.comparison is not None:
            console.print(_comparison_table(each.comparison))
        files = f"{out / each.experiment.name}.html, .md and .json"
        console.print(files, style="dim", soft_wrap=True)


def _comparison_table(comparison: "Comparison") -> "Grid":
    """A line for the paper, one for ours and one for the verdicts in every row."""
    from rich.table import Table as Grid

    from agnn.report import row_lines

    table = comparison.table
    padding = (0, 2, 0, 0) if len(table.columns) < 6 else (0, 1, 0, 0)
    grid = Grid(box=None, header_style="dim", padding=padding)
    for _ in ("row", "what a line holds"):
        grid.add_column(no_wrap=True)
    for column in table.columns:
        grid.add_column(column.title)
    for compared in comparison.rows:
        for k, line in enumerate(row_lines(compared, table.digits)):
            grid.add_row(compared.row.title if k == 0 else "", line.what, *line.cells)
    return grid
