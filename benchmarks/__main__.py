"""`python -m benchmarks`: the comparison with torch_geometric, run and written down."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from agnn._allocator import keep_freed_memory
from agnn.errors import AgnnError, InputError, unknown_name
from benchmarks import gate, report
from benchmarks.cases import GROUPS
from benchmarks.machine import machine, software
from benchmarks.processes import ROOT
from benchmarks.runner import run

RESULTS = ROOT / "benchmarks" / "results"
_ROUNDS, _QUICK_ROUNDS = 21, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen cases; 0, 1 where the kernels' tests fail, 2 on wrong input."""
    options = _parser().parse_args(arguments)
    console = Console(stderr=True)
    try:
        groups = _groups(options.cases)
        rounds = _rounds(options)
    except AgnnError as error:
        console.print(f"[red]Error:[/] {error}", soft_wrap=True)
        return 2
    if not options.skip_tests and not gate.kernels_are_right():
        console.print("[red]The kernels' tests fail: no figures are reported until they pass.[/]")
        return 1
    keep_freed_memory()  # as the program `agnn` does; the peer has the same allocator
    results = measured(groups, rounds, console)
    results["tests"] = "skipped" if options.skip_tests else "passed"
    results = report.with_previous(results, committed())
    show(results, console)
    folder = _folder(options, groups)
    if folder is None:
        console.print("Nothing is written: only a full run is, or one with --out FOLDER.")
        return 0
    write(results, folder)
    console.print(f"Written: {folder / 'cpu.json'} and {folder / 'cpu.md'}", soft_wrap=True)
    return 0


def measured(groups: Sequence[str], rounds: int, console: Console) -> dict[str, Any]:
    """The results of the chosen groups, with where and when they were taken."""
    about = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": software(),
        "rounds": rounds,
    }
    with console.status("starting") as status:
        duels, ceilings = run(groups, rounds, lambda what: status.update(f"timing {what}"))
    return about | {"duels": duels, "ceilings": ceilings}


def committed() -> dict[str, Any] | None:
    """The results in the repository; None where there are none."""
    file = RESULTS / "cpu.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def show(results: dict[str, Any], warnings: Console) -> None:
    """The tables on standard output."""
    screen = Console()
    if not screen.is_terminal:
        screen.width = 150  # rich takes a file to be 80 wide and cuts the cells
    for table in report.terminal(results):
        screen.print(table)
    if words := report.comparison(results):
        warnings.print(words, soft_wrap=True)
    if warning := report.disturbance(results):
        warnings.print(f"[yellow]{warning}[/]", soft_wrap=True)


def write(results: dict[str, Any], folder: Path) -> None:
    """cpu.json and cpu.md in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cpu.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    (folder / "cpu.md").write_text(report.markdown(results), encoding="utf-8")


def _folder(options: argparse.Namespace, groups: Sequence[str]) -> Path | None:
    """Where the results go. Untested, quick or partial ones never replace the published ones."""
    if options.out is not None:
        return Path(options.out)
    is_full = not options.skip_tests and not options.quick and set(groups) == set(GROUPS)
    return RESULTS if is_full else None


def _groups(words: str) -> tuple[str, ...]:
    chosen = tuple(word.strip() for word in words.split(",") if word.strip())
    for word in chosen:
        if word not in GROUPS:
            raise unknown_name("case", word, GROUPS)
    return chosen


def _rounds(options: argparse.Namespace) -> int:
    rounds: int = options.rounds or (_QUICK_ROUNDS if options.quick else _ROUNDS)
    if rounds < 1:
        raise InputError(f"`--rounds` must be at least 1; got {rounds}.")
    return rounds


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--cases", default=",".join(GROUPS), help="comma-separated; default: %(default)s"
    )
    parser.add_argument(
        "--rounds", type=int, help=f"how often each pair is timed; default {_ROUNDS}"
    )
    parser.add_argument("--quick", action="store_true", help=f"{_QUICK_ROUNDS} rounds")
    parser.add_argument(
        "--out", help="folder for cpu.json and cpu.md; default: benchmarks/results after a full run"
    )
    parser.add_argument(
        "--skip-tests", action="store_true", help="for work on the benchmark itself"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
