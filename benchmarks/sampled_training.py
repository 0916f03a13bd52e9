"""Training on sampled neighbourhoods beside exact training: memory, accuracy and time.

    python -m benchmarks.sampled_training --nodes 100000 --sampled-epochs 30
    python -m benchmarks.sampled_training --nodes 1000000 --sampled-epochs 5

The graph is a planted partition: ten classes, 20 neighbours per node, 40 % of them drawn from its
own class, and 32 noisy features. A tenth of the nodes each train and validate, the rest is tested.
Each way runs in a process of its own; its memory is what the training adds at its peak to the data
that the process has already. A sampled epoch has a step per batch, so it has a lower learning rate.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import numpy as np

from agnn._allocator import return_freed_memory
from agnn.data import NodeData, Split
from agnn.methods import Method, Task, get_method
from agnn.metrics import replica_values

CLASSES: Final = 10
WIDTH: Final = 32


def planted_partition(nodes: int, degree: int = 20, inside: float = 0.4, seed: int = 0) -> NodeData:
    """Classes of about equal size; `inside` of the neighbours of a node are of its own class."""
    source = np.random.default_rng(seed)
    labels = source.integers(CLASSES, size=nodes)
    members = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels, minlength=CLASSES)
    starts = np.cumsum(sizes) - sizes
    i = source.integers(nodes, size=nodes * degree // 2)
    own = labels[i]
    alike = members[starts[own] + (source.random(i.size) * sizes[own]).astype(np.int64)]
    j = np.where(source.random(i.size) < inside, alike, source.integers(nodes, size=i.size))
    centres = source.standard_normal((CLASSES, WIDTH), dtype=np.float32)
    features = 0.25 * centres[labels] + source.standard_normal((nodes, WIDTH), dtype=np.float32)
    order, part = source.permutation(nodes), nodes // 10
    split = Split("fixed", order[:part], order[part : 2 * part], order[2 * part :])
    return NodeData.build(
        name="planted partition", features=features, labels=labels, edges=np.stack([i, j]),
        splits={"fixed": split}, class_names=[str(label) for label in range(CLASSES)],
    )  # fmt: skip


def resident(key: str) -> int:
    """Bytes: `VmRSS` is what the process has, `VmHWM` the most that it had."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) * 1024


def measured(method: Method, data: NodeData) -> dict[str, Any]:
    """Memory, accuracy and time of one training."""
    task = Task(data, (data.split("fixed"),), (0,))
    gc.collect()
    return_freed_memory()  # what making the data has left is no part of it
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
    before, start = resident("VmRSS"), time.perf_counter()
    outcome = method.run(task)
    seconds = time.perf_counter() - start
    epochs = 0 if outcome.history is None else len(outcome.history.training_loss)
    accuracy = replica_values("accuracy", outcome.scores, data, task.splits)[0]
    return {
        "added GiB": round((resident("VmHWM") - before) / 2**30, 3),
        "process GiB": round(resident("VmHWM") / 2**30, 3),
        "accuracy": round(accuracy, 2),
        "seconds": round(seconds, 1),
        "epochs": epochs,
        "estimated GiB": round(getattr(method, "memory_estimate")(task).total / 2**30, 3),  # noqa: B009
    }


def methods_of(given: argparse.Namespace) -> dict[str, Method]:
    """The exact and the sampled form of one method."""
    base = get_method(given.method)().with_fields(hidden=given.hidden, scaling="none")
    if given.method.startswith("agnn"):
        base = base.with_fields(layers=2, patience=given.epochs)
    if given.method == "agnn_plus":
        base = base.with_fields(strength=0.0)
    if given.method in ("gcn", "gln"):
        base = base.with_fields(window=given.epochs)
    fanout = tuple(int(each) for each in given.fanout.split(","))
    return {
        "exact": base.with_fields(epochs=given.epochs),
        "sampled": base.with_fields(
            epochs=given.sampled_epochs,
            batch=given.batch,
            fanout=fanout,
            learning_rate=given.sampled_rate,
        ),
    }


def main() -> None:
    """Print both, and their ratios."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--method", default="agnn")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--sampled-epochs", type=int, default=15)
    parser.add_argument("--sampled-rate", type=float, default=0.003, help="learning rate")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--fanout", default="15,10")
    parser.add_argument("--child", choices=("exact", "sampled"))
    given = parser.parse_args()
    if given.child is not None:
        method = methods_of(given)[given.child]
        measured(method.with_fields(epochs=1), planted_partition(2000))  # compiles
        sys.stdout.write(json.dumps(measured(method, planted_partition(given.nodes))))
        return
    found = {kind: _child(kind) for kind in ("exact", "sampled")}
    exact, sampled = found["exact"], found["sampled"]
    result = {
        **found,
        "memory, ratio": round(sampled["added GiB"] / exact["added GiB"], 3),
        "accuracy, difference": round(sampled["accuracy"] - exact["accuracy"], 2),
    }
    sys.stdout.write(json.dumps(result, indent=2) + "\n")


def _child(kind: str) -> dict[str, Any]:
    done = subprocess.run(  # noqa: S603 (ours)
        [sys.executable, "-m", "benchmarks.sampled_training", *sys.argv[1:], "--child", kind],
        stdout=subprocess.PIPE, check=True, text=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    main()
