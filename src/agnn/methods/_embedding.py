"""The base class of embeddings: learn node vectors, then fit a classifier on them."""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray

from agnn.data import NodeData, Split
from agnn.graph import Graph
from agnn.networks import Method, Outcome, Positive, Task

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class EmbeddingMethod(Method):
    """Vectors learned without labels, then logistic regression on the training nodes.

    `penalty_inverse` is scikit-learn's C. The vectors are computed on the CPU by one
    algorithm, whichever backend the task names.
    """

    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"penalty_inverse": (0.01, 0.1, 1.0, 10.0)}

    uses_blas: ClassVar[bool] = False  # whose sums may depend on the number of threads

    penalty_inverse: Positive = 1.0  # scikit-learn's default, as the programs leave it

    @abstractmethod
    def vectors(self, data: NodeData, graph: Graph, seed: int) -> Vectors:
        """Return vectors [n, d] from graph, seed and, in some methods, features."""

    def run(self, task: Task) -> Outcome:
        """Compute the vectors of the replicas in parallel threads and classify with each."""
        unfitted = replace(self, penalty_inverse=1.0)
        threads = torch.get_num_threads()
        threads_per_replica = 1 if self.uses_blas else threads
        try:
            # A number of threads is its caller's, and that of threads which start later.
            with ThreadPoolExecutor(
                threads, initializer=torch.set_num_threads, initargs=(threads_per_replica,)
            ) as pool:
                vectors_of_replicas = list(
                    pool.map(lambda seed: _vectors(unfitted, task.data, seed), task.seeds)
                )
        finally:
            torch.set_num_threads(threads)
        scores = [
            one_against_rest(vectors, task.data, split, self.penalty_inverse)
            for vectors, split in zip(vectors_of_replicas, task.splits, strict=True)
        ]
        return Outcome(torch.from_numpy(np.stack(scores)).to(task.device))


# Candidates of a grid that differ in the classifier alone share their vectors. They are forgotten
# with the data that they belong to.
_CACHE: WeakKeyDictionary[NodeData, OrderedDict[Any, Vectors]] = WeakKeyDictionary()
_CACHED = 8  # sets of vectors per dataset


def _vectors(method: EmbeddingMethod, data: NodeData, seed: int) -> Vectors:
    cached = _CACHE.setdefault(data, OrderedDict())
    vectors = cached.get((method, seed))
    if vectors is None:
        vectors = method.vectors(data, Graph.of(data), seed)
        vectors.setflags(write=False)
        cached[method, seed] = vectors
        while len(cached) > _CACHED:
            cached.popitem(last=False)
    return vectors


def of_unit_length(vectors: Vectors) -> Vectors:
    """Return each row divided by its length; a zero row stays zero."""
    length: Vectors = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    length[length == 0.0] = 1.0
    return np.asarray(vectors / length, np.float32)


def one_against_rest(
    vectors: NDArray[np.float32], data: NodeData, split: Split, penalty_inverse: float
) -> NDArray[np.float32]:
    """Return class probabilities [n, c] from one classifier per class on the training nodes.

    A class without a training label has probability 0; the only class has probability 1.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    labels = data.labels[split.train]
    present = np.unique(labels)
    scores = np.zeros((data.nodes, data.classes), np.float32)
    if present.size == 1:
        scores[:, present] = 1.0
        return scores
    single = LogisticRegression(solver="liblinear", C=penalty_inverse, random_state=0)
    fitted = OneVsRestClassifier(single).fit(vectors[split.train], labels)
    scores[:, present] = fitted.predict_proba(vectors)
    return scores
