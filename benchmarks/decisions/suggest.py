"""How accurate a classifier is with labels that `suggest` chose, and with labels chosen at random.

Of every graph some labelled nodes are for the test; the rest are candidates whose labels are given
when they are chosen. The classifier is trained by cross-fitting on the chosen labels alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from agnn.data import NodeData, load_dataset
from agnn.decisions import suggest
from agnn.metrics import Summary
from agnn.runs import evaluate
from agnn.tables import Column, ResultTable, Row

DATASETS = ("cora", "citeseer")
SIZES = (40, 60, 80, 120)
_STREAM = (7, 33)
_TEST = 1000  # nodes at most, and at most a third of the labelled


def with_labels_of(data: NodeData, nodes: np.ndarray) -> NodeData:
    """Return the data with the labels of these nodes alone, and without splits."""
    labels = np.full(data.nodes, -1)
    labels[nodes] = data.labels[nodes]
    return replace(data, labels=labels, splits={}, dataset=None)


def suggested_nodes(data: NodeData, pool: np.ndarray, sizes: Sequence[int]) -> list[np.ndarray]:
    """Return the nodes of the pool that are suggested up to each size, batch after batch."""
    batches: list[np.ndarray] = []
    chosen = np.empty(0, dtype=np.int64)
    for size in sizes:
        known = with_labels_of(data, chosen)
        more = [node.node for node in suggest(known, size - chosen.size, among=pool).nodes]
        chosen = np.concatenate([chosen, np.array(more, dtype=np.int64)])
        batches.append(chosen)
    return batches


def accuracy_of(
    data: NodeData, chosen: np.ndarray, test: np.ndarray, method: str, seed: int, **options: Any
) -> float:
    """Return the percent of the test nodes that the method predicts correctly.

    Where all labels are of one class, that is the prediction: there is nothing to learn.
    """
    classes = np.unique(data.labels[chosen])
    if classes.size == 1:
        return 100.0 * float((data.labels[test] == classes[0]).mean())
    run = evaluate(method, with_labels_of(data, chosen), "cross-fit", [seed], **options)
    return 100.0 * float((run.probabilities[test].argmax(1) == data.labels[test]).mean())


def measure(
    seeds: Sequence[int],
    graphs: Sequence[NodeData] | None = None,
    sizes: Sequence[int] = SIZES,
    method: str = "agnn_plus",
    changes: dict[str, Any] | None = None,
) -> Iterator[tuple[str, int, str, float]]:
    """Yield graph, labels, way of choosing and accuracy for each seed: other test nodes."""
    for seed in seeds:
        for data in map(load_dataset, DATASETS) if graphs is None else graphs:
            # Not the seed alone: Minesweeper's classes are the permutation of numpy's seed 0.
            order = np.random.default_rng((seed, *_STREAM)).permutation(data.labelled)
            test, pool = np.split(order, [min(_TEST, order.size // 3)])
            usable = [size for size in sizes if size < pool.size]
            ways = {
                "random": [pool[:size] for size in usable],
                "suggest": suggested_nodes(data, pool, usable),
            }
            for way, batches in ways.items():
                for size, chosen in zip(usable, batches, strict=True):
                    accuracy = accuracy_of(data, chosen, test, method, seed, changes=changes)
                    yield data.name, size, way, accuracy


def result_table(results: Sequence[tuple[str, int, str, float]]) -> ResultTable:
    """Return both accuracies and their difference, paired by seed, a row per graph and size."""
    columns = (
        Column("graph", ("graph",)),
        Column("labels", ("labels",), is_number=True),
        Column("n", ("n",), is_number=True),
        Column("random", ("random", "random_error"), " (%)", 1, is_number=True),
        Column("suggest", ("suggest", "suggest_error"), " (%)", 1, is_number=True),
        Column("difference", ("difference", "difference_error"), " (points)", 1, is_number=True),
    )
    rows = []
    for graph, size in dict.fromkeys((graph, size) for graph, size, _, _ in results):
        values = {
            way: [result[3] for result in results if result[:3] == (graph, size, way)]
            for way in ("random", "suggest")
        }
        pairs = zip(values["suggest"], values["random"], strict=True)
        difference = Summary([suggested - drawn for suggested, drawn in pairs])
        summaries = (Summary(values["random"]), Summary(values["suggest"]), difference)
        rows.append(Row((graph, size, len(values["random"]), *summaries)))
    return ResultTable(columns, tuple(rows), "Labels that were suggested and labels at random")
