"""`python tests/fuzz`: hostile inputs and files, kills and requests, with a table at the end.

The seed fixes every case. Kills and requests depend on the machine's timing as well. All traffic
stays on this machine. The exit code is 1 if anything failed.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

# A fork must not inherit computing threads, so there is one thread; see `forked`.
os.environ |= {
    "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1",
    "NUMBA_THREADING_LAYER": "workqueue",
}  # fmt: skip
sys.path.insert(0, str(Path(__file__).parents[1]))

import checkpoints
import configurations
import folders
import http_requests
import inputs
import kills
import label_files
import maps
import queries
import searches
from forked import Case, Result, finished, ran

_SHOWN = 20  # failures per stage
_Cases = Callable[[random.Random, Path, Path, int], Iterator[Case]]
# Stages whose cases are commands: the option, the name in the table, how many, and the cases.
_COMMANDS: tuple[tuple[str, str, int, _Cases], ...] = (
    ("inputs", "mutated inputs", 700, inputs.cases),
    ("folders", "run folders", 300, folders.cases),
    ("maps", "maps", 60, maps.cases),
    ("queries", "queries", 180, queries.cases),
    ("labels", "label files", 120, label_files.cases),
    ("checkpoints", "checkpoints", 160, checkpoints.cases),
    ("searches", "search files", 60, searches.cases),
    ("configurations", "configurations", 160, configurations.cases),
)


@dataclass
class Stage:
    """One row of the table."""

    name: str
    wanted: int
    made: int = 0
    wrong: list[str] = field(default_factory=list)
    notes: str = ""
    seconds: float = 0.0


def main() -> int:
    """Run all stages within the time and print the table."""
    options = _options()
    start, source = time.monotonic(), random.Random(options.seed)  # noqa: S311 (no secrets here)
    work = Path(tempfile.mkdtemp(prefix="agnn-fuzz-"))
    base = work / "base"
    base.mkdir()
    _warm(base)
    deadline = start + options.seconds
    stages = [Stage(title, getattr(options, name)) for name, title, _, _ in _COMMANDS]
    for stage, (*_, cases) in zip(stages, _COMMANDS, strict=True):
        begun = time.monotonic()
        _cases(stage, cases(source, base, work, stage.wanted), deadline)
        stage.seconds = time.monotonic() - begun
    killed, asked = Stage("kills", options.kills), Stage("requests", options.requests)
    begun = time.monotonic()
    _kills(killed, source, base, work, deadline)
    killed.seconds = time.monotonic() - begun
    begun = time.monotonic()
    if asked.wanted:
        _requests(asked, source, base, work)
    asked.seconds = time.monotonic() - begun
    stages += [killed, asked]
    failed = _report(stages, options.seed)
    if options.keep:
        _say(f"kept: {work}")
    else:
        shutil.rmtree(work)
    return failed


def _warm(base: Path) -> None:
    """Write the base and load everything that the cases need, so that forks have it."""
    import torch

    import agnn.web.api
    import agnn.web.server  # noqa: F401 (for the forks)
    from agnn.cli import main as agnn_main

    torch.set_num_threads(1)

    def commands() -> int:
        done = inputs.write_base(base)
        for command in (
            ["inspect", "--nodes", "nodes.csv", "--edges", "edges.csv", *inputs.TABLE],
            ["explain", "run", "p4", "--json"],
            ["report", "run", "--out", "page.html"],
            [*inputs.TRAIN, "graph.npz", "--out", "warm-npz"],
            [*inputs.TRAIN, "graph.graphml", "--label", "topic", "--out", "warm-graphml"],
            [*inputs.TRAIN, "--nodes", "nodes.parquet", "--edges", "edges.parquet", *inputs.TABLE,
             "--split", "split.json", "--out", "warm-parquet"],
        ):  # fmt: skip
            done = done or agnn_main(command)
        return done

    here = Path.cwd()
    os.chdir(base)
    saved = [os.dup(1), os.dup(2)]
    log = os.open("warm.txt", os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        sys.stdout.flush()
        os.dup2(log, 1)
        os.dup2(log, 2)
        code = commands()
        sys.stdout.flush()
    finally:
        os.dup2(saved[0], 1)
        os.dup2(saved[1], 2)
        os.chdir(here)
    if code:
        raise SystemExit(f"the unchanged inputs fail:\n{(base / 'warm.txt').read_text()}")
    # That a fork of this process works at all.
    finished(lambda: inputs.write_base(Path.cwd()), base.parent / "first-fork")


def _cases(stage: Stage, cases: Iterable[Case], deadline: float) -> None:
    codes: Counter[int] = Counter()
    for case, result in ran(cases, deadline):
        stage.made += 1
        codes[result.code] += 1
        wrong = _checked(case, result)
        if wrong is None:
            shutil.rmtree(case.folder)
        else:
            stage.wrong.append(f"{case.name}: agnn {' '.join(case.commands[0])[:160]}: {wrong}")
    stage.notes = ", ".join(f"exit {code}: {codes[code]}" for code in sorted(codes))


def _checked(case: Case, result: Result) -> str | None:
    try:
        return case.check(result)
    except (OSError, ValueError, KeyError) as error:
        return f"the result cannot be read: {error!r}"


def _kills(stage: Stage, source: random.Random, base: Path, work: Path, deadline: float) -> None:
    for name, wrong in kills.failures(source, base, work, stage.wanted, deadline):
        stage.made += 1
        if wrong is not None:
            stage.wrong.append(f"{name}: {wrong}")


def _requests(stage: Stage, source: random.Random, base: Path, work: Path) -> None:
    found = http_requests.findings(source, base, work, stage.wanted)
    stage.made, stage.wrong = sum(found.statuses.values()), found.wrong
    some = ", ".join(f"{code}: {n}" for code, n in sorted(found.statuses.items()))
    stage.notes = f"memory {100 * (found.growth - 1):+.1f} %; status {some}"


def _report(stages: list[Stage], seed: int) -> int:
    """Print what failed and the table; 1 if anything failed or was not made, else 0."""
    for stage in stages:
        for wrong in stage.wrong[:_SHOWN]:
            _say(f"FAILED {stage.name}: {wrong}")
        if len(stage.wrong) > _SHOWN:
            _say(f"FAILED {stage.name}: {len(stage.wrong) - _SHOWN} more")
    _say(f"\nseed {seed}\n{'stage':16}{'wanted':>8}{'made':>8}{'failed':>8}{'seconds':>9}  notes")
    for each in stages:
        figures = f"{each.wanted:>8}{each.made:>8}{len(each.wrong):>8}{each.seconds:>9.0f}"
        _say(f"{each.name:16}{figures}  {each.notes}")
    is_short = any(stage.made < stage.wanted for stage in stages)
    if is_short:
        _say("out of time: not every case was made")
    return int(is_short or any(stage.wrong for stage in stages))


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    counts = {name: count for name, _, count, _ in _COMMANDS} | {"kills": 40, "requests": 10_000}
    for name, count in counts.items():
        parser.add_argument(f"--{name}", type=int, default=count)
    parser.add_argument("--seconds", type=float, default=900.0, help="for all stages but requests")
    parser.add_argument("--keep", action="store_true", help="keep the files of the cases")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
