"""`agnn push`, `pull`, `share` and `export`: a run for others, whole or as one file."""

import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from agnn.cli._console import screen, write_json
from agnn.cli._options import AllowUnchecked, Json, RunFolder, use_threads

Repository = Annotated[
    str,
    typer.Argument(help="OWNER/NAME at Hugging Face, or a folder, written as a path (./NAME)."),
]


def push(
    run: RunFolder,
    repository: Repository,
    public: Annotated[
        bool, typer.Option("--public", help="Let everybody read a repository that is made.")
    ] = False,
    json: Json = False,
) -> None:
    """Upload a run to a Hugging Face repository, with its model card.

    The run holds the graph it was trained on, with ids, unless that comes with the package. The
    token is that of `hf auth login` or the variable HF_TOKEN.
    """
    from agnn import hub

    address = hub.push(run, repository, public=public)
    if json:
        write_json({"run": str(run), "repository": address, "public": public})
        return
    screen().print(f"{run} is in {address}", soft_wrap=True)


def pull(
    repository: Repository,
    out: Annotated[
        Path | None, typer.Option(help="A new folder.", show_default="the repository's name")
    ] = None,
    revision: Annotated[
        str | None, typer.Option(help="A branch, tag or commit.", show_default="main")
    ] = None,
    json: Json = False,
) -> None:
    """Download a run from a Hugging Face repository into a new folder, and check it."""
    from agnn import hub

    folder = Path(Path(repository).name) if out is None else out
    run = hub.pull(repository, folder, revision=revision)
    if json:
        write_json({"repository": repository, "out": str(folder), **run.to_dict()})
        return
    screen().print(f"{run!r} is in {folder}", soft_wrap=True, markup=False)


def share(
    run: RunFolder,
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
    # On a busy machine two threads wait for each other in every one of many small steps.
    threads: Annotated[
        int, typer.Option(help="Threads to compute with; many small steps gain little from more.")
    ] = 1,
    json: Json = False,
    allow_unchecked: AllowUnchecked = False,
) -> None:
    """Write the explorer as one HTML file that needs no server and no network.

    Without --cohort and --nodes the file has every node of a graph of up to 5,000 nodes and 10,000
    edges; of a larger graph 100 nodes, the first of every cohort and a sample. It shows the map,
    cohorts, explanations and single removals; what needs the model takes `agnn explore`.
    """
    from agnn.files import check_new_file
    from agnn.runs import load_run
    from agnn.web.explore import share as write_page

    use_threads(threads)
    check_new_file(out)
    trained = load_run(run, trust_unchecked=allow_unchecked)
    rival = None if compare is None else load_run(compare, trust_unchecked=allow_unchecked)
    ids: list[str] | Literal["all"] | None = None
    if nodes is not None:
        listed = [part.strip() for part in nodes.split(",") if part.strip()]
        ids = "all" if listed == ["all"] else listed
    status = screen(is_error=True).status("computing predictions and the map ...")
    count = 0
    begun = 0.0

    def report(done: int, of: int) -> None:
        nonlocal count, begun
        count = of
        begun = begun or time.monotonic()
        seconds = (time.monotonic() - begun) / max(done - 1, 1) * (of - done)
        remaining = "" if done == 1 else f", {seconds:.0f} s left"
        status.update(f"neighbourhoods: {done:,} of {of:,}{remaining}")

    with status:
        size = write_page(trained, out, cohort=cohort, nodes=ids, compare=rival, progress=report)
    if json:
        write_json({"run": str(run), "out": str(out), "nodes": count, "bytes": size})
        return
    summary = f"{trained.method.title} on {trained.data.name}, {size / 1e6:.1f} MB"
    screen().print(f"{summary}: {out}", soft_wrap=True)
    if cohort is None and nodes is None and count < trained.data.nodes:
        screen().print(
            f"It has {count:,} of {trained.data.nodes:,} nodes: the first of every cohort and a "
            f"sample. `--nodes all` takes every node of a graph of up to 5,000.",
            soft_wrap=True,
        )


def export(
    run: RunFolder,
    out: Annotated[Path, typer.Option(help="A new file, such as model.onnx.")],
    json: Json = False,
    allow_unchecked: AllowUnchecked = False,
) -> None:
    """Write the model of a run as ONNX, for graphs of any size.

    The file takes `features`, one row per node as your data has them, which it scales itself, and
    `edge_index`, two rows with both directions of every edge. It gives `probabilities`, the same as
    `agnn predict`, and `replica_probabilities`, those of every replica.
    """
    from agnn.files import check_new_file
    from agnn.onnx import export_run
    from agnn.runs import load_run

    check_new_file(out)
    trained = load_run(run, trust_unchecked=allow_unchecked)
    size = export_run(trained, out)
    if json:
        write_json(
            {
                "out": str(out),
                "bytes": size,
                "method": trained.method.name,
                "replicas": trained.replicas,
                "features": trained.data.feature_count,
                "class_names": list(trained.data.class_names),
            }
        )
        return
    summary = f"{trained.method.title}, {trained.replicas} replicas, {size / 1e6:.1f} MB"
    screen().print(f"{summary}: {out}", soft_wrap=True)
