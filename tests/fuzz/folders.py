"""Damaged and tampered run folders for `agnn predict`, `explain` and `report`.

A folder whose bytes differ from what was written is refused, or gives the same predictions. One
whose checksums were computed again may load, but without tracebacks, hangs or NaN.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from forked import Case, Result
from inputs import PREDICT, wrong_probabilities
from mutants import changed_bytes, changed_json


def cases(source: random.Random, base: Path, work: Path, count: int) -> Iterator[Case]:
    """That many cases, each in a folder of its own."""
    expected = (base / "predictions.csv").read_bytes()
    for number in range(count):
        folder = work / f"folder-{number}"
        shutil.copytree(base / "run", folder / "run")
        kind = [_bytes, _structure, _weights, _extra][number % 4]
        name = kind(source, folder / "run")
        is_signed = number % 8 >= 4
        if is_signed:
            sign(folder / "run")
        command = PREDICT
        if is_signed and source.random() < 0.3:
            command = source.choice(
                [["explain", "run", "p4", "--json"], ["report", "run", "--out", "page.html"]]
            )
        check = _check(folder, None if is_signed else expected)
        yield Case(f"{name} {number}", folder, [command], check)


def sign(run: Path) -> None:
    """Compute the checksums of a folder again, as somebody would who tampers with it."""
    path = run / "config.json"
    if not path.is_file() or path.is_symlink():  # a device would be read without end
        return
    try:
        config = json.loads(path.read_bytes())
        stored = config.pop("sha256")
        own = hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()
        files = {
            each.name: hashlib.sha256(each.read_bytes()).hexdigest()
            for each in sorted(run.iterdir())
            if each.name != path.name and each.is_file() and not each.is_symlink()
        }
        config["sha256"] = {**stored, "config": own, "files": files}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return  # too damaged to be signed
    path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def _check(folder: Path, expected: bytes | None) -> Callable[[Result], str | None]:
    def check(result: Result) -> str | None:
        found = result.complaint()
        made = folder / "predictions.csv"
        if found is None and result.code == 2 and made.exists():
            found = "half-written: predictions after an error"
        if found is None and result.code == 0 and made.exists():
            found = wrong_probabilities(made)
            if found is None and expected is not None and made.read_bytes() != expected:
                found = "wrong load: a changed folder gave other predictions"
        return found

    return check


def _bytes(source: random.Random, run: Path) -> str:
    path = source.choice(sorted(run.iterdir()))
    path.write_bytes(changed_bytes(source, path.read_bytes()))
    return f"bytes of {path.name}"


def _structure(source: random.Random, run: Path) -> str:
    path = source.choice(sorted(run.glob("*.json")))
    document = changed_json(source, json.loads(path.read_bytes()))
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return f"values of {path.name}"


def _weights(source: random.Random, run: Path) -> str:
    import torch
    from safetensors.torch import load_file, save_file

    path = source.choice(sorted(run.glob("*.safetensors")))
    tensors: dict[str, Any] = load_file(path)
    name = source.choice(sorted(tensors))
    old = tensors[name]
    tensors[name] = source.choice(
        [
            torch.full_like(old.float(), float("nan")), old.double(), old[:0].clone(),
            torch.zeros_like(old), old.flatten().clone(), old.half(), old.repeat(2, *[1] * 0)
            if old.dim() == 1 else old.clone(), torch.full_like(old.float(), float("inf")),
            old.to(torch.int64),
        ]
    )  # fmt: skip
    if source.random() < 0.2:
        del tensors[name]
    if source.random() < 0.1:
        tensors["extra"] = torch.zeros(3)
    save_file(tensors, path)
    return f"tensors of {path.name}"


def _extra(source: random.Random, run: Path) -> str:
    """A file more, one less, a link or a folder in its place."""
    names = sorted(each.name for each in run.iterdir())
    name = source.choice(names)
    match source.randrange(5):
        case 0:
            (run / source.choice(["extra.txt", "scores.safetensors", "x.json"])).write_bytes(b"{}")
            return "a file more"
        case 1:
            (run / name).unlink()
            return f"without {name}"
        case 2:
            (run / name).unlink()
            (run / name).mkdir()
            return f"a folder as {name}"
        case 3:
            (run / name).unlink()
            (run / name).symlink_to("/dev/zero" if source.random() < 0.5 else "nowhere")
            return f"a link as {name}"
        case _:
            other = source.choice(names)
            shutil.copy(run / other, run / f"{name}.copy")
            (run / f"{name}.copy").replace(run / name)
            return f"{other} as {name}"
