"""Training from a folder of parts, memory-mapped, with half of the memory of the ordinary way.

    python -m benchmarks.training_from_parts --nodes 1000000 --edges 10000000

The ordinary way has the whole graph and its features in memory. The other opens the parts as one
rank under a limit on the memory of the process (RLIMIT_DATA: all that is not a mapped file), half
of the peak of the first.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from agnn.data import NodeData, Split
from agnn.distributed import (
    GraphSource,
    PartsFolder,
    partition,
)
from agnn.distributed._ranks import Ranks
from agnn.distributed._rows import RowsTask, train_rows
from agnn.methods import get_method
from agnn.runs import evaluate


def main() -> None:
    """Print seconds per epoch and peak memory of both, and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--method", default="agnn")
    parser.add_argument("--child", choices=("whole", "parts"))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--limit", type=int, default=0)
    given = parser.parse_args()
    if given.child is not None:
        sys.stdout.write(json.dumps((_whole if given.child == "whole" else _parts)(given)))
        return
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "parts"
        source = GraphSource.synthetic(given.nodes, given.edges, given.features)
        partition(source, folder, 4, order="given")
        whole = _child("whole", folder, 0)
        parts = _child("parts", folder, whole["peak bytes"] // 2)
    result = {
        "whole": whole,
        "parts": parts,
        "limit": whole["peak bytes"] // 2,
        "seconds per epoch, ratio": round(parts["epoch"] / whole["epoch"], 2),
        "CPU seconds per epoch, ratio": round(parts["CPU epoch"] / whole["CPU epoch"], 2),
    }
    sys.stdout.write(json.dumps(result, indent=2) + "\n")


def _child(kind: str, folder: Path, limit: int) -> dict[str, Any]:
    words = [*sys.argv[1:], "--child", kind, "--folder", str(folder), "--limit", str(limit)]
    done = subprocess.run(  # noqa: S603 (ours)
        [sys.executable, "-m", "benchmarks.training_from_parts", *words],
        stdout=subprocess.PIPE, check=True, text=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _whole(given: argparse.Namespace) -> dict[str, Any]:
    source = GraphSource.synthetic(given.nodes, given.edges, given.features)
    data = NodeData.build(
        name=source.name,
        features=np.concatenate(list(source.features())),
        labels=source.labels,
        edges=np.concatenate([ends for ends, _ in source.edges()], axis=1),
        class_names=source.class_names,
        splits={"fixed": _split(source.masks)},
    )
    clock = _Clock()
    evaluate(_method(given), data, "fixed", (0,), progress=clock)
    return clock.result()


def _parts(given: argparse.Namespace) -> dict[str, Any]:
    resource.setrlimit(resource.RLIMIT_DATA, (given.limit, given.limit))
    folder = PartsFolder(given.folder)
    part = folder.part(0, 1)
    classes = int(part.labels.max()) + 1
    task = RowsTask(_method(given), classes, (_split(folder.masks()),), (0,))
    clock = _Clock()
    train_rows(task, part, Ranks(device="cpu"), clock)
    return clock.result()


def _method(given: argparse.Namespace) -> Any:
    return get_method(given.method)(epochs=given.epochs, scaling="none")


def _split(masks: Any) -> Split:
    names = ("train", "validation", "test")
    return Split("fixed", *(np.flatnonzero(np.asarray(masks[name])) for name in names))


class _Clock:
    """Times of the epochs, told by the training; the first one also compiles."""

    def __init__(self) -> None:
        self.times: list[tuple[float, float]] = []

    def __call__(self, done: int, total: int) -> None:
        self.times.append((time.perf_counter(), time.process_time()))

    def result(self) -> dict[str, Any]:
        pairs = zip(self.times[:-1], self.times[1:], strict=True)
        steps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairs]
        peak = next(
            int(line.split()[1])
            for line in Path("/proc/self/status").read_text().splitlines()
            if line.startswith("VmHWM")
        )
        return {
            "epoch": round(min(step[0] for step in steps), 3),
            "CPU epoch": round(min(step[1] for step in steps), 3),
            "peak bytes": 1024 * peak,
        }


if __name__ == "__main__":
    main()
