"""`agnn report`: a saved run as one HTML file."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from agnn.cli._console import screen, write_json
from agnn.cli._options import AllowUnchecked, Json, Threads, use_threads


def report(
    run: Annotated[Path, typer.Argument(help="A folder that `agnn train --out` wrote.")],
    out: Annotated[
        Path | None,
        typer.Option(help="A new file for the page.", show_default="RUN-report.html, here"),
    ] = None,
    threads: Threads = None,
    json: Json = False,
    allow_unchecked: AllowUnchecked = False,
) -> None:
    """Write one HTML page on a run: data, training, accuracy, confidence, attention, nodes.

    The page needs no other file and no network. With --json its facts are printed, and a page is
    written only where --out says so.
    """
    from agnn.files import check_new_file, write_file
    from agnn.report import rendered, run_facts, run_figures, run_page
    from agnn.runs import load_run

    use_threads(threads)
    if out is None and not json:
        out = Path(f"{run.absolute().name}-report.html")
    if out is not None:
        check_new_file(out)
    facts = run_facts(load_run(run, trust_unchecked=allow_unchecked))
    if out is not None:
        page = run_page(facts, rendered(run_figures(facts)), folder=str(run))
        write_file(out, page.encode())
    if json:
        write_json(facts.to_dict() | ({} if out is None else {"out": str(out)}))
        return
    size = out.stat().st_size / 1e6 if out is not None else 0.0
    screen().print(f"{facts.title} on {facts.name}, {size:.1f} MB: {out}", soft_wrap=True)
    screen().print(f"next: agnn explore {shlex.quote(str(run))}", soft_wrap=True)
