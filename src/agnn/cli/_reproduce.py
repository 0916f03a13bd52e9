"""`agnn reproduce`: the paper's tables and figures, rerun and compared cell by cell."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agnn.cli._console import experiment_progress, rich_table, screen, write_json
from agnn.cli._failures import interruptible
from agnn.cli._options import Backend, Device, Executor, Json, Quiet, Threads, use_threads
from agnn.errors import InputError

if TYPE_CHECKING:
    from agnn.studies import Result

_EVERY = "all of them"
_UNFINISHED = 1  # exit code where runs are missing and nothing went wrong


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Experiments (see --list), `all`, or .toml files of your own."),
    ] = None,
    *,
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
    from agnn import studies
    from agnn.report import ReproductionFolder

    if list_all:
        _show_list(as_json=json)
        return
    if page is not None:
        names = names or ["all"]
    elif not names and export is None:
        raise InputError("name an experiment, such as table2, or all; --list shows them.")
    experiments = studies.select_experiments(
        names or [],
        methods=_words(methods),
        datasets=_words(datasets),
        seeds=seeds,
        data=data,
    )
    file = store or out / "runs.sqlite"
    folder = ReproductionFolder(out)
    if page is not None:
        folder.write_page(page, names or [], experiments, file, rows)
        return
    use_threads(threads)
    with closing(studies.Store.open(file)) as opened:
        if rows is not None:
            opened.import_rows(rows)

        def kept_words() -> str:
            return _kept_words(*studies.count_runs(experiments, opened), file, out)

        with interruptible(kept_words), experiment_progress(is_quiet=quiet) as progress:
            done = studies.reproduce(
                experiments,
                store=opened,
                device=device,
                backend=backend,
                progress=progress,
                draw=folder.draw,
                executor=executor,
                threads=threads,
            )
        folder.write(done.results)
        if export is not None:
            opened.export_rows(export)
    if json:
        values = [folder.values(result) for result in done.results]
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
    from agnn.studies import select_experiments

    names = ("name", "place", "title")
    facts = [{name: getattr(e, name) for name in names} for e in select_experiments("all")]
    if as_json:
        write_json({"experiments": facts})
        return
    from agnn.tables import Column, ResultTable, Row

    rows = [Row(tuple(fact.values())) for fact in facts]
    rows.append(Row(("graphs", "", "Your own graphs, in the folder --data")))
    screen().print(rich_table(ResultTable((Column(""),) * 3, tuple(rows))))


def _show(results: "Sequence[Result]", out: Path) -> None:
    """Print the tables, and where the files are."""
    from agnn.report import comparison_table

    console = screen()
    if not console.is_terminal:
        console.width = 120  # rich takes a file to be 80 wide and folds the cells
    for result in results:
        console.print(f"\n{result.experiment.heading}", style="bold")
        if result.comparison is not None:
            gap = 2 if len(result.comparison.table.columns) < 6 else 1
            console.print(rich_table(comparison_table(result.comparison), gap))
        files = f"{out / result.experiment.name}.html, .md and .json"
        console.print(files, style="dim", soft_wrap=True)
