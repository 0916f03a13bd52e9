"""`agnn report`: a saved run as one HTML file; `agnn demo`: AGNN on Cora from data to page."""

import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from json import dumps, loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agnn.cli._arguments import hyper_parameters
from agnn.cli._console import screen, training_progress, write_json
from agnn.cli._failures import interruptible
from agnn.cli._options import (
    AllowUnchecked,
    Epochs,
    Json,
    Quiet,
    Replicas,
    RunFolder,
    Seed,
    Threads,
    use_threads,
)
from agnn.cli._record import print_result, run_record
from agnn.errors import InputError
from agnn.files import check_new_folder, json_text

if TYPE_CHECKING:
    from agnn.runs import Run

_DATASET = "cora"
_SPLIT = "fixed"
_EXAMPLE = "8617"  # a test node that every replica gets right, with neighbours for and against it
_MARKER = "demo.json"  # lists the files of a demo, so that it can be replaced
_MADE_BY = "agnn demo"
_PAPER = "The paper reports 83.1 ± 0.1 % for this dataset and split."


def report(
    run: RunFolder,
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
    from agnn.report import render_figures, run_facts, run_figures, run_page
    from agnn.runs import load_run

    use_threads(threads)
    if out is None and not json:
        out = Path(f"{run.absolute().name}-report.html")
    if out is not None:
        check_new_file(out)
    facts = run_facts(load_run(run, trust_unchecked=allow_unchecked))
    if out is not None:
        page = run_page(facts, render_figures(run_figures(facts)), folder=str(run))
        write_file(out, page.encode())
    if json:
        write_json(facts.to_dict() | ({} if out is None else {"out": str(out)}))
        return
    size = out.stat().st_size / 1e6 if out is not None else 0.0
    screen().print(f"{facts.title} on {facts.name}, {size:.1f} MB: {out}", soft_wrap=True)
    screen().print(f"next: agnn explore {shlex.quote(str(run))}", soft_wrap=True)


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
    from agnn.explanation import Relevance, explain
    from agnn.runs import evaluate, prepare, replica_seeds

    seeds = replica_seeds(seed, replicas)
    use_threads(threads)
    check_demo_folder(out)
    data = load_dataset(_DATASET)
    changes = hyper_parameters("agnn", {"epochs": epochs}, None)
    method = prepare("agnn", data, _SPLIT, changes)
    label = f"Training {method.title} on {_DATASET}"
    note = "nothing was written; the same command starts again."
    with interruptible(lambda: note), training_progress(label, is_quiet=quiet) as progress:
        run = evaluate(method, data, _SPLIT, seeds, progress=progress)
    changed = {"--replicas": replicas, "--seed": seed, "--epochs": epochs}
    options = [f"{name} {value}" for name, value in changed.items() if value is not None]
    command = " ".join(["agnn demo", *options, "--out", shlex.quote(str(out))])
    relevance = Relevance.of(run).by_class()[-1].numpy()
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
    print_result(run, f"{method.title} on {_DATASET}, split {_SPLIT}", out / "run")
    node = run.node(_EXAMPLE)
    console.print(f"\nOne paper, explained: {_EXAMPLE}", style="bold")
    console.print(explain(run, node).sentence)
    label = run.data.class_names[run.data.labels[node]]
    console.print(f"Its label is {label}. The numbers say how much each paper adds.")
    console.print(f"\nThe page, with figures: {out / 'index.html'}", soft_wrap=True)
    console.print("What to do next:")
    folder = shlex.quote(str(out / "run"))
    about = {
        f"agnn explore {folder}": "walk through the graph in the browser",
        f"agnn explain {folder} {_EXAMPLE}": "the reasons for one prediction",
    }
    width = max(map(len, about))
    for line, purpose in about.items():
        console.print(f"  {line:<{width}}   {purpose}", soft_wrap=True)


def _write(run: "Run", record: dict[str, Any], command: str, out: Path) -> None:
    """The page, its figures, the result as JSON and the run, all of it or nothing."""
    from agnn.report import (
        render_figures,
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
            facts, render_figures(figures), remark=_PAPER, command=command, folder=str(out / "run")
        )
        (draft / "index.html").write_text(page, encoding="utf-8")
        (draft / "result.json").write_text(json_text(record, indent=2), encoding="utf-8")
        save_run(run, draft / "run")


def check_demo_folder(folder: Path) -> None:
    """Raise unless the demo may write there: a new folder, or one that holds only its own files."""
    if not folder.exists() and not folder.is_symlink():
        check_new_folder(folder)
        return
    demo_files = _demo_files(folder)
    if demo_files is None:
        raise InputError(
            f"'{folder}' exists and was not made by `agnn demo`; choose another --out."
        )
    foreign = sorted(_files(folder) - demo_files)
    if foreign:
        raise InputError(
            f"'{folder}' also holds '{foreign[0]}', which `agnn demo` did not write and will not "
            f"delete; move it away or choose another --out."
        )
    if not os.access(folder.absolute().parent, os.W_OK | os.X_OK):
        raise InputError(f"'{folder}' cannot be replaced: its parent folder is not writable.")


@contextmanager
def demo_folder(folder: Path) -> "Iterator[Path]":
    """Give a draft to write to, which replaces `folder` at the end and is deleted after an error.

    Until the end an earlier demo in `folder` stays as it is.
    """
    check_demo_folder(folder)
    folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.absolute().parent))
    try:
        draft = scratch / "new"
        draft.mkdir()
        yield draft
        marker = {"made_by": _MADE_BY, "files": sorted({*_files(draft), _MARKER})}
        (draft / _MARKER).write_text(dumps(marker, indent=2) + "\n", encoding="utf-8")
        _put_in_place(draft, folder, scratch / "old")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _put_in_place(draft: Path, folder: Path, aside: Path) -> None:
    if folder.exists():
        folder.rename(aside)
    try:
        draft.rename(folder)
    except BaseException:
        if aside.exists():
            aside.rename(folder)
        raise


def _files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def _demo_files(folder: Path) -> set[str] | None:
    """Return the files that the demo wrote, by its list; None for a folder that it did not make."""
    if folder.is_symlink() or not folder.is_dir():
        return None
    try:
        marker = loads((folder / _MARKER).read_text(encoding="utf-8"))
        return set(marker["files"]) if marker["made_by"] == _MADE_BY else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
