"""`agnn suggest`, `audit` and `curve`: what to label, which labels to doubt, what more bring.

Each prints sentences and a table, and writes the table to a file.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Union

import typer

from agnn.cli._arguments import Edges, Nodes, find_data, given_options, reader_flag
from agnn.cli._console import rich_table, screen, training_progress, write_json
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
from agnn.errors import InputError

if TYPE_CHECKING:
    from agnn.data import ReadOptions
    from agnn.decisions import Audit, LearningCurve, Suggestions

_SHOWN: Final = 20  # labels of an audit
_Listing = Union["Audit", "LearningCurve", "Suggestions"]


def suggest(
    run: Annotated[
        str | None,
        typer.Argument(
            help="A folder that `agnn train --out` wrote; or a .graphml, .gexf or .npz file.",
            show_default="--nodes and --edges",
        ),
    ] = None,
    nodes: Nodes = None,
    edges: Edges = None,
    count: Annotated[int, typer.Option(help="Nodes to suggest.")] = 20,
    out: Annotated[Path | None, typer.Option(help="A new .csv file for the list.")] = None,
    threads: Threads = None,
    json: Json = False,
    allow_unchecked: AllowUnchecked = False,
    *,
    read: "ReadOptions",
) -> None:
    """Suggest which nodes to label next, also before there is any label.

    Those that stand for most nodes without a label, by their features and their neighbours'; none
    is like another or like a labelled one. Label them, and ask again for the next.
    """
    from agnn import decisions
    from agnn.runs import load_run

    use_threads(threads)
    _check_count(count)
    _check_files(out)
    folder = run if run is not None and Path(run).is_dir() else None
    if folder is None:
        suggestions = decisions.suggest(find_data(run, nodes, edges, None, read), count)
    else:
        for name, value in ({"nodes": nodes, "edges": edges} | given_options(read)).items():
            if value is not None:
                raise InputError(f"{reader_flag(name)} goes without a run, which has its own data.")
        suggestions = decisions.suggest(load_run(folder, trust_unchecked=allow_unchecked), count)
    _write(suggestions, folder, {"out": out}, is_json=json)
    if not json:
        _show(suggestions, {"the list": out})


def audit(
    run: RunFolder,
    count: Annotated[
        int | None,
        typer.Option(
            help="Labels to list, the most suspicious first.",
            show_default=f"all; {_SHOWN} in the terminal",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A new .csv file for the list.")] = None,
    html: Annotated[Path | None, typer.Option(help="A new HTML file for the list.")] = None,
    threads: Threads = None,
    json: Json = False,
    allow_unchecked: AllowUnchecked = False,
) -> None:
    """List the labels that look wrong, with reasons, and estimate how many are.

    A label is suspicious where models that were not trained on it predict another class. With
    `agnn train --split cross-fit` every label is checked, otherwise those of the test nodes.
    """
    from agnn import decisions
    from agnn.files import write_file
    from agnn.runs import load_run

    use_threads(threads)
    _check_count(count)
    _check_files(out, html)
    listed = decisions.audit(load_run(run, trust_unchecked=allow_unchecked)).first(count)
    if html is not None:
        from agnn.report import audit_page

        write_file(html, audit_page(listed))
    _write(listed, run, {"out": out, "html": html}, is_json=json)
    if json:
        return
    listing = listed.first(count or _SHOWN)
    unlisted = len(listed.suspicious) - len(listing.suspicious)
    more = f"... and {unlisted:,} more" if unlisted else ""
    if unlisted and out is None:
        more += "; --out FILE.csv writes them all."
    _show(listing, {"the list": out, "the page": html}, more)


def curve(
    run: RunFolder,
    repeats: Annotated[int, typer.Option(help="Draws of the labels for every number.")] = 3,
    out: Annotated[Path | None, typer.Option(help="A new .csv file for the curve.")] = None,
    *,
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
    from agnn.runs import load_run

    use_threads(threads)
    _check_files(out)
    trained = load_run(run, trust_unchecked=allow_unchecked)
    doing = f"Training {trained.method.title} with fewer labels"
    with (
        interruptible(lambda: "the curve was not finished and nothing was written."),
        training_progress(doing, is_quiet=quiet) as progress,
    ):
        learning_curve = decisions.learning_curve(
            trained, repeats=repeats, device=device, backend=backend, progress=progress
        )
    _write(learning_curve, run, {"out": out}, is_json=json)
    if not json:
        _show(learning_curve, {"the curve": out})


def _check_count(count: int | None) -> None:
    if count is not None and count < 1:
        raise InputError(f"--count must be at least 1; got {count}.")


def _check_files(table: Path | None, page: Path | None = None) -> None:
    """Raise unless the files can be written; asked before the work, not after."""
    from agnn.files import check_new_file

    if table is not None and table.suffix.lower() != ".csv":
        raise InputError(f"'{table}' must end in .csv to be written.")
    for file in (table, page):
        if file is not None:
            check_new_file(file)


def _write(
    listing: _Listing,
    run: Path | str | None,
    files: Mapping[str, Path | None],
    *,
    is_json: bool,
) -> None:
    """Write the table to `files["out"]`, and print everything as JSON if that is asked for."""
    from agnn.files import write_file

    out = files["out"]
    if out is not None:
        write_file(out, listing.table.csv())
    if is_json:
        written = {option: str(file) for option, file in files.items() if file is not None}
        write_json({"run": None if run is None else str(run), **listing.to_dict(), **written})


def _show(listing: _Listing, files: Mapping[str, Path | None], more: str = "") -> None:
    """Print the sentences, the table and where the files are."""
    console = screen()
    for sentence in listing.sentences:
        console.print(sentence)
    if listing.table.rows:
        console.print()
        console.print(rich_table(listing.table))
    if more:
        console.print(more)
    for name, file in files.items():
        if file is not None:
            console.print(f"{name}: {file}", soft_wrap=True)
