"""`agnn audit`: the labels of a run that its own models contradict."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agnn.cli._console import rich_table, screen, write_json
from agnn.cli._options import AllowUnchecked, Json, Threads, use_threads
from agnn.errors import InputError

if TYPE_CHECKING:
    from agnn.decisions import Audit

_SHOWN = 20


def audit(
    run: Annotated[Path, typer.Argument(help="A folder that `agnn train --out` wrote.")],
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
    from agnn.files import check_new_file, write_file
    from agnn.runs import load_run

    use_threads(threads)
    if count is not None and count < 1:
        raise InputError(f"--count must be at least 1; got {count}.")
    if out is not None and out.suffix.lower() != ".csv":
        raise InputError(f"'{out}' must end in .csv to be written.")
    for file in (out, html):
        if file is not None:
            check_new_file(file)
    listed = decisions.audit(load_run(run, trust_unchecked=allow_unchecked)).first(count)
    if out is not None:
        write_file(out, listed.table.csv())
    if html is not None:
        from agnn.report import audit_page

        write_file(html, audit_page(listed))
    if json:
        files = {"out": out, "html": html}
        written = {name: str(file) for name, file in files.items() if file is not None}
        write_json({"run": str(run), **listed.to_dict(), **written})
        return
    _show(listed, count or _SHOWN)
    for file in (out, html):
        if file is not None:
            screen().print(f"the list: {file}", soft_wrap=True)


def _show(audit: "Audit", count: int) -> None:
    """Print what was found and the first labels."""
    console = screen()
    for sentence in audit.sentences:
        console.print(sentence)
    if not audit.suspicious:
        return
    console.print()
    console.print(rich_table(audit.first(count).table))
    unlisted = len(audit.suspicious) - count
    if unlisted > 0:
        console.print(f"... and {unlisted:,} more; --out FILE.csv writes them all.")
