"""Damaged and tampered checkpoints for `agnn train --resume`.

One whose bytes differ from what was written is refused, or gives the same model. One whose
checksum was computed again may be continued, but without tracebacks or hangs. An error deletes
none.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from forked import Case, Result, finished
from inputs import TABLE, TRAIN
from mutants import HOSTILE_CELLS, changed_bytes, changed_json
from special_files import put_special_file

_OUT = "new"
_FILE = f"{_OUT}.checkpoint"
_WEIGHTS = "model.safetensors"
COMMAND = [
    *TRAIN, "--nodes", "nodes.csv", "--edges", "edges.csv", *TABLE, "--checkpoint", "0s",
    "--out", _OUT,
]  # fmt: skip


def cases(source: random.Random, base: Path, work: Path, count: int) -> Iterator[Case]:
    """That many cases, each in a folder of its own."""
    stopped = work / "stopped"
    if count:
        _prepare(base, stopped)
    for number in range(count):
        folder = work / f"checkpoint-{number}"
        folder.mkdir()
        for name in ("nodes.csv", "edges.csv", _FILE):
            shutil.copy(stopped / name, folder)
        file = folder / _FILE
        is_signed = number % 4 >= 2
        if number % 8 == 7:
            name = put_special_file(source, file)
        elif is_signed:
            name = _sign_changed(source, file)
        else:
            file.write_bytes(changed_bytes(source, file.read_bytes()))
            name = "bytes"
        expected = None if is_signed else (stopped / _OUT / _WEIGHTS).read_bytes()
        check = _check(folder, expected)
        yield Case(f"{name} {number}", folder, [[*COMMAND, "--resume"]], check)


def _prepare(base: Path, stopped: Path) -> None:
    """Write a checkpoint of a training that was stopped, and what it ends with if continued."""
    stopped.mkdir()
    for name in ("nodes.csv", "edges.csv"):
        shutil.copy(base / name, stopped)

    def train() -> int:
        from agnn.cli import main
        from agnn.training import Checkpoints

        write = Checkpoints.write

        def write_and_stop(checkpoints: Checkpoints, *given: Any) -> None:
            write(checkpoints, *given)
            raise KeyboardInterrupt

        Checkpoints.write = write_and_stop  # type: ignore[method-assign]
        main(COMMAND)
        Checkpoints.write = write  # type: ignore[method-assign]
        shutil.copy(_FILE, "kept")
        code = main([*COMMAND, "--resume"])
        shutil.move("kept", _FILE)
        return code

    finished(train, stopped)


def _sign_changed(source: random.Random, file: Path) -> str:
    """Change a header or a tensor and compute the checksum again."""
    import torch
    from safetensors import safe_open
    from safetensors.torch import save_file

    from agnn.training import _checkpoint

    with safe_open(file, "pt") as stream:
        facts = stream.metadata()
        tensors: dict[str, Any] = {key: stream.get_tensor(key) for key in stream.keys()}  # noqa: SIM118
    del facts["sha256"]
    if source.random() < 0.6:
        key = source.choice(sorted(facts))
        values = [*HOSTILE_CELLS, "[" * 20_000, "1" * 5_000, "{}", "[]", "3", "4"]
        if key == "about":
            values.append(json.dumps(changed_json(source, json.loads(facts[key]))))
        facts[key] = source.choice(values)
        if source.random() < 0.2:
            del facts[key]
        name = f"header {key}"
    else:
        key = source.choice(sorted(tensors))
        old = tensors[key]
        tensors[key] = source.choice([
            torch.full_like(old.float(), float("nan")), old.double(), old[:0].clone(),
            torch.zeros_like(old), old.flatten().clone(), torch.full_like(old.float(), 1e38),
            torch.full_like(old, -1), old.to(torch.int64),
        ])  # fmt: skip
        if source.random() < 0.2:
            del tensors[key]
        name = f"tensor {key}"
    save_file(tensors, file, {**facts, "sha256": _checkpoint._digest(tensors, facts)})
    return name


def _check(folder: Path, expected: bytes | None) -> Callable[[Result], str | None]:
    def check(result: Result) -> str | None:
        complaint = result.complaint()
        is_there = (folder / _OUT).exists()
        if complaint is None and result.code == 2 and is_there:
            complaint = "half-written: a run after an error"
        if complaint is None and result.code == 2 and not (folder / _FILE).is_symlink():
            complaint = None if (folder / _FILE).exists() else "an error deleted the checkpoint"
        if complaint is None and result.code == 0 and expected is not None:
            is_same = (folder / _OUT / _WEIGHTS).read_bytes() == expected
            complaint = None if is_same else "a changed checkpoint gave another model"
        return complaint

    return check
