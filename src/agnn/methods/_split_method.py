"""Methods without randomness, one split at a time on the CPU; and the scale of their input."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
import torch
from numpy.typing import NDArray

from agnn.data import NodeData, Split
from agnn.data.scaling import SparseRows
from agnn.metrics import MEASURES
from agnn.networks import Method, Outcome, Task

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Predictor = Callable[[NDArray[np.int64]], NDArray[np.float64]]  # nodes [k] -> a value per class
_FEW_COLUMNS: Final = 0.25  # share of stored entries from which features are a table of numbers
_WORST: Final = (-np.inf, -np.inf)  # not better than itself: the first setting is kept


@dataclass(frozen=True)
class SplitMethod(Method):
    """A method without randomness: the scores of a split do not depend on the seed."""

    is_random: ClassVar[bool] = False

    @abstractmethod
    def scores(self, data: NodeData, split: Split) -> NDArray[np.float64]:
        """Return class probabilities [n, c] from the labels of the training nodes of `split`."""

    def run(self, task: Task) -> Outcome:
        """Return the scores of every replica; each distinct split is computed once."""
        splits, split_indices = _distinct_splits(task)
        scores = []
        for split in splits:
            _tell_alive(task)
            scores.append(torch.from_numpy(self.scores(task.data, split)).float())
        return Outcome(torch.stack([scores[index] for index in split_indices]).to(task.device))


@dataclass(frozen=True)
class ChoosingMethod(SplitMethod):
    """A method without randomness that has several settings to choose from.

    A replica takes the setting that is best at its validation nodes; cross-fitted, the one that is
    best at the folds of the other replicas. Of equal settings the first is taken, and it is the
    only one that is fitted where there are no such nodes.
    """

    @abstractmethod
    def candidates(self, data: NodeData, splits: Sequence[Split]) -> Iterator[Sequence[Predictor]]:
        """Yield how each setting predicts, fitted to the training nodes of each split."""

    def probabilities(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the class probabilities for what a predictor returns; both [k, c]."""
        return values

    def quality(
        self, values: NDArray[np.float64], labels: NDArray[np.int64], metric: str | None
    ) -> tuple[float, float]:
        """Return what settings are compared by, higher is better; the second breaks ties."""
        if metric is None:
            return float(np.mean(values.argmax(axis=1) == labels)), 0.0
        return MEASURES[metric].score(labels, self.probabilities(values)), 0.0

    def scores(self, data: NodeData, split: Split) -> NDArray[np.float64]:
        """Return class probabilities [n, c] from the labels of the training nodes of `split`."""
        return self._scores(Task(data, (split,), (0,)))[0]

    def run(self, task: Task) -> Outcome:
        """Return the scores of every replica by the setting that is chosen for it."""
        scores = [torch.from_numpy(values).float() for values in self._scores(task)]
        return Outcome(torch.stack(scores).to(task.device))

    def _scores(self, task: Task) -> list[NDArray[np.float64]]:
        """Return the class probabilities [n, c] of every replica."""
        splits, split_indices = _distinct_splits(task)
        parts = [split.parts[task.held_out] for split in splits]
        best = [_WORST] * len(split_indices)
        best_predictors: list[Predictor] = []
        for predictors in self.candidates(task.data, splits):
            _tell_alive(task)
            best_predictors = best_predictors or [predictors[index] for index in split_indices]
            if not any(nodes.size for nodes in parts):
                break
            qualities = [
                self.quality(predict(nodes), task.data.labels[nodes], task.metric)
                if nodes.size
                else _WORST
                for predict, nodes in zip(predictors, parts, strict=True)
            ]
            scores, ties = zip(*(qualities[index] for index in split_indices), strict=True)
            decisive = zip(*map(task.values_to_choose_by, (scores, ties)), strict=True)
            for replica, value in enumerate(decisive):
                if value > best[replica]:
                    best[replica] = value
                    best_predictors[replica] = predictors[split_indices[replica]]
        everything = np.arange(task.data.nodes)
        return [self.probabilities(predict(everything)) for predict in best_predictors]


def _tell_alive(task: Task) -> None:
    """Call the progress of a method without epochs, which may end it: time may be limited."""
    if task.progress is not None:
        task.progress(0, 1)


def _distinct_splits(task: Task) -> tuple[list[Split], list[int]]:
    """Return the splits without repetitions, and where among them each replica's is."""
    splits = list({id(split): split for split in task.splits}.values())
    index_of = {id(split): index for index, split in enumerate(splits)}
    return splits, [index_of[id(split)] for split in task.splits]


def one_hot(labels: NDArray[np.int64], classes: int) -> NDArray[np.float64]:
    """Return [k, c] with a one at each label."""
    return np.eye(classes)[labels]


def unit_rows(features: SparseRows) -> SparseRows:
    """Return X with every row divided by its Euclidean length; a zero row stays zero."""
    squares = np.asarray(features.multiply(features).sum(axis=1), dtype=np.float64)
    scale = np.power(squares, -0.5, out=np.zeros_like(squares), where=squares > 0)
    matrix = features.copy()
    matrix.data = (features.data * np.repeat(scale, np.diff(features.indptr))).astype(np.float32)
    return matrix


def has_sparse_rows(data: NodeData) -> bool:
    """Return whether the features are like bags of words, and not a table of numbers."""
    return bool(data.features.nnz < _FEW_COLUMNS * data.nodes * data.feature_count)


def scaled_columns_or_rows(data: NodeData) -> csr_array[Any, Any]:
    """Return rows of length 1 for bags of words, else standardised columns; [n, d_x]."""
    from scipy import sparse
    from sklearn.preprocessing import normalize

    X = data.features.astype(np.float64)
    if has_sparse_rows(data):
        return sparse.csr_array(normalize(X))
    dense = X.toarray()
    spread = dense.std(axis=0)
    centred = dense - dense.mean(axis=0)
    return sparse.csr_array(centred / np.where(spread > 0.0, spread, 1.0))
