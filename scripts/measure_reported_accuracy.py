"""Compare the accuracy that cross-fitting reports with the true one at unlabelled nodes.

    python scripts/measure_reported_accuracy.py [--draws 600]

Labels of Cora and CiteSeer are drawn uniformly and all others are hidden. A ridge classifier on
64 singular directions of twice propagated features, which takes milliseconds, is trained on all
folds but one, ten times. Its accuracy on the folds, and the 95 % interval of it, are compared with
its mean accuracy at the hidden labels. The folds are drawn at random, as cross-fitting does, or
stratified by class.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

import agnn
from agnn.data import NodeData
from agnn.graph import Graph, Propagation
from agnn.metrics import Interval, Summary

FOLDS = 10
LABELS = (40, 70, 150, 400)
WIDTH = 64
PENALTY = 0.01  # per training node


def main() -> None:
    """Print a row per dataset, number of labels and kind of folds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=600)
    draws = parser.parse_args().draws
    print("| graph | labels | folds | reported less true | plain interval | its interval |")
    print("|---|---|---|---|---|---|")
    for name in ("cora", "citeseer"):
        data = agnn.load_dataset(name)
        inputs = directions(data)
        for labels in LABELS:
            for kind in ("random", "stratified"):
                results = [measure(data, inputs, labels, kind, seed) for seed in range(draws)]
                bias, plain, wider = np.array(results).T
                gap = Summary(bias.tolist())
                print(
                    f"| {name} | {labels} | {kind} | {gap.mean:+.2f} ± {gap.standard_error:.2f} | "
                    f"{100 * plain.mean():.1f} % | {100 * wider.mean():.1f} % |",
                    flush=True,
                )


def directions(data: NodeData) -> np.ndarray:
    """Return rows of length 1: coordinates of P P X in its first singular directions."""
    matrix = Propagation.symmetric(Graph.of(data)).matrix()
    left, values, _ = svds(csr_array(matrix @ (matrix @ data.features)), k=WIDTH, random_state=0)
    rows = left * values
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def measure(
    data: NodeData, inputs: np.ndarray, count: int, kind: str, seed: int
) -> tuple[float, bool, bool]:
    """Return the reported less the true accuracy, and whether two intervals cover the true one."""
    source = np.random.default_rng(seed)
    order = source.permutation(data.labelled)
    known = order[:count]
    hidden = order[count:]
    if kind == "stratified":
        known = known[np.argsort(data.labels[known], kind="stable")]
    right = 0
    true = []
    for fold in range(FOLDS):
        tested = known[fold::FOLDS]
        answers = predict(inputs, data, np.setdiff1d(known, tested))
        right += int((answers[tested] == data.labels[tested]).sum())
        true.append(100 * float((answers[hidden] == data.labels[hidden]).mean()))
    truth = float(np.mean(true))
    intervals = (Interval.percent(right, count), Interval.percent(right, count, FOLDS))
    plain, wider = (interval.low <= truth <= interval.high for interval in intervals)
    return 100 * right / count - truth, plain, wider


def predict(inputs: np.ndarray, data: NodeData, train: np.ndarray) -> np.ndarray:
    """Return the class of every node by ridge regression on one-hot labels."""
    targets = np.eye(data.classes)[data.labels[train]]
    shares = targets.mean(0)
    x = inputs[train]
    gram = x.T @ x + PENALTY * train.size * np.eye(WIDTH)
    return np.asarray((inputs @ np.linalg.solve(gram, x.T @ (targets - shares)) + shares).argmax(1))


if __name__ == "__main__":
    main()
