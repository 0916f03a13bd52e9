"""Damaged and hostile layouts in a run folder: `agnn share` then computes its own.

No checksum covers map.npz, so whatever is in its place, the page must be that of a folder without.
"""

from __future__ import annotations

import io
import os
import random
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from forked import Case, Result, finished
from mutants import changed_bytes

SHARE = ["share", "run", "--nodes", "p1,p4", "--out", "page.html"]
_KINDS = ("f4", "f8", "i4", "U3", "S2", "c8", "?", "datetime64[s]", "timedelta64[s]", "O")


def cases(source: random.Random, base: Path, work: Path, count: int) -> Iterator[Case]:
    """That many cases, each in a folder of its own."""
    shared = work / "shared"
    if count:
        shutil.copytree(base / "run", shared / "run")
        finished(_shared_page, shared)
    for number in range(count):
        folder = work / f"map-{number}"
        shutil.copytree(base / "run", folder / "run")
        kind = [_bytes, _arrays, _instead][number % 3]
        kind(source, shared / "run" / "map.npz", folder / "run" / "map.npz")
        check = _check(folder / "page.html", shared / "page.html")
        yield Case(f"map {kind.__name__[1:]} {number}", folder, [SHARE], check)


def _shared_page() -> int:
    from agnn.cli import main

    return main(SHARE)


def _check(made: Path, expected: Path) -> Callable[[Result], str | None]:
    def check(result: Result) -> str | None:
        found = result.complaint(allowed=(0,))
        if found is None and made.read_bytes() != expected.read_bytes():
            found = "wrong load: a stranger's map is on the page"
        return found

    return check


def _bytes(source: random.Random, good: Path, path: Path) -> None:
    path.write_bytes(changed_bytes(source, good.read_bytes()))


def _arrays(source: random.Random, good: Path, path: Path) -> None:
    """One array of another type, shape or order, with the right fingerprint."""
    with np.load(good) as file:
        arrays: dict[str, Any] = dict(file)
    name = source.choice(["nodes", "places"])
    old = arrays[name]
    wrong = [
        old[::-1] + 0, old[:-1], np.concatenate([old, old]), old[None], np.zeros_like(old[:0]),
        old.astype(source.choice([kind for kind in _KINDS if kind[0] != old.dtype.kind])),
        np.full_like(old, 10**9 if name == "nodes" else np.nan), np.zeros(len(old), "i8,f4"),
    ]  # fmt: skip
    if name == "places":
        wrong[0] = old.astype(complex)  # places in another order are as good as any
    arrays[name] = source.choice(wrong)
    if source.random() < 0.2:
        arrays = {source.choice(["x", "nodes.npy"]): np.zeros(source.choice([1, 10**7]))} | arrays
    if source.random() < 0.2:
        del arrays[source.choice(["of", "how", name])]
    save = source.choice([np.savez, np.savez_compressed])
    save(path, allow_pickle=True, **arrays)


def _instead(source: random.Random, good: Path, path: Path) -> None:
    """Something else in the file's place."""
    header = io.BytesIO()
    shape = (source.choice([10**6, 10**9, 10**12, 10**18]),)
    np.lib.format.write_array_header_1_0(
        header,
        {"descr": source.choice(["<i8", "<f4", "<U9"]), "fortran_order": False, "shape": shape},
    )
    match source.randrange(7):
        case 0:
            os.mkfifo(path)
        case 1:
            path.symlink_to(source.choice(["/dev/zero", "nowhere", "."]))
        case 2:
            path.mkdir()
        case 3:
            path.write_bytes(header.getvalue())
        case 4:
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("nodes.npy", header.getvalue())
                archive.writestr("places.npy", header.getvalue())
        case 5:
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("nodes.npy", header.getvalue() + bytes(5 * 10**7))
        case _:
            path.write_bytes(good.read_bytes()[: source.randrange(100)])
