"""How accurate a classifier is with labels that `suggest` chose, and with labels chosen at random.

Of every graph some labelled nodes are for the test; the rest are candidates whose labels are given
when they are chosen. The classifier is trained by cross-fitting on the chosen labels alone. Where
scikit-activeml is installed, its ways of choosing without a classifier stand beside, given the same
descriptions of the nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData, load_dataset
from agnn.decisions._suggest import choose_nodes, describe_nodes
from agnn.metrics import Summary
from agnn.runs import Run, evaluate
from agnn.tables import Column, ResultTable, Row
from benchmarks.decisions.sets import LINEAR, linear_run

DEFAULT = "default"  # what `agnn train` does without a method
DATASETS = ("cora", "citeseer")
SIZES = (20, 40, 60, 80, 120)
PEERS = ("TypiClust", "CoreSet", "MaxHerding")  # of scikit-activeml
_STREAM = (7, 33)
_TEST = 1000  # nodes at most, and at most a third of the labelled


def with_labels_of(data: NodeData, nodes: np.ndarray) -> NodeData:
    """Return the data with the labels of these nodes alone, and without splits."""
    labels = np.full(data.nodes, -1)
    labels[nodes] = data.labels[nodes]
    return replace(data, labels=labels, splits={}, dataset=None)


def peer_nodes(
    points: NDArray[np.float32], pool: np.ndarray, sizes: Sequence[int], name: str, seed: int
) -> list[np.ndarray]:
    """Return the nodes that a strategy of scikit-activeml takes up to each size, in batches."""
    from skactiveml import pool as strategies

    strategy = getattr(strategies, name)(random_state=seed)
    labels = np.full(len(points), np.nan)
    batches: list[np.ndarray] = []
    chosen = np.empty(0, dtype=np.int64)
    for size in sizes:
        candidates = np.setdiff1d(pool, chosen)
        more = strategy.query(points, labels, candidates=candidates, batch_size=size - chosen.size)
        chosen = np.concatenate([chosen, more])
        labels[chosen] = 0.0  # these strategies ask which nodes have a label, not for the class
        batches.append(chosen)
    return batches


def accuracy_of(
    data: NodeData, chosen: np.ndarray, test: np.ndarray, train: Callable[[NodeData], Run]
) -> float:
    """Return the percent of the test nodes that a run trained with the chosen labels gets right.

    Where all labels are of one class, that is the prediction: there is nothing to learn.
    """
    classes = np.unique(data.labels[chosen])
    if classes.size == 1:
        return 100.0 * float((data.labels[test] == classes[0]).mean())
    run = train(with_labels_of(data, chosen))
    return 100.0 * float((run.probabilities[test].argmax(1) == data.labels[test]).mean())


def measure(
    seeds: Sequence[int],
    graphs: Sequence[NodeData] | None = None,
    sizes: Sequence[int] = SIZES,
    method: str | None = None,
    changes: dict[str, Any] | None = None,
) -> Iterator[tuple[str, int, str, float]]:
    """Yield graph, labels, way of choosing and accuracy for each seed: other test nodes."""
    for data in map(load_dataset, DATASETS) if graphs is None else graphs:
        points = describe_nodes(data)
        for seed in seeds:
            # Not the seed alone: Minesweeper's classes are the permutation of numpy's seed 0.
            order = np.random.default_rng((seed, *_STREAM)).permutation(data.labelled)
            test, pool = np.split(order, [min(_TEST, order.size // 3)])
            usable = [size for size in sizes if size < pool.size]
            # The choice is greedy: a batch after another one is the rest of a larger batch.
            best = choose_nodes(points, np.sort(pool), pool[:0], usable[-1])
            ways = {
                "random": [pool[:size] for size in usable],
                "suggest": [best[:size] for size in usable],
            }
            if find_spec("skactiveml") is not None:
                ways |= {name: peer_nodes(points, pool, usable, name, seed) for name in PEERS}

            def train(known: NodeData, seed: int = seed) -> Run:
                if method == LINEAR:
                    return linear_run(known, points, seed)  # noqa: B023 (called in this round)
                if method == DEFAULT:
                    known = replace(known, name=f"{known.name} without presets")
                    return evaluate(None, known, "cross-fit", [seed], changes=changes)
                return evaluate(method, known, "cross-fit", [seed], changes=changes)

            for way, batches in ways.items():
                for size, chosen in zip(usable, batches, strict=True):
                    yield data.name, size, way, accuracy_of(data, chosen, test, train)


def result_table(results: Sequence[tuple[str, int, str, float]]) -> ResultTable:
    """Return the accuracies, and how far `suggest` is ahead of random choice, paired by seed."""
    ways = [*dict.fromkeys(way for _, _, way, _ in results)]
    columns = (
        Column("graph", ("graph",)),
        Column("labels", ("labels",), is_number=True),
        Column("n", ("n",), is_number=True),
        *(Column(way, (way, f"{way}_error"), " (%)", 1, is_number=True) for way in ways),
        Column("difference", ("difference", "difference_error"), " (points)", 1, is_number=True),
    )
    rows = []
    for graph, size in dict.fromkeys((graph, size) for graph, size, _, _ in results):
        values = {
            way: [result[3] for result in results if result[:3] == (graph, size, way)]
            for way in ways
        }
        pairs = zip(values["suggest"], values["random"], strict=True)
        difference = Summary([suggested - drawn for suggested, drawn in pairs])
        summaries = (*(Summary(values[way]) for way in ways), difference)
        rows.append(Row((graph, size, len(values["random"]), *summaries)))
    return ResultTable(columns, tuple(rows), "Labels that were suggested and labels at random")
