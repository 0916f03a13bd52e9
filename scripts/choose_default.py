"""Compare settings of AGNN+ on labels that choose nothing, never on a fixed test node.

    python scripts/choose_default.py --data FOLDER --splits 20 --out choice.json

FOLDER holds development graphs as .npz files; Cora, CiteSeer and PubMed come with the package and
are used without the 1,000 test nodes of their fixed splits. Every split has 20 training nodes per
class, 30 others per class that choose the epoch, and 50 others per class that are scored. Prints
one line per setting: the mean accuracy of every graph, and the difference from the default with
its standard error over all splits, paired by split.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import agnn
from agnn.data import NodeData, Split
from agnn.metrics import replica_values
from agnn.runs import Training

TRAIN, CHOOSE, SCORE = 20, 30, 50  # nodes per class

# What a user could set differently, one change at a time.
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "weight decay 0.0005": {"weight_decay": 5e-4},
    "weight decay 0.001": {"weight_decay": 1e-3},
    "weight decay 0.005": {"weight_decay": 5e-3},
    "strength 0.5": {"strength": 0.5},
    "strength 1": {"strength": 1.0},
    "strength 3": {"strength": 3.0},
    "no consistency": {"strength": 0.0},
    "temperature 0.3": {"temperature": 0.3},
    "2 layers": {"layers": 2},
    "6 layers": {"layers": 6},
    "8 layers": {"layers": 8},
    "width 32": {"hidden": 32},
    "row dropout 0.3": {"row_dropout": 0.3},
    "every node counts": {"confidence": 0.0},
    "patience 100": {"patience": 100},
    "epoch by accuracy alone": {"loss_weight": 0.0},
    "rows that sum to 1": {"scaling": "sum"},
}


def main() -> None:
    """Train every setting on every graph and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of further graphs, .npz")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--settings", nargs="*", choices=list(SETTINGS), default=list(SETTINGS))
    parser.add_argument("--out", type=Path, help="JSON file for every split's accuracy")
    options = parser.parse_args()
    graphs = dict(development_graphs(options.data))
    accuracies: dict[str, dict[str, list[float]]] = {}
    print("setting".ljust(26), *(name.rjust(14) for name in graphs), "mean".rjust(7), "difference")
    for setting in options.settings:
        start = time.perf_counter()
        accuracies[setting] = {
            name: held_out_accuracy(data, usable, options.splits, SETTINGS[setting])
            for name, (data, usable) in graphs.items()
        }
        line = summary(accuracies[setting], accuracies.get("default"))
        print(setting.ljust(26), line, f"({time.perf_counter() - start:.0f} s)", flush=True)
        if options.out:
            options.out.write_text(json.dumps(accuracies, indent=1) + "\n", encoding="utf-8")


def development_graphs(folder: Path | None) -> Iterator[tuple[str, tuple[NodeData, np.ndarray]]]:
    """Yield every graph with the labelled nodes that may be used: never a fixed test node."""
    for name in ("cora", "citeseer", "pubmed"):
        data = agnn.load_dataset(name)
        labelled = np.flatnonzero(data.labels >= 0)
        # Under another name the data has no preset: the default is what is to be judged.
        others = replace(data, name=f"{name} without its test nodes")
        yield name, (others, np.setdiff1d(labelled, data.splits["fixed"].test))
    for file in sorted(folder.glob("*.npz")) if folder else ():
        data = agnn.read_graph(file)
        yield file.stem, (data, np.flatnonzero(data.labels >= 0))


def held_out_accuracy(
    data: NodeData, usable: np.ndarray, count: int, changes: Mapping[str, Any]
) -> list[float]:
    """Return the accuracy on the scored nodes of every split, one replica each."""
    splits = tuple(draw_split(data, usable, seed) for seed in range(count))
    method = agnn.methods.get_method("agnn_plus")().suited(data).with_fields(**changes)
    training = Training(data=data, method=method, split=splits[0], seeds=range(count))
    run = replace(training.plan(), splits=splits).train()
    return [float(v) for v in replica_values("accuracy", run.scores, data, splits)]


def draw_split(data: NodeData, usable: np.ndarray, seed: int) -> Split:
    """Draw the training, choosing and scored nodes of every class."""
    generator = np.random.default_rng(seed)
    parts: tuple[list[int], ...] = ([], [], [])
    for label in range(data.classes):
        nodes = generator.permutation(usable[data.labels[usable] == label])
        ends = np.cumsum([TRAIN, CHOOSE, SCORE])
        if nodes.size < ends[1] + 10:
            raise SystemExit(f"class {label} of {data.name} has only {nodes.size} usable labels.")
        for part, chosen in zip(parts, np.split(nodes, ends)[:3], strict=True):
            part += chosen.tolist()
    return Split(f"draw {seed}", *map(np.array, parts), seed=seed)


def summary(ours: Mapping[str, list[float]], default: Mapping[str, list[float]] | None) -> str:
    """Return the mean of every graph, their mean, and the paired difference from the default."""
    means = [np.mean(values) for values in ours.values()]
    difference = ""
    if default is not None and default is not ours:
        pairs = np.array([np.subtract(ours[name], default[name]) for name in ours])
        # Graphs count alike: the variance of the mean over graphs of their means over splits.
        error = np.sqrt((pairs.var(axis=1, ddof=1) / pairs.shape[1]).sum()) / len(pairs)
        difference = f"{pairs.mean():+.2f} ± {error:.2f}"
    return " ".join([*(f"{m:14.1f}" for m in means), f"{np.mean(means):7.2f}", difference])


if __name__ == "__main__":
    main()
