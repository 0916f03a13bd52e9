"""`agnn reproduce`: the paper's tables and figures, rerun and compared cell by cell."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from agnn.cli.console import screen, write_json
from agnn.cli.failures import interruptible
from agnn.cli.options import Backend, Device, Json, Quiet, Threads
from agnn.cli.threads import use_threads
from agnn.errors import InputError

_EVERY = "all of them"
_UNFINISHED = 1  # exit code where runs are missing and nothing went wrong


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Experiments (see --list), all, or .toml files of your own."),
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    methods: Annotated[
        str | None, typer.Option(help="Only these rows: agnn,gcn.", show_default=_EVERY)
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(help="Only these datasets: cora,pubmed.", show_default=_EVERY)
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(help="Runs of each cell; with folds, trials.", show_default="the paper's"),
    ] = None,
    device: Device = "auto",
    backend: Backend = "auto",
    threads: Threads = None,
    out: Annotated[Path, typer.Option(help="Folder for reports and figures.")] = Path(
        "reproduction"
    ),
    store: Annotated[
        Path | None,
        typer.Option(help="File that keeps finished runs.", show_default="runs.sqlite in --out"),
    ] = None,
    rows: Annotated[
        Path | None, typer.Option(help="Folder of exported runs that count as finished, too.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Add the store's runs to this folder, as text.")
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(help="Write one Markdown page from finished runs, and run nothing."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Rerun the paper's tables and figures, and say cell by cell whether they hold.

    Finished runs are kept at once; the same command goes on where it was stopped.
    """
    from agnn.cli.reproduce_list import show_list
    from agnn.cli.reproduce_page import write_page
    from agnn.cli.reproduce_report import write_accounts
    from agnn.cli.reproduce_run import Reproduction
    from agnn.experiments import Choice, Store, export_rows, import_rows

    if list_all:
        show_list(as_json=json)
        return
    choice = Choice(_words(methods), _words(datasets), seeds)
    file = store or out / "runs.sqlite"
    if page is not None:
        write_page(page, names or ["all"], choice, file, rows, out)
        return
    if not names and export is None:
        raise InputError("name an experiment, such as table2, or all; --list shows them.")
    use_threads(threads)
    work = Reproduction(names or [], choice, device, backend)
    with closing(Store.open(file)) as kept:
        if rows is not None:
            import_rows(kept, rows)
        with interruptible(lambda: _kept_words(work.finished(kept), file, out)):
            failures, elsewhere = work.run(kept, out, is_quiet=quiet)
        accounts = work.accounts(kept, out)
        write_accounts(accounts, out)
        if export is not None:
            export_rows(kept, export)
        if json:
            write_json(
                {
                    "experiments": [each.values for each in accounts],
                    "failures": failures,
                    "unfinished": elsewhere,
                }
            )
        else:
            work.show(kept, out)
    for failure in failures:
        screen(is_error=True).print(f"error: {failure}", soft_wrap=True)
    if elsewhere:
        screen(is_error=True).print(
            f"unfinished: another process is working on {elsewhere} of the runs; give the same "
            f"command again when it is done.",
            soft_wrap=True,
        )
    if failures or elsewhere:
        raise typer.Exit(2 if failures else _UNFINISHED)


def _kept_words(counts: tuple[int, int], file: Path, out: Path) -> str:
    """What an interrupted call leaves behind, and how to go on."""
    finished, total = counts
    if not total:
        return f"finished figures are kept in '{out}'; the same command draws the others."
    return (
        f"{finished} of {total} runs are finished and kept in '{file}'; the same command goes on "
        f"from there."
    )


def _words(text: str | None) -> frozenset[str] | None:
    if text is None:
        return None
    return frozenset(word.strip().lower() for word in text.split(",") if word.strip())
