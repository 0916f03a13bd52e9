"""The training that Planetoid's two variants share: fields, batches and choice of the step."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.data import NodeData, Split
from agnn.graph import SparseFeatures, SparseMatrix, adjacency
from agnn.methods._planetoid._contexts import Batches, Paths, label_paths, walk_paths, within
from agnn.methods._planetoid._state import Start, State
from agnn.networks import Count, Method, Outcome, Task

_BYTES_AT_ONCE = 2**32  # of GPU memory, for the logits of replicas that are trained together


@dataclass(frozen=True)
class Variant(Method):
    """Train on batches of contexts, then the classifier; keep the best step on validation nodes.

    Three losses alternate, each with its own batches and rate, by plain gradient descent. That is
    why this class has its own training loop. It needs memory for the logits of a batch: nodes on
    its walks x contexts. The result of a replica does not depend on the replicas trained with it.
    On a GPU, where the size of a product selects its kernel, this holds up to rounding.
    """

    fills_a_gpu: ClassVar[bool] = True

    scale: float = 1.0  # factor of the features; the rates are meant for zeros and ones
    width: Count = 50  # of the embeddings
    walk: Count = 10  # steps of a walk
    window: int = 3  # greatest distance of a context on a walk
    learning_rate: float = 0.1  # of the classifier
    epochs: Count = 1000  # steps of the classifier
    context_rate: float = 1e-2  # learning rate of the embeddings
    label_pairs: Count = 100  # per batch
    label_batches: int = 2000  # before the classifier's first step
    walks: Count = 200  # per batch
    walk_batches: int = 70  # before the classifier's first step
    walk_share: float = 0.0  # of the classifier's steps that follow one more batch of walks

    @abstractmethod
    def state(self, start: Start) -> State:
        """The initial weights."""

    @abstractmethod
    def context_nodes(self, data: NodeData, split: Split) -> NDArray[np.int64]:
        """The nodes that begin walks and that are contexts."""

    def run(self, task: Task) -> Outcome:
        """Train the replicas of a split together, as many as fit, and score every node."""
        task.data.check_features(self.name)
        together: dict[int, list[int]] = {}
        # The step is chosen while a replica is trained: the others' folds have no scores yet.
        replace(task, passes=()).require_held_out("to choose the step on")
        for r, split in enumerate(task.splits):
            together.setdefault(id(split), []).append(r)
        scores: dict[int, Tensor] = {}
        for replicas in together.values():
            size = self.replicas_at_once(task)
            for start in range(0, len(replicas), size):
                group = replicas[start : start + size]
                scores.update(zip(group, self._scores(task, group, len(scores)), strict=True))
        return Outcome(torch.stack([scores[r] for r in range(len(task.seeds))]))

    def replicas_at_once(self, task: Task) -> int:
        """One on a CPU, where more would not be faster; on a GPU as many as fit into memory."""
        if task.device == "cpu":
            return 1
        logits = max(self.walks * (self.walk + 1), self.label_pairs) * task.data.nodes
        return max(1, _BYTES_AT_ONCE // (2 * 4 * logits))  # before and after their softmax

    def _scores(self, task: Task, replicas: list[int], before: int) -> Tensor:
        """The scores [r, n, c] of replicas of one split; `before` replicas are already finished."""
        data = task.data
        split = task.splits[replicas[0]]
        start = self.start(task, replicas)
        graph = adjacency(data.edges, data.nodes)
        state = self.state(start)
        schedule = _draw_schedule(self, data, split, graph, start)
        for batches in (schedule.labels, schedule.walks):
            for batch in range(batches.count):
                state.learn_contexts(batches[batch], self.context_rate)
        self._classify(task, replicas, before, state, schedule, start.x)
        return state.scores(torch.arange(data.nodes, device=start.device), start.x)

    def start(self, task: Task, replicas: list[int]) -> Start:
        """What the initial weights of these replicas of one split depend on."""
        data = task.data
        features = SparseFeatures.from_scipy(data.features * np.float32(self.scale))
        positions = np.full(data.nodes + 1, -1)
        context_nodes = self.context_nodes(data, task.splits[replicas[0]])
        positions[context_nodes] = np.arange(context_nodes.size)
        degrees = np.bincount(data.edges.ravel(), minlength=data.nodes)
        isolated = torch.from_numpy(np.flatnonzero(degrees == 0)).to(task.device)
        sources = [np.random.default_rng(task.seeds[r]) for r in replicas]
        return Start(
            features.to(task.device),
            data.classes,
            positions,
            isolated,
            sources,
            task.device,
            task.backend,
        )

    def _classify(
        self,
        task: Task,
        replicas: list[int],
        before: int,
        state: State,
        schedule: _Schedule,
        features: SparseFeatures,
    ) -> None:
        """Train the classifier; leave the weights of each replica's best step in `state`."""
        parts = task.splits[replicas[0]]
        train, watched = (
            torch.from_numpy(np.array(nodes)).to(task.device)
            for nodes in (parts.train, parts.validation)
        )
        labels = torch.from_numpy(np.array(task.data.labels)).to(task.device)
        x = features.select(train)
        x_watched = features.select(watched)
        best = torch.full((len(replicas),), -1, device=task.device)
        best_tensors = [tensor.detach().clone() for tensor in state.answering]
        beside = iter(enumerate(schedule.epochs.tolist()))
        batch, due = next(beside, (0, -1))
        for epoch in range(self.epochs):
            if epoch == due:
                state.learn_contexts(schedule.beside[batch], self.context_rate)
                batch, due = next(beside, (0, -1))
            state.learn_labels(train, x, labels[train], self.learning_rate)
            right = (state.scores(watched, x_watched).argmax(2) == labels[watched]).sum(1)
            for live, held in zip(state.answering, best_tensors, strict=True):
                is_better = (right > best).view(-1, *[1] * (live.dim() - 1))
                torch.where(is_better, live.detach(), held, out=held)
            best = torch.maximum(best, right)
            if task.progress is not None:
                done = before * self.epochs + len(replicas) * (epoch + 1)
                task.progress(done, len(task.seeds) * self.epochs)
        for live, held in zip(state.answering, best_tensors, strict=True):
            live.detach().copy_(held)


