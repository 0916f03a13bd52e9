"""What the methods have in common that place the nodes first and look at labels afterwards."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from agnn.data import NodeData
from agnn.errors import InputError
from agnn.graph import Graph
from agnn.methods.logistic import one_against_rest
from agnn.methods.protocol import Method, Outcome, Task

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class EmbeddingMethod(Method):
    """A vector for every node, no label read; then logistic regression on the training nodes.

    `penalty_inverse` is scikit-learn's C. The vectors depend on the graph and the seed alone, on
    the CPU in one way whichever backend the task names.
    """

    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"penalty_inverse": (0.01, 0.1, 1.0, 10.0)}

    penalty_inverse: float = 1.0  # scikit-learn's default, as the programs leave it

    def __post_init__(self) -> None:
        if not self.penalty_inverse > 0.0:
            raise InputError(f"`penalty_inverse` must be above 0; got {self.penalty_inverse}.")

    @abstractmethod
    def vectors(self, data: NodeData, graph: Graph, seed: int) -> Vectors:
        """[n, d], a function of graph, seed and (where a method reads them) features."""

    def run(self, task: Task) -> Outcome:
        """Each replica's vectors, in as many threads as torch has, and what they say."""
        unfitted = replace(self, penalty_inverse=1.0)
        with ThreadPoolExecutor(torch.get_num_threads()) as pool:
            found = list(pool.map(lambda seed: _vectors(unfitted, task.data, seed), task.seeds))
        scores = [
            one_against_rest(vectors, task.data, split, self.penalty_inverse)
            for vectors, split in zip(found, task.splits, strict=True)
        ]
        return Outcome(torch.from_numpy(np.stack(scores)))


# Candidates of a grid that differ in the classifier alone share their vectors.
@lru_cache(maxsize=8)
def _vectors(method: EmbeddingMethod, data: NodeData, seed: int) -> Vectors:
    graph = Graph.from_edges(data.edges, data.nodes)
    vectors = method.vectors(data, graph, seed)
    vectors.setflags(write=False)
    return vectors


def of_unit_length(vectors: Vectors) -> Vectors:
    """Each row over its length; zeros stay zeros."""
    length: Vectors = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    length[length == 0.0] = 1.0
    return np.asarray(vectors / length, np.float32)
