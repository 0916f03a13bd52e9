"""Peak memory of every process of a training on a folder of parts, from its start to the saved run.

    python -m benchmarks.run_of_parts --nodes 1000000 --edges 5000000 --ranks 4

The tables have text ids, 16 numbers, 8 classes and a split column; the network has two layers of
width 16. They are divided by
`agnn partition`; then `agnn train PARTS --ranks N --out RUN`, `agnn predict RUN --out FILE` and
`agnn explain RUN NODE` run as a user would run them, and VmHWM of each of their processes is read
until it ends.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

FEATURES = 16
CLASSES = 8


def main() -> None:
    """Print the peaks in MiB of a training, its predictions and an explanation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=5_000_000)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--method", default="agnn")
    parser.add_argument("--order", default="given")
    parser.add_argument("--folder", type=Path, help="where to keep tables, parts and run")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = given.folder or Path(temporary)
        result = measure(home, given)
    sys.stdout.write(json.dumps(result, indent=2) + "\n")


def measure(home: Path, given: argparse.Namespace) -> dict[str, Any]:
    """Return the peaks of partition, training, prediction and explanation in `home`."""
    home.mkdir(exist_ok=True)
    parts = home / "parts"
    run = home / "run"
    result: dict[str, Any] = {"nodes": given.nodes, "edges": given.edges, "ranks": given.ranks}
    if not parts.exists():
        write_tables(home, given.nodes, given.edges)
        tables = ["--nodes", str(home / "nodes.parquet"), "--edges", str(home / "edges.parquet")]
        columns = ["--label", "topic", "--split-column", "part", "--order", given.order]
        sizes = ["--parts", str(given.ranks), "--memory", "1GB"]
        partition = ["partition", *tables, *columns, *sizes, "--out", str(parts), "--quiet"]
        result["partition"] = peaks(partition)
    options = ["--method", given.method, "--epochs", str(given.epochs), "--replicas", "1"]
    options += ["--set", "layers=2", "--set", "hidden=16"]
    ranks = ["--ranks", str(given.ranks), "--quiet"]
    result["train"] = peaks(["train", str(parts), *options, *ranks, "--out", str(run)])
    result["predict"] = peaks(["predict", str(run), "--out", str(home / "predictions.csv")])
    result["explain"] = peaks(["explain", str(run), "user:5@example"])
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    result["accuracy"] = config["accuracy"]["mean"]
    return result


def write_tables(folder: Path, nodes: int, edges: int) -> None:
    """Write a random graph with communities as Parquet: classes can be learned, roughly."""
    import pyarrow
    from pyarrow import parquet

    draw = np.random.default_rng(0)
    topic = draw.integers(0, CLASSES, nodes)
    centres = draw.standard_normal((CLASSES, FEATURES))
    ids = pyarrow.array([f"user:{k}@example" for k in range(nodes)])
    columns: dict[str, Any] = {"id": ids, "topic": pyarrow.array([f"topic-{t}" for t in topic])}
    shares = draw.random(nodes)
    parts = np.where(shares < 0.1, "train", np.where(shares < 0.2, "validation", "test"))
    columns["part"] = pyarrow.array(parts.astype(object))
    for k in range(FEATURES):
        numbers = centres[topic, k] + 3 * draw.standard_normal(nodes)
        columns[f"x{k}"] = pyarrow.array(numbers.astype(np.float32))
    parquet.write_table(pyarrow.table(columns), folder / "nodes.parquet")
    source = draw.integers(0, nodes, edges)
    near = (source + draw.integers(1, 200, edges)) % nodes
    target = np.where(draw.random(edges) < 0.7, near, draw.integers(0, nodes, edges))
    ends = {"source": ids.take(pyarrow.array(source)), "target": ids.take(pyarrow.array(target))}
    parquet.write_table(pyarrow.table(ends), folder / "edges.parquet")


def peaks(arguments: list[str]) -> dict[str, Any]:
    """Run `agnn` with these arguments; return its seconds and the VmHWM of every process in MiB."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "agnn", *arguments]
    with subprocess.Popen(command) as process:  # noqa: S603 (ours)
        largest: dict[int, float] = {}
        while process.poll() is None:
            for pid in _descendants(process.pid):
                largest[pid] = _peak(pid) or largest.get(pid, 0.0)
            time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"agnn {arguments[0]} failed with {process.returncode}")
    parent = largest.pop(process.pid)
    return {
        "seconds": round(time.perf_counter() - start, 1),
        "first process, MiB": round(parent),
        "others, MiB": sorted((round(size) for size in largest.values()), reverse=True),
    }


def _peak(pid: int) -> float | None:
    """Return the peak of a process so far in MiB; None once it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        return int(status.split("VmHWM:")[1].split()[0]) / 1024
    except (OSError, IndexError):
        return None


def _descendants(root: int) -> list[int]:
    """Return a process and all that it has started, directly or not."""
    children: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                fields = Path(entry.path, "stat").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            parent = int(fields.rsplit(")", 1)[1].split()[1])
            children.setdefault(parent, []).append(int(entry.name))
    processes = [root]
    for process in processes:
        processes += children.get(process, [])
    return processes


if __name__ == "__main__":
    main()