@dataclass(frozen=True, eq=False)
class _Schedule:
    """The context batches of several replicas in the order of training."""

    labels: Batches
    walks: Batches
    beside: Batches  # between steps of the classifier
    epochs: NDArray[np.int64]  # [batches in `beside`], the classifier's step that each precedes


def _draw_schedule(
    variant: Variant, data: NodeData, split: Split, graph: SparseMatrix, start: Start
) -> _Schedule:
    """Draw all batches; each source draws in an order that does not depend on the others."""
    labels = []
    walks = []
    beside = []
    has_walk = []
    nodes = variant.context_nodes(data, split)
    for source in start.sources:
        labels.append(
            label_paths(
                data.labels[split.train],
                split.train,
                variant.label_pairs,
                variant.label_batches,
                source,
            )
        )
        chosen = source.random(variant.epochs) < variant.walk_share
        count = variant.walk_batches + int(chosen.sum())
        paths = walk_paths(graph, nodes, variant.walks, count, variant.walk, source)
        walks.append(paths[: variant.walk_batches])
        beside.append(paths[variant.walk_batches :])
        has_walk.append(chosen if paths.size else np.zeros_like(chosen))
    epochs = np.flatnonzero(np.any(has_walk, axis=0))
    apart = [
        _spread(paths_beside, is_walked[epochs], data.nodes)
        for paths_beside, is_walked in zip(beside, has_walk, strict=True)
    ]
    pairs = within(variant.walk + 1, variant.window)
    return _Schedule(
        Batches(labels, start.places, np.array([[0], [1]]), start.device),
        Batches(walks, start.places, pairs, start.device),
        Batches(apart, start.places, pairs, start.device),
        epochs,
    )


def _spread(paths: Paths, has_batch: NDArray[np.bool_], filler: int) -> Paths:
    """The batches at the steps that have one, and batches without nodes at the others."""
    spread = np.full((has_batch.size, *paths.shape[1:]), filler)
    spread[has_batch] = paths
    return spread
