"""`python -m benchmarks.loading`: from two Parquet files with text ids to a graph, timed.

Makes the files first, in a folder that is thrown away. Reading and checking run in a process of
their own, whose peak memory is the figure; what Python and the packages take is in it. On a
busy machine the processor's seconds say more than the clock's.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.machine import machine

_READ = """
import json, resource, sys, time
start = time.perf_counter()
import agnn
from agnn.graph import Graph
data = agnn.read_tables(sys.argv[1], sys.argv[2], label="topic")
read = time.perf_counter()
report = data.report.to_dict()
told = time.perf_counter()
graph = Graph.from_edges(data.edges, data.nodes)
done = time.perf_counter()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps({
    "nodes": data.nodes, "edges": data.edges.shape[1], "stored_edges": graph.edges,
    "features": data.feature_count, "classes": data.classes,
    "read_seconds": read - start, "report_seconds": told - read,
    "graph_seconds": done - told, "seconds": done - start,
    "processor_seconds": time.process_time(), "peak_gib": peak,
}))
"""


def main() -> None:
    """Make the tables, read them once in a fresh process, print the figures as JSON."""
    parser = argparse.ArgumentParser(description="Time the way from Parquet to a graph.")
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--features", type=int, default=16)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agnn-loading-") as folder:
        files = make_tables(Path(folder), options.nodes, options.edges, options.features)
        command = [sys.executable, "-c", _READ, *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 (ours)
        figures = json.loads(done.stdout)
        figures["file_mib"] = sum(file.stat().st_size for file in files) / 2**20
    sys.stdout.write(json.dumps({"machine": machine(), **figures}, indent=2) + "\n")


def make_tables(folder: Path, nodes: int, edges: int, features: int) -> tuple[Path, Path]:
    """A random graph with text ids, ten topics, a fifth of them known, as two Parquet files."""
    import numpy as np
    import pyarrow as arrow
    import pyarrow.compute as compute
    import pyarrow.parquet as parquet

    source = np.random.default_rng(0)
    numbers = arrow.array(source.permutation(nodes)).cast(arrow.string())
    ids = compute.binary_join_element_wise("user-", numbers, "")
    hidden = arrow.array(source.random(nodes) >= 0.2)
    topics = arrow.array([f"topic {k}" for k in range(10)]).take(
        arrow.array(source.integers(10, size=nodes))
    )
    columns = {"id": ids, "topic": compute.if_else(hidden, None, topics)}
    for k in range(features):
        columns[f"x{k}"] = arrow.array(source.standard_normal(nodes).astype(np.float32))
    parquet.write_table(arrow.table(columns), folder / "nodes.parquet")
    ends = source.integers(nodes, size=(2, edges))
    named = {
        end: ids.take(arrow.array(each))
        for end, each in zip(("source", "target"), ends, strict=True)
    }
    parquet.write_table(arrow.table(named), folder / "edges.parquet")
    return folder / "nodes.parquet", folder / "edges.parquet"


if __name__ == "__main__":
    main()
