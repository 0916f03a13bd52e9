"""What Planetoid's two variants share: the fields, the schedule and the choice of the step."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.data import NodeData, Split
from agnn.errors import InputError
from agnn.graph import adjacency
from agnn.methods.planetoid.contexts import Pairs, label_pairs, walk_pairs
from agnn.methods.planetoid.head import Head
from agnn.methods.protocol import Method, Outcome, Task, require_features
from agnn.methods.validation import require_validation

if TYPE_CHECKING:
    from agnn.data.features import SparseRows

Array = NDArray[np.float32]


class State(ABC):
    """The weights of one replica in training."""

    head: Head

    @abstractmethod
    def embeddings(self, nodes: NDArray[np.int64]) -> Array:
        """What the classifier reads beside the features; [k, d]."""

    @abstractmethod
    def move(self, nodes: NDArray[np.int64], gradient: Array, rate: float) -> None:
        """A step of the embeddings by the classifier's gradient at them [k, d]."""

    @abstractmethod
    def learn_contexts(self, pairs: Pairs, rate: float) -> None:
        """A step on the context loss."""


@dataclass(frozen=True)
class Variant(Method):
    """Context batches first, then steps of the classifier; the best step on validation nodes.

    The schedule is not one objective: it alternates three losses on batches of its own, each with
    its own rate, by plain gradient descent. So it has its own loop, replica by replica; a step is
    a product of thousands of rows, and more replicas at once would make it no faster.
    """

    scale: float = 1.0  # of the features; the rates are meant for zeros and ones
    width: int = 50  # of the embeddings
    walk: int = 10  # steps of a walk
    window: int = 3  # farthest contexts on it
    learning_rate: float = 0.1  # of the classifier
    epochs: int = 1000  # steps of the classifier
    context_rate: float = 1e-2
    label_pairs: int = 100  # a batch
    label_batches: int = 2000  # before the classifier's first step
    walks: int = 200  # a batch
    walk_batches: int = 70  # before the classifier's first step
    walk_share: float = 0.0  # of the classifier's steps, each after one more batch of walks

    def __post_init__(self) -> None:
        for name in ("width", "walk", "epochs", "label_pairs", "walks"):
            if getattr(self, name) < 1:
                raise InputError(f"`{name}` must be at least 1; got {getattr(self, name)}.")

    @abstractmethod
    def state(
        self, data: NodeData, x: SparseRows, split: Split, source: np.random.Generator
    ) -> State:
        """A replica's weights at the start, for the scaled features `x`."""

    @abstractmethod
    def context_nodes(self, data: NodeData, split: Split) -> NDArray[np.int64]:
        """The nodes that walks begin at."""

    def run(self, task: Task) -> Outcome:
        """Train replica after replica and score every node."""
        require_features(task.data, self.name)
        scores = [self._scores(task, r) for r in range(len(task.seeds))]
        return Outcome(torch.stack(scores).to(task.device))

    def _scores(self, task: Task, r: int) -> Tensor:
        data, split = task.data, task.splits[r]
        require_validation(split, "to choose the step on")
        source = np.random.default_rng(task.seeds[r])
        features = data.features * np.float32(self.scale)
        state = self.state(data, features, split, source)
        labels, train = data.labels, split.train
        by_walk = walk_pairs(
            adjacency(data.edges, data.nodes), self.context_nodes(data, split), self.walks,
            self.walk, self.window, source,
        )  # fmt: skip
        by_label = label_pairs(labels[train], train, self.label_pairs, source)
        for pairs in islice(by_label, self.label_batches):
            state.learn_contexts(pairs, self.context_rate)
        for pairs in islice(by_walk, self.walk_batches):
            state.learn_contexts(pairs, self.context_rate)
        x, y = features[train], np.eye(data.classes, dtype=np.float32)[labels[train]]
        watched = features[split.validation]
        best, kept = -1.0, state
        for epoch in range(self.epochs):
            if source.random() < self.walk_share:
                for pairs in islice(by_walk, 1):
                    state.learn_contexts(pairs, self.context_rate)
            gradient = state.head.step(x, state.embeddings(train), y, self.learning_rate)
            state.move(train, gradient, self.learning_rate)
            out = state.head.outputs(watched, state.embeddings(split.validation))[2]
            accuracy = float(np.mean(out.argmax(axis=1) == labels[split.validation]))
            if accuracy > best:
                best, kept = accuracy, copy.deepcopy(state)
            if task.progress is not None:
                task.progress(r * self.epochs + epoch + 1, len(task.seeds) * self.epochs)
        everyone = np.arange(data.nodes)
        return torch.from_numpy(kept.head.outputs(features, kept.embeddings(everyone))[2])
