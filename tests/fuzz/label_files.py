"""Damaged files of labels for `agnn retrain`: JSON lines as the explorer writes them, and tables.

A file is refused in one line, or a new run is written; the file itself is never changed. One that
lacks nothing but its last line end has the same labels.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from forked import Case, Result, finished
from inputs import wrong_probabilities
from mutants import HOSTILE_CELLS, changed_bytes, changed_json

_PREDICT = ["predict", "new", "--out", "predictions.csv"]


def cases(source: random.Random, base: Path, work: Path, count: int) -> Iterator[Case]:
    """That many cases, each in a folder of its own."""
    labelled = work / "labelled"
    if count:
        shutil.copytree(base / "run", labelled / "run")
        finished(_write, labelled)
    for number in range(count):
        folder = work / f"labels-{number}"
        shutil.copytree(base / "run", folder / "run")
        name = ("labels.jsonl", "labels.csv")[number % 2]
        path = folder / name
        shutil.copy(labelled / name, path)
        kind = [_bytes, _values, _same, _instead][number // 2 % 4]
        kind(source, path)
        commands = [["retrain", "run", "--labels", name, "--out", "new", "--quiet"], _PREDICT]
        expected = labelled / "predictions.csv" if kind is _same else None
        yield Case(f"{name} {kind.__name__[1:]} {number}", folder, commands, _check(path, expected))


def _write() -> int:
    from agnn.cli import main
    from agnn.runs import LabelFile, labels_csv, load_run

    data = load_run("run").data
    with LabelFile("labels.jsonl", data) as file:
        file.give([1, 3, 5], 0)
        file.give([5, 11], 1)
        file.give([17], 0)
        file.undo()
        Path("labels.csv").write_text(labels_csv(data, file.labels), encoding="utf-8")
    retrained = main(["retrain", "run", "--labels", "labels.csv", "--out", "new", "--quiet"])
    return retrained or main(_PREDICT)


def _check(path: Path, expected: Path | None) -> Callable[[Result], str | None]:
    before = path.read_bytes() if path.is_file() and not path.is_symlink() else None
    folder = path.parent

    def check(result: Result) -> str | None:
        found = result.complaint(allowed=(0, 2) if expected is None else (0,))
        if found is None and before is not None and path.read_bytes() != before:
            found = "the file of labels was changed"
        if found is None and result.code == 2 and (folder / "new").exists():
            found = "half-written: a run folder after an error"
        made = folder / "predictions.csv"
        if found is None and result.code == 0:
            found = wrong_probabilities(made)
        if found is None and expected is not None and made.read_bytes() != expected.read_bytes():
            found = "wrong load: the same labels gave other predictions"
        return found

    return check


def _bytes(source: random.Random, path: Path) -> None:
    path.write_bytes(changed_bytes(source, path.read_bytes()))


def _values(source: random.Random, path: Path) -> None:
    """Another value in a line or a cell, a line less or twice."""
    lines = path.read_text(encoding="utf-8").splitlines()
    place = source.randrange(len(lines))
    if path.suffix == ".csv":
        cells = lines[place].split(",")
        cells[source.randrange(len(cells))] = source.choice(HOSTILE_CELLS)
        lines[place] = ",".join(cells)
    else:
        lines[place] = json.dumps(changed_json(source, json.loads(lines[place])))
    if source.random() < 0.3:
        lines.insert(place, source.choice(lines))
    if source.random() < 0.3:
        del lines[source.randrange(len(lines))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _same(source: random.Random, path: Path) -> None:
    """Other bytes with the same labels."""
    content = path.read_bytes()
    if path.suffix == ".csv":
        content = source.choice(
            [content.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + content, content + b"\n\n"]
        )
    path.write_bytes(content.removesuffix(b"\n") if source.random() < 0.7 else content)


def _instead(source: random.Random, path: Path) -> None:
    """Something else in the file's place."""
    path.unlink()
    match source.randrange(5):
        case 0:
            os.mkfifo(path)
        case 1:
            path.symlink_to(source.choice(["/dev/zero", "/dev/null", "nowhere"]))
        case 2:
            path.mkdir()
        case 3:
            path.write_bytes(b"[" * 100_000 + b"\n")
        case _:
            path.write_bytes(source.randbytes(source.choice([0, 1, 100, 10_000])))
