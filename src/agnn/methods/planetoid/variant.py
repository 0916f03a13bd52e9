"""What Planetoid's two variants share: the fields, the schedule and the choice of the step."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.data import NodeData, Split
from agnn.errors import InputError
from agnn.graph import FeatureMatrix, adjacency
from agnn.methods._protocol import Method, Outcome, Task, require_features, require_validation
from agnn.methods.planetoid.schedule import Schedule, drawn_schedule
from agnn.methods.planetoid.state import Start, State

_BYTES_AT_ONCE = 2**32  # of a GPU, for the logits of the replicas that are trained together


@dataclass(frozen=True)
class Variant(Method):
    """Context batches first, then steps of the classifier; the best step on validation nodes.

    The schedule is not one objective: it alternates three losses on batches of its own, each with
    its own rate, by plain gradient descent. So it has its own loop. Memory is that of the logits
    of a batch: nodes on its walks x contexts. A replica comes out the same alone and in company;
    on a GPU, whose library picks its products by their size, up to rounding.
    """

    fills_a_gpu: ClassVar[bool] = True

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
    def state(self, start: Start) -> State:
        """Weights before the first step."""

    @abstractmethod
    def context_nodes(self, data: NodeData, split: Split) -> NDArray[np.int64]:
        """The nodes that walks begin at, and that are contexts."""

    def run(self, task: Task) -> Outcome:
        """Train replicas of one split together, as many as fit, and score every node."""
        require_features(task.data, self.name)
        together: dict[int, list[int]] = {}
        for r, split in enumerate(task.splits):
            require_validation(split, "to choose the step on")
            together.setdefault(id(split), []).append(r)
        scores: dict[int, Tensor] = {}
        for replicas in together.values():
            size = self.replicas_at_once(task)
            for first in range(0, len(replicas), size):
                some = replicas[first : first + size]
                scores.update(zip(some, self._scores(task, some, len(scores)), strict=True))
        return Outcome(torch.stack([scores[r] for r in range(len(task.seeds))]))

    def replicas_at_once(self, task: Task) -> int:
        """One on a CPU, where more would be no faster; on a GPU as many as have room."""
        if task.device == "cpu":
            return 1
        logits = max(self.walks * (self.walk + 1), self.label_pairs) * task.data.nodes
        return max(1, _BYTES_AT_ONCE // (2 * 4 * logits))  # before and after their softmax

    def _scores(self, task: Task, replicas: list[int], before: int) -> Tensor:
        """The scores [r, n, c] of replicas of one split; `before` are finished already."""
        data, split, start = task.data, task.splits[replicas[0]], self.start(task, replicas)
        graph = adjacency(data.edges, data.nodes)
        state = self.state(start)
        schedule = drawn_schedule(self, data, split, graph, start)
        for batches in (schedule.labels, schedule.walks):
            for batch in range(batches.count):
                state.learn_contexts(batches[batch], self.context_rate)
        self._classify(task, replicas, before, state, schedule, start.x)
        return state.scores(torch.arange(data.nodes, device=start.device), start.x)

    def start(self, task: Task, replicas: list[int]) -> Start:
        """What the weights of these replicas, of one split, are drawn for."""
        data = task.data
        features = FeatureMatrix.from_scipy(data.features * np.float32(self.scale))
        places = np.full(data.nodes + 1, -1)
        seen = self.context_nodes(data, task.splits[replicas[0]])
        places[seen] = np.arange(seen.size)
        degrees = np.bincount(data.edges.ravel(), minlength=data.nodes)
        lonely = torch.from_numpy(np.flatnonzero(degrees == 0)).to(task.device)
        sources = [np.random.default_rng(task.seeds[r]) for r in replicas]
        return Start(
            features.to(task.device), data.classes, places, lonely, sources, task.device,
            task.backend,
        )  # fmt: skip

    def _classify(
        self, task: Task, replicas: list[int], before: int, state: State, schedule: Schedule,
        features: FeatureMatrix,
    ) -> None:  # fmt: skip
        """Steps of the classifier; leaves the weights of each replica's best step in `state`."""
        parts = task.splits[replicas[0]]
        train, watched = (
            torch.from_numpy(np.array(nodes)).to(task.device)
            for nodes in (parts.train, parts.validation)
        )
        labels = torch.from_numpy(np.array(task.data.labels)).to(task.device)
        x, x_watched = features.select(train), features.select(watched)
        best = torch.full((len(replicas),), -1, device=task.device)
        kept = [each.detach().clone() for each in state.answering]
        beside = iter(enumerate(schedule.epochs.tolist()))
        batch, due = next(beside, (0, -1))
        for epoch in range(self.epochs):
            if epoch == due:
                state.learn_contexts(schedule.beside[batch], self.context_rate)
                batch, due = next(beside, (0, -1))
            state.learn_labels(train, x, labels[train], self.learning_rate)
            right = (state.scores(watched, x_watched).argmax(2) == labels[watched]).sum(1)
            for live, held in zip(state.answering, kept, strict=True):
                is_better = (right > best).view(-1, *[1] * (live.dim() - 1))
                torch.where(is_better, live.detach(), held, out=held)
            best = torch.maximum(best, right)
            if task.progress is not None:
                done = before * self.epochs + len(replicas) * (epoch + 1)
                task.progress(done, len(task.seeds) * self.epochs)
        for live, held in zip(state.answering, kept, strict=True):
            live.detach().copy_(held)
