"""`agnn partition` on tables with text ids: time and memory for growing numbers of edges.

    python -m benchmarks.partitioning --edges 1000000,10000000,100000000 --memory 4GB

The tables are written first: a tenth as many nodes as edges, four numbers, a label and a split per
node, four in five edges inside one of 1,000 communities. 100 M edges are 4 GB of CSV.
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
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

_AT_ONCE = 1_000_000
_COMMUNITIES = 1000
_MAIN = "import sys; from agnn.cli import main; sys.exit(main(sys.argv[1:]))"


def main() -> None:
    """Print a JSON object per number of edges."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", default="1000000,10000000,100000000")
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--parts", type=int, default=64)
    parser.add_argument("--order", default="streaming")
    parser.add_argument(
        "--folder", type=Path, help="for the tables and parts; else a temporary one"
    )
    given = parser.parse_args()
    for edges in map(int, given.edges.split(",")):
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            home = Path(folder)
            write_tables(home, edges)
            made = partitioned(home, given.parts, given.order, given.memory)
        sys.stdout.write(json.dumps({"edges as given": edges, **made}) + "\n")
        sys.stdout.flush()


def write_tables(folder: Path, edges: int, seed: int = 0) -> None:
    """nodes.csv and edges.csv of a random graph of communities."""
    nodes, draw = max(edges // 10, _COMMUNITIES), np.random.default_rng(seed)
    home = draw.integers(_COMMUNITIES, size=nodes)
    members = np.argsort(home, kind="stable")
    starts = np.searchsorted(home[members], np.arange(_COMMUNITIES + 1))
    kinds = {"id": pa.string(), **dict.fromkeys("abcd", pa.float32())}
    kinds |= {"topic": pa.string(), "part": pa.string()}
    with csv.CSVWriter(folder / "nodes.csv", pa.schema(list(kinds.items()))) as writer:
        for first in range(0, nodes, _AT_ONCE):
            own = np.arange(first, min(nodes, first + _AT_ONCE))
            where = home[own]
            noise = draw.standard_normal((4, own.size), dtype=np.float32)
            columns = [noise[bit] + ((where >> bit) & 1).astype(np.float32) for bit in range(4)]
            topic = np.char.add("t", (where % 16).astype(str))
            part = np.array(["train", "validation", "test", "test"])[
                draw.integers(4, size=own.size)
            ]
            writer.write(pa.table([_names(own), *columns, topic, part], names=list(kinds)))
    ends = ("source", "target")
    with csv.CSVWriter(folder / "edges.csv", pa.schema([(e, pa.string()) for e in ends])) as writer:
        for first in range(0, edges, _AT_ONCE):
            one = draw.integers(nodes, size=min(_AT_ONCE, edges - first))
            low, high = starts[home[one]], starts[home[one] + 1]
            near = members[low + (draw.random(one.size) * (high - low)).astype(np.int64)]
            far = draw.integers(nodes, size=one.size)
            two = np.where(draw.random(one.size) < 0.8, near, far)
            writer.write(pa.table([_names(one), _names(two)], names=list(ends)))


def _names(numbers: Any) -> Any:
    text = pa.array(numbers).cast(pa.string())
    return pc.binary_join_element_wise(pa.scalar("user-"), text, pa.scalar("@x"), "")


def partitioned(folder: Path, parts: int, order: str, memory: str) -> dict[str, Any]:
    """Time, memory and result of `agnn partition` on the tables in a folder."""
    words = [
        "partition", "--nodes", str(folder / "nodes.csv"), "--edges", str(folder / "edges.csv"),
        "--label", "topic", "--split-column", "part", "--parts", str(parts), "--order", order,
        "--memory", memory, "--out", str(folder / "parts"), "--quiet", "--json",
    ]  # fmt: skip
    start = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603 (ours)
        [sys.executable, "-c", _MAIN, *words], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None  # noqa: S101 (a pipe)
    with process.stdout as stream:
        answer = json.loads(stream.read())
    _, process.returncode, used = os.wait4(process.pid, 0)
    return {
        "seconds": round(time.perf_counter() - start, 1),
        "CPU seconds": round(used.ru_utime + used.ru_stime, 1),
        "peak GiB": round(used.ru_maxrss / 2**20, 2),
        "nodes": answer["nodes"],
        "edges": answer["edges"],
        "cut": round(answer["cut"], 3),
    }


if __name__ == "__main__":
    main()
