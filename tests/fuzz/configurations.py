"""Damaged and hostile TOML files for `agnn train --config`.

The method on the command line trains nothing, so that no number in a file takes long.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from forked import Case
from mutants import HOSTILE_CELLS, changed_bytes
from special_files import put_special_file

_FILE = """nodes = "nodes.csv"
edges = "edges.csv"
label = "topic"
text = ["motto"]
split = "stratified"
seed = 3
json = true
quiet = true
replicas = 2

[set]
"""
_KEYS = (
    "nodes", "edges", "label", "text", "split", "seed", "json", "quiet", "class-weight", "epochs",
    "set", "out", "method", "learning_rate", "time", "track", "nothing", "config", "database",
    "ignore", "numeric", "search-file",
)  # fmt: skip
_VALUES = (
    "1", "-1", "1e400", "nan", "inf", "true", '""', '"x"', "[]", "{}", "[1, 'a']", "{a = {b = 1}}",
    "2026-01-01", "07:32:00", "9" * 5_000, "0x" + "f" * 4_000, "[" * 5_000, "[" * 200 + "]" * 200,
    "{a = " * 300 + "1" + "}" * 300, "'''\n\n'''", '"\\u0000"', "[[]]", "9223372036854775808",
)  # fmt: skip


def cases(source: random.Random, base: Path, work: Path, count: int) -> Iterator[Case]:
    """That many cases, each in a folder of its own."""
    for number in range(count):
        folder = work / f"configuration-{number}"
        folder.mkdir()
        for name in ("nodes.csv", "edges.csv"):
            shutil.copy(base / name, folder)
        file = folder / "run.toml"
        key = source.choice(_KEYS)
        match number % 4:
            case 0:
                file.write_bytes(changed_bytes(source, _FILE.encode()))
                kind = "bytes"
            case 1:
                lines = [line for line in _FILE.splitlines() if not line.startswith(f"{key} ")]
                file.write_text("\n".join([f"{key} = {source.choice(_VALUES)}", *lines]))
                kind = f"value of {key}"
            case 2:
                cell = source.choice(HOSTILE_CELLS).replace("\\", "\\\\").replace('"', '\\"')
                text = _FILE + f'hidden = "{cell}"\n' * source.randint(0, 2)
                if source.random() < 0.3:
                    text += "[" + ".".join([key.replace(" ", "")] * 3_000) + "]\n"
                file.write_text(text, encoding="utf-8")
                kind = "tables"
            case _:
                kind = put_special_file(source, file)
        command = ["train", "--config", "run.toml", "--method", "majority", "--replicas", "1"]
        yield Case(f"{kind} {number}", folder, [command])
