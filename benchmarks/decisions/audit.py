"""How well an audit finds labels that were flipped, beside cleanlab where it is installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from agnn.data import NodeData, load_dataset, with_labels
from agnn.decisions import Audit, audit
from agnn.metrics import Summary
from agnn.runs import Run, evaluate
from agnn.tables import Column, ResultTable, Row

DATASETS = ("cora", "citeseer")
METHODS = ("agnn", "agnn_plus")
_SHARE = 0.1  # of the labels that are flipped


def flip_labels(data: NodeData, share: float, seed: int) -> tuple[NodeData, np.ndarray]:
    """Return the data with a share of its labels changed to another class, and their nodes."""
    source = np.random.default_rng(seed)
    nodes = source.choice(data.labelled, round(share * data.labelled.size), replace=False)
    others = (data.labels[nodes] + source.integers(1, data.classes, nodes.size)) % data.classes
    return with_labels(data, dict(zip(nodes.tolist(), others.tolist(), strict=True))), nodes


def measure_audit(run: Run, flipped: np.ndarray) -> dict[str, float]:
    """Return how well the labels' out-of-fold probabilities rank the flipped ones.

    AUC, the share of flipped labels among as many of the most suspicious, and the numbers that
    the audit and cleanlab's calibrated joint estimate to be wrong.
    """
    predictions = run.predict_out_of_fold()
    nodes = run.data.labelled
    labels = run.data.labels[nodes]
    own = predictions.probabilities[np.arange(nodes.size), labels]
    is_flipped = np.isin(nodes, flipped)
    listed = audit(run)
    figures = {
        "auc": float(roc_auc_score(is_flipped, -own)),
        "precision": float(is_flipped[np.argsort(own, kind="stable")[: flipped.size]].mean()),
        "precision_listed": _listed_precision(listed, flipped),
        "flipped": float(flipped.size),
        "likely_wrong": float(listed.likely_wrong),
    }
    if find_spec("cleanlab") is not None:
        from cleanlab.count import estimate_joint
        from cleanlab.rank import get_label_quality_scores

        joint = estimate_joint(labels, predictions.probabilities)
        quality = get_label_quality_scores(
            labels, predictions.probabilities, method="normalized_margin"
        )
        figures["cleanlab_wrong"] = float(nodes.size * (1.0 - np.trace(joint)))
        figures["cleanlab_auc"] = float(roc_auc_score(is_flipped, -quality))
    return figures


def _listed_precision(listed: Audit, flipped: np.ndarray) -> float:
    """Return the share of flipped labels among the first of the list that a user reads."""
    first = [label.node for label in listed.suspicious[: flipped.size]]
    return float(np.isin(first, flipped).mean())


def measure(
    seeds: Sequence[int],
    datasets: Sequence[str] = DATASETS,
    methods: Sequence[str] = METHODS,
    changes: dict[str, Any] | None = None,
) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Yield dataset, method and figures for each seed: other flips, folds and weights."""
    for seed in seeds:
        for dataset in datasets:
            data, flipped = flip_labels(load_dataset(dataset), _SHARE, seed)
            for method in methods:
                run = evaluate(method, data, "cross-fit", [seed], changes=changes)
                yield dataset, method, measure_audit(run, flipped)


def result_table(results: Sequence[tuple[str, str, dict[str, float]]]) -> ResultTable:
    """Return mean and standard error over the seeds of every figure, a row per cell."""
    keys = list(results[0][2])
    columns = (
        Column("dataset", ("dataset",)),
        Column("method", ("method",)),
        Column("n", ("n",), is_number=True),
        *(
            Column(key.replace("_", " "), (key, f"{key}_error"), digits=3, is_number=True)
            for key in keys
        ),
    )
    cells = dict.fromkeys((dataset, method) for dataset, method, _ in results)
    rows = []
    for cell in cells:
        figures = [values for dataset, method, values in results if (dataset, method) == cell]
        summaries = [Summary([values[key] for values in figures]) for key in keys]
        rows.append(Row((*cell, len(figures), *summaries)))
    return ResultTable(columns, tuple(rows), f"Audit with {_SHARE:.0%} of the labels flipped")
