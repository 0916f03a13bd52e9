"""Compare cross-fitting with splits of 60, 20 and 20 % where few labels are known.

    python scripts/measure_cross_fitting.py [FOLDER] [--draws 10] [--device cuda]

Of Cora, CiteSeer, PubMed and the .npz graphs in FOLDER, 10 or 50 labels per class in the mean are
drawn at random (at least three of each class) and all others are hidden. The default method is
trained with ten replicas on each kind of split, and scored on the hidden labels: the ensemble, one
replica, and how far the accuracy that the run reports is from that of one replica.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import agnn
from agnn.data import NodeData

SPLITS = ("stratified", "cross-fit")


def main() -> None:
    """Print a row per graph and number of labels."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="with .npz graphs")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    print("| graph | labels | ensemble | one replica | reported less true |\n|---|---|---|---|---|")
    for per_class in (10, 50):
        for data in graphs(options.folder):
            draws = [
                [measure(data, per_class, draw, split, options.device) for split in SPLITS]
                for draw in range(options.draws)
            ]
            values = np.array(draws)  # [draws, splits, ensemble, replica and difference]
            cells = [cell(values[:, :, k]) for k in range(3)]
            print(f"| {data.name} | {per_class * data.classes} | {' | '.join(cells)} |", flush=True)


def graphs(folder: Path | None) -> Iterator[NodeData]:
    """Return the bundled graphs, then those in the folder."""
    for name in ("cora", "citeseer", "pubmed"):
        yield agnn.load_dataset(name)
    for file in sorted(folder.glob("*.npz")) if folder else ():
        yield agnn.read_graph(file)


def measure(
    data: NodeData, per_class: int, draw: int, split: str, device: str
) -> tuple[float, float, float]:
    """Return the accuracy of ensemble and replica at hidden labels, and the reported one's bias."""
    known = draw_labels(data, per_class, np.random.default_rng(1000 * draw + per_class))
    hidden = np.setdiff1d(data.labelled, known)
    labels = np.full(data.nodes, -1)
    labels[known] = data.labels[known]
    labels.setflags(write=False)
    few = replace(data, labels=labels, splits={}, dataset=None)
    run = agnn.evaluate(None, few, split, replicas=10, device=device)
    truth = data.labels[hidden]
    ensemble = 100 * float((run.probabilities[hidden].argmax(1) == truth).mean())
    replica = 100 * float((run.scores.argmax(-1).numpy()[:, hidden] == truth).mean())
    return ensemble, replica, run.accuracy.mean - replica


def draw_labels(data: NodeData, per_class: int, source: np.random.Generator) -> np.ndarray:
    """Return nodes drawn uniformly, with a few more of classes that have fewer than three."""
    order = source.permutation(data.labelled)
    drawn = order[: per_class * data.classes]
    rest = order[drawn.size :]
    for label in range(data.classes):
        missing = 3 - int((data.labels[drawn] == label).sum())
        drawn = np.concatenate([drawn, rest[data.labels[rest] == label][: max(0, missing)]])
    return drawn


def cell(values: np.ndarray) -> str:
    """Return the means of both splits, and the paired difference with its standard error."""
    first, second = values.mean(0)
    pairs = values[:, 1] - values[:, 0]
    error = pairs.std(ddof=1) / np.sqrt(pairs.size) if pairs.size > 1 else float("nan")
    return f"{first:.1f} -> {second:.1f} ({pairs.mean():+.1f} ± {error:.1f})"


if __name__ == "__main__":
    main()
