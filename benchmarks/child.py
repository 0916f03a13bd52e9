"""What has to be measured in a process of its own: `python -m benchmarks.child memory|compile`.

Each prints one JSON object. torch_geometric is not imported here.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter


def memory() -> dict[str, float]:
    """Peak memory, in GiB, of training and scoring 100 replicas of PubMed for three epochs."""
    from agnn.data import load_dataset
    from agnn.networks import AGNN
    from agnn.runs import evaluate

    method = AGNN.preset("fixed", "pubmed").with_fields(epochs=3)
    evaluate(method, load_dataset("pubmed"), "fixed", range(100))
    # The high-water mark of this program alone: what getrusage reports is never less than the
    # peak of the process that started it, and that one has loaded the peer.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return {"gib": int(line.split()[1]) / 2**20}


def compile_kernels() -> dict[str, float]:
    """Seconds that the first epoch of AGNN and of GCN on Cora takes more than the second."""
    import numba  # noqa: F401 (its own import is not compilation)

    from agnn.data import load_dataset
    from agnn.networks import AGNN, GCN
    from benchmarks.ours import training_run

    data, extra = load_dataset("cora"), 0.0
    for method in (AGNN.preset("fixed", "cora"), GCN()):
        run = training_run(method, data)
        marks = [perf_counter()]
        for _ in range(2):
            run.epoch()
            marks.append(perf_counter())
        extra += (marks[1] - marks[0]) - (marks[2] - marks[1])
    return {"seconds": extra}


if __name__ == "__main__":
    from agnn._allocator import keep_freed_memory

    keep_freed_memory()  # as the program `agnn` does
    chosen = {"memory": memory, "compile": compile_kernels}[sys.argv[1]]
    sys.stdout.write(json.dumps(chosen()) + "\n")
