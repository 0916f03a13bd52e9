"""Damaged search files and odd names of them for `agnn train --search`."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from forked import Case, Result, finished
from inputs import TABLE
from mutants import changed_bytes
from special_files import put_special_file

COMMAND = [
    "train", "--method", "gcn", "--epochs", "2", "--replicas", "1", "--quiet", "--nodes",
    "nodes.csv", "--edges", "edges.csv", *TABLE, "--search", "2", "--out", "new", "--search-file",
]  # fmt: skip
_NAMES = (
    "s?x=1.sqlite", "s#1.sqlite", "s%20.sqlite", "{0}.sqlite", "file:s.sqlite", ":memory:",
    "s.journal", "-.sqlite", "é\U0001f600.sqlite", "s", " .sqlite", "new", "nowhere/s.sqlite",
)  # fmt: skip


def cases(source: random.Random, base: Path, work: Path, count: int) -> Iterator[Case]:
    """That many cases, each in a folder of its own."""
    searched = work / "searched"
    if count:
        _prepare(base, searched)
    for number in range(count):
        folder = work / f"search-{number}"
        folder.mkdir()
        for name in ("nodes.csv", "edges.csv", "s.sqlite"):
            shutil.copy(searched / name, folder)
        file = folder / "s.sqlite"
        match number % 4:
            case 3:
                name = put_special_file(source, file)
            case 2:
                file = folder / source.choice(_NAMES)
                name = f"named {file.name}"
                if source.random() < 0.3 and file.parent.is_dir():
                    file.write_bytes(source.choice([b"", b'{"op_code": 99}\n', b"text\n"]))
            case _:
                file.write_bytes(changed_bytes(source, file.read_bytes()))
                name = "bytes"
        command = [*COMMAND, str(file.relative_to(folder))]
        yield Case(f"{name} {number}", folder, [command], _check(folder))


def _prepare(base: Path, searched: Path) -> None:
    """Write the file of a finished search."""
    import optuna  # noqa: F401 (for the forks)

    searched.mkdir()
    for name in ("nodes.csv", "edges.csv"):
        shutil.copy(base / name, searched)

    def search() -> int:
        from agnn.cli import main

        return main([*COMMAND, "s.sqlite"])

    finished(search, searched)


def _check(folder: Path) -> Callable[[Result], str | None]:
    def check(result: Result) -> str | None:
        complaint = result.complaint()
        if complaint is None and result.code == 2 and (folder / "new").is_dir():
            complaint = "half-written: a run after an error"
        return complaint

    return check
