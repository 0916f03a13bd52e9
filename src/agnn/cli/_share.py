"""`agnn share`: the explorer of a run as one file."""

import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from agnn.cli._console import screen, write_json
from agnn.cli._options import AllowUnchecked, Json, Threads, use_threads


def share(
    run: Annotated[Path, typer.Argument(help="A folder that `agnn train --out` wrote.")],
    out: Annotated[Path, typer.Option(help="A new file, such as page.html.")],
    cohort: Annotated[
        str | None,
        typer.Option(help="The nodes to share: wrong, sure-wrong, unsure, disagree, far, ..."),
    ] = None,
    nodes: Annotated[
        str | None,
        typer.Option(
            help="Or these ids, separated by commas; all: every node of a graph of up to 5,000.",
            metavar="ID,ID,...",
        ),
    ] = None,
    compare: Annotated[
        Path | None, typer.Option(help="A second run on the same data, shown beside the first.")
    ] = None,
    threads: Threads = None,
    json: Json = False,
    allow_unchecked: AllowUnchecked = False,
) -> None:
    """Write the explorer as one HTML file that needs no server and no network.

    Without --cohort and --nodes the file has every node of a graph of up to 5,000 nodes and 10,000
    edges; of a larger graph 300 nodes, the first of every cohort and a sample. It shows the map,
    cohorts, explanations and single removals; what needs the model takes `agnn explore`.
    """
    from agnn.files import check_new_file
    from agnn.runs import load_run
    from agnn.web.explore import share as write_page

    use_threads(threads)
    check_new_file(out)
    trained = load_run(run, trust_unchecked=allow_unchecked)
    other = None if compare is None else load_run(compare, trust_unchecked=allow_unchecked)
    ids: list[str] | Literal["all"] | None = None
    if nodes is not None:
        listed = [each.strip() for each in nodes.split(",") if each.strip()]
        ids = "all" if listed == ["all"] else listed
    status = screen(is_error=True).status("computing predictions and the map ...")
    taken = 0
    begun = 0.0

    def report(done: int, of: int) -> None:
        nonlocal taken, begun
        taken = of
        begun = begun or time.monotonic()
        left = (time.monotonic() - begun) / max(done - 1, 1) * (of - done)
        rest = "" if done == 1 else f", {left:.0f} s left"
        status.update(f"neighbourhoods: {done:,} of {of:,}{rest}")

    with status:
        size = write_page(trained, out, cohort=cohort, nodes=ids, compare=other, progress=report)
    if json:
        write_json({"run": str(run), "out": str(out), "nodes": taken, "bytes": size})
        return
    words = f"{trained.method.title} on {trained.data.name}, {size / 1e6:.1f} MB"
    screen().print(f"{words}: {out}", soft_wrap=True)
    if cohort is None and nodes is None and taken < trained.data.nodes:
        screen().print(
            f"It has {taken:,} of {trained.data.nodes:,} nodes: the first of every cohort and a "
            f"sample. `--nodes all` takes every node of a graph of up to 5,000.",
            soft_wrap=True,
        )
