"""Run every method briefly and write hashes of what comes out, or compare two such files.

    python scripts/compare_bits.py write before.json     # with the old tree on PYTHONPATH
    python scripts/compare_bits.py write after.json      # with the new one
    python scripts/compare_bits.py compare before.json after.json

Losses, weights and scores must be equal bit for bit on one machine. `write` takes names of methods
to run only those. The exit status of `compare` is 1 if anything differs.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import agnn
from agnn.data import NodeData, Split, load_dataset
from agnn.methods import Method, Task, get_method, method_names

SEEDS = (3, 11)
# Fields that make a run short; each is applied to the methods that have it.
SHORT = {
    "epochs": 12, "label_batches": 10, "walk_batches": 5, "label_pretraining": 0.005,
    "walk_pretraining": 0.05, "walks_per_node": 1, "passes": 1, "layers": 3, "samples": 20,
    "iterations": 3,
}  # fmt: skip
# On Cora this takes long however short it is.
SMALL_GRAPH_ONLY = ("graph2gauss",)


def main(arguments: list[str]) -> int:
    """Run the mode that the first argument names."""
    if len(arguments) >= 2 and arguments[0] == "write":
        found = dict(hashes(arguments[2:]))
        Path(arguments[1]).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(f"{len(found)} runs of {Path(agnn.__file__).parent}")
        return 0
    if len(arguments) == 3 and arguments[0] == "compare":
        before, after = (json.loads(Path(file).read_text("utf-8")) for file in arguments[1:])
        return compare(before, after)
    print(__doc__, file=sys.stderr)
    return 2


def hashes(names: list[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """The hashes of each run by its name."""
    torch.set_num_threads(2)
    for name in names or method_names():
        for case, data, splits, method in cases(name):
            start = time.perf_counter()
            outcome = method.run(Task(data, splits, SEEDS))
            print(f"{name} {case}: {time.perf_counter() - start:.1f} s", file=sys.stderr)
            yield f"{name} {case}", parts(outcome)


def cases(name: str) -> Iterator[tuple[str, NodeData, tuple[Split, Split], Method]]:
    """Defaults on a small random graph, and on Cora each setting's preset."""
    method, small = get_method(name), random_graph()
    one, other = small.split("fixed"), small.split("other")
    yield "random graph, one split", small, (one, one), short(method())
    yield "random graph, two splits", small, (one, other), short(method())
    if name in SMALL_GRAPH_ONLY:
        return
    seen: list[Method] = []
    cora = load_dataset("cora")
    fixed = cora.split("fixed")
    for setting in ("fixed", "random", "cross-validation"):
        preset = short(method.preset(setting, "cora"))
        if preset not in seen:
            seen.append(preset)
            yield f"Cora, {setting}", cora, (fixed, fixed), preset


def short(method: Method) -> Method:
    """The method with few epochs, layers and batches."""
    return method.with_fields(
        **{field: min(most, getattr(method, field)) for field, most in SHORT.items()
           if hasattr(method, field)}
    )  # fmt: skip


def random_graph(nodes: int = 150) -> NodeData:
    """Three classes; neighbours are mostly of the same class."""
    source = np.random.default_rng(7)
    labels = source.integers(3, size=nodes)
    features = source.random((nodes, 30)) * (source.random((nodes, 30)) < 0.15)
    features[np.arange(nodes), 10 * labels + source.integers(10, size=nodes)] += 1.0
    i, j = source.integers(5, nodes, size=(2, 4 * nodes))
    is_kept = (labels[i] == labels[j]) | (source.random(i.size) < 0.2)
    orders = {name: source.permutation(nodes) for name in ("fixed", "other")}
    splits = {name: Split(name, o[:30], o[30:80], o[80:]) for name, o in orders.items()}
    return NodeData.build(
        name="random", features=features, labels=labels, edges=[i[is_kept], j[is_kept]],
        class_names=("red", "green", "blue"), splits=splits,
    )  # fmt: skip


def parts(outcome: Any) -> dict[str, str]:
    """Hashes of scores, weights and what training saw."""
    found = {"scores": digest(outcome.scores)}
    if outcome.model is not None:
        for name, value in outcome.model.state_dict().items():
            found[f"weight {name}"] = digest(value)
    if outcome.history is not None:
        for name in ("training_loss", "watched_accuracy", "watched_loss", "selected_epochs"):
            found[name] = digest(getattr(outcome.history, name))
    return found


def digest(values: torch.Tensor) -> str:
    """Shape, type and bytes in one hash."""
    array = np.ascontiguousarray(values.detach().cpu().numpy())
    hasher = hashlib.sha256(f"{array.dtype} {array.shape} ".encode())
    hasher.update(array.tobytes())
    return hasher.hexdigest()


def compare(before: dict[str, dict[str, str]], after: dict[str, dict[str, str]]) -> int:
    """Print what differs; 1 if anything does or a run of `before` is missing."""
    different = 0
    for run, old in before.items():
        new = after.get(run)
        if new is None:
            print(f"{run}: missing in the second file")
            different += 1
            continue
        changed = [part for part in {**old, **new} if old.get(part) != new.get(part)]
        if changed:
            print(f"{run}: {', '.join(changed)}")
            different += 1
    added = [run for run in after if run not in before]
    print(f"{len(before)} runs compared, {different} differ; {len(added)} new in the second file")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
