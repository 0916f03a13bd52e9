"""Bootstrap: a linear diffusion of labels that adds its most confident predictions as seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData, Split
from agnn.graph import SparseMatrix, adjacency, normalise_symmetrically
from agnn.methods._split_method import ChoosingMethod, Predictor, one_hot
from agnn.networks import Count, Outcome, Share, Task, register

_FEWEST = 10  # a round that adds fewer seeds is the last one, as in the authors' program


@register
@dataclass(frozen=True)
class Bootstrap(ChoosingMethod):
    """Rounds of F <- a Y + (1 - a) S F, each of which adds seeds to Y; the best round is kept.

    S = D^-1/2 A D^-1/2 (Zhou et al. 2004). The row of a seed in Y is 1 at its class and -1 at the
    others, and F starts at Y. After a round, the nodes with the largest max_c F_ic become seeds of
    that class. Their number is `percent` of all nodes, divided among the classes by the class
    shares of the validation labels. Validation nodes never become seeds; the round with the
    highest accuracy on them is kept. The scores are the softmax of F. Cross-fitted, the shares are
    those of the training labels, and the folds of the other replicas choose the round.
    """

    name: ClassVar[str] = "bootstrap"
    title: ClassVar[str] = "Bootstrap"
    cites: ClassVar[str] = "Buchnik and Cohen 2018"
    uses_edge_weights: ClassVar[bool] = True
    presets: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = {
        (setting, dataset): {"restart": 0.0}  # the program's default
        for setting in ("fixed", "random")
        for dataset in ("citeseer", "cora", "pubmed")
    }
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "restart": (0.0, 0.05, 0.1, 0.2),
        "steps": (2, 5, 10, 30),
        "percent": (1.0, 3.0, 5.0, 10.0),
    }

    # a. The program's default is 0, with which F loses its seeds on small graphs.
    restart: Share = 0.1
    steps: Count = 30  # products with S per round; the program's default
    # of all nodes, new seeds per round; the program's default
    percent: Annotated[float, "above 0 and at most 100"] = 3.0

    def run(self, task: Task) -> Outcome:
        """Return the scores of every replica in its best round."""
        task.require_held_out("to choose the round on")
        return super().run(task)

    def scores(self, data: NodeData, split: Split) -> NDArray[np.float64]:
        """Return class probabilities [n, c] of the best round."""
        Task(data, (split,), (0,)).require_held_out("to choose the round on")
        return super().scores(data, split)

    def candidates(self, data: NodeData, splits: Sequence[Split]) -> Iterator[Sequence[Predictor]]:
        """Yield the rounds; a split that adds no more seeds stays at its last one."""
        propagation = normalise_symmetrically(adjacency(data.edges, data.nodes, data.edge_weights))
        rounds = [self._rounds(data, split, propagation) for split in splits]
        values = [next(scores) for scores in rounds]
        is_over = False
        while not is_over:
            yield [partial(_rows_of, f) for f in values]
            later = [next(scores, None) for scores in rounds]
            is_over = all(f is None for f in later)
            values = [old if f is None else f for old, f in zip(values, later, strict=True)]

    def _rounds(
        self, data: NodeData, split: Split, propagation: SparseMatrix
    ) -> Iterator[NDArray[np.float64]]:
        """Yield F [n, c] of each round."""
        known = data.labels[split.validation if split.validation.size else split.train]
        quotas = self.percent / 100.0 * data.nodes * one_hot(known, data.classes).mean(axis=0)
        labels = np.full(data.nodes, -1)
        labels[split.train] = data.labels[split.train]
        added = data.nodes
        while added >= _FEWEST:
            f = self.diffuse(propagation, labels, data.classes)
            yield f
            added = add_seeds(labels, f, split.validation, quotas)

    def probabilities(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the softmax of F [k, c]."""
        from scipy.special import softmax

        return np.asarray(softmax(values, axis=1))

    def diffuse(
        self, propagation: SparseMatrix, labels: NDArray[np.int64], classes: int
    ) -> NDArray[np.float64]:
        """Return F [n, c] after `steps` products; `labels` [n] are the seeds, -1 elsewhere."""
        y = np.zeros((labels.size, classes))
        seeds = labels >= 0
        y[seeds] = 2.0 * one_hot(labels[seeds], classes) - 1.0
        f = y
        for _ in range(self.steps):
            f = self.restart * y + (1.0 - self.restart) * (propagation @ f)
        return np.asarray(f)


def _rows_of(values: NDArray[np.float64], nodes: NDArray[np.int64]) -> NDArray[np.float64]:
    return values[nodes]


def add_seeds(
    labels: NDArray[np.int64],
    f: NDArray[np.float64],
    excluded: NDArray[np.int64],
    quotas: NDArray[np.float64],
) -> int:
    """Write the most confident predictions into `labels` where they are -1; return their number.

    Each class gets its quota, rounded up. Nodes in `excluded` and nodes that F does not reach get
    no label.
    """
    predictions = f.argmax(axis=1)
    confidence = f.max(axis=1)
    is_free = (labels < 0) & (f != 0.0).any(axis=1)
    is_free[excluded] = False
    added = 0
    for label, quota in enumerate(quotas):
        nodes = np.flatnonzero(is_free & (predictions == label))
        chosen = nodes[np.argsort(-confidence[nodes], kind="stable")[: int(np.ceil(quota))]]
        labels[chosen] = label
        added += chosen.size
    return added
