"""Print, as JSON, the peak and the estimated memory of a short training of each network.

Run as a program, since the peak of a process cannot be measured while tests share it.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
from pathlib import Path

import numpy as np
import torch
from scipy.sparse import csr_array

from agnn.data import NodeData, Split
from agnn.methods import Method, Task, get_method


def random_data(
    nodes: int, edges: int, features: int, entries: int, classes: int, *, is_weighted: bool
) -> NodeData:
    source = np.random.default_rng(0)
    rows = np.repeat(np.arange(nodes), entries)
    columns = source.integers(features, size=rows.size)
    x = csr_array((np.ones(rows.size, np.float32), (rows, columns)), shape=(nodes, features))
    order, part = source.permutation(nodes), nodes // 50
    split = Split("fixed", order[:part], order[part : 2 * part], order[2 * part :])
    weights = source.uniform(0.5, 2.0, edges) if is_weighted else None
    return NodeData.build(
        name="random", features=x, labels=source.integers(classes, size=nodes),
        edges=source.integers(nodes, size=(2, edges)), edge_weights=weights,
        splits={"fixed": split},
        class_names=[str(label) for label in range(classes)],
    )  # fmt: skip


def resident(key: str) -> int:
    """Bytes: `VmRSS` is what the process has, `VmHWM` the most that it had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) * 1024


def give_back_freed_memory() -> None:
    """Return what earlier runs freed to the system: what is left would not count as new."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
    if trim is not None:
        trim(0)


def measured(method: Method, data: NodeData) -> tuple[int, int]:
    """The memory that a run adds at its peak, and its estimate."""
    task = Task(data, (data.split("fixed"),) * 2, (0, 1))
    gc.collect()
    give_back_freed_memory()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = resident("VmRSS")
    method.run(task)
    return resident("VmHWM") - before, method.memory_estimate(task).total


if __name__ == "__main__":
    torch.set_num_threads(1)
    found = {}
    for name in sys.argv[1:]:
        short = get_method(name)().with_fields(epochs=2)
        weighted = short.uses_edge_weights
        # The first one compiles and loads what a first run needs.
        measured(short, random_data(60, 150, 9, 3, 3, is_weighted=weighted))
        found[name] = measured(short, random_data(12_000, 40_000, 90, 9, 12, is_weighted=weighted))
    print(json.dumps(found))  # noqa: T201 (read by the test)
