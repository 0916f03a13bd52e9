"""Training one graph whose rows are divided among ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.data import Split
from agnn.distributed._links import local_links
from agnn.distributed._local_graph import LocalGraph, Needed
from agnn.distributed._ranks import Ranks
from agnn.errors import InputError
from agnn.graph import Graph, Part
from agnn.kernels import CrossEntropyLink, Dropout, Link, run_chain
from agnn.methods import Method, NetworkMethod, Outcome, Task
from agnn.networks import NodeModel
from agnn.training import (
    Callback,
    Checkpoints,
    EpochReport,
    Metric,
    Problem,
    Progress,
    Targets,
    TrainableModel,
    train,
)

_SMALL: Final = 64  # nodes of the smallest graph that has parts
WIRES: Mapping[str, torch.dtype | None] = {"float32": None, "bfloat16": torch.bfloat16}


@dataclass(frozen=True, eq=False)
class RankTargets(Targets):
    """The labelled nodes of a part that count for some replica, with weights of each replica.

    `rows` [k] are their local rows, `labels` and `weights` [R, k]. `counts` are those of all ranks.
    """

    local: LocalGraph
    nodes_here: NDArray[np.int64]  # [k] `rows` as rows of the part
    sizes: tuple[int, ...]  # k on every rank
    needed: Needed  # what the outputs at `rows` depend on
    known: list[Targets] = field(default_factory=list)

    @classmethod
    def on(
        cls,
        local: LocalGraph,
        hops: int,
        sets: Sequence[NDArray[np.int64]],
        class_weights: NDArray[np.float64] | None,
    ) -> RankTargets:
        """The nodes of one set per replica, given by their global numbers."""
        part = local.part
        device = local.graph.device
        counted = np.zeros((len(sets), part.own), dtype=bool)  # by replica and own row
        for flags, nodes in zip(counted, sets, strict=True):
            rows = nodes - part.first
            flags[rows[(rows >= 0) & (rows < part.own)]] = True
        rows = np.flatnonzero(counted.any(0))
        counts = np.array([nodes.size for nodes in sets])
        labels = np.where(part.labels[rows] < 0, 0, part.labels[rows])
        weights = counted[:, rows] / counts[:, None]
        if class_weights is not None:
            weights *= class_weights[:, labels]
            tallies = np.stack(
                [np.bincount(labels[c], minlength=class_weights.shape[1]) for c in counted[:, rows]]
            )
            every = local.ranks.counts(torch.from_numpy(tallies)).numpy()
            weights *= (counts / (every * class_weights).sum(1))[:, None]
        return cls(
            view=local.view(hops),
            rows=torch.from_numpy(rows).to(device),
            labels=torch.from_numpy(labels).to(device).repeat(len(sets), 1),
            weights=torch.from_numpy(weights).to(device, torch.float32),
            counts=torch.from_numpy(counts).to(device),
            local=local,
            nodes_here=rows,
            needed=local.around(rows, hops),
            sizes=tuple(map(int, local.ranks.gather(torch.tensor([rows.size])))),
        )

    def outputs(self, model: TrainableModel, dropout: Dropout | None = None) -> Tensor:
        """Return the model's outputs at the nodes of this part; [R, k, c]."""
        return rank_logits(cast(NodeModel, model), self.local, self.needed, dropout)

    def losses(self, picked: Tensor, backend: str, weights: Tensor | None = None) -> Tensor:
        """Return the mean cross-entropy per replica over all ranks; [R]."""
        if weights is not None:
            raise InputError("batches of training nodes are not divided among ranks.")
        return run_chain([_LossLink(self, backend)], picked)

    def scores(self, picked: Tensor, metric: Metric) -> Tensor:
        """Return the metric of each replica over all ranks; [R]."""
        if metric == "accuracy" or (metric == "best" and picked.shape[2] != 2):
            right = (picked.argmax(-1) == self.labels) & (self.weights > 0)
            return self.local.ranks.counts(right.sum(1)) / self.counts
        return self._everywhere.scores(self._gather(picked), metric)

    @property
    def _everywhere(self) -> Targets:
        """The nodes of all ranks."""
        # No cached property: its lock would be held while the ranks wait for each other.
        if not self.known:
            labels = self._gather(self.labels)
            weights = self._gather(self.weights)
            self.known.append(Targets(self.view, None, labels, weights, self.counts))
        return self.known[0]

    def _gather(self, values: Tensor) -> Tensor:
        """Return the rows of all ranks, in the order of the nodes; [R, k, ...]."""
        rows = values.transpose(0, 1)
        padded = rows.new_zeros(max(self.sizes), *rows.shape[1:])
        padded[: len(rows)] = rows
        by_rank = zip(self.local.ranks.gather(padded), self.sizes, strict=True)
        return torch.cat([rows[:size] for rows, size in by_rank]).transpose(0, 1).contiguous()


class _LossLink(Link):
    """The loss over all ranks, block by block."""

    def __init__(self, targets: RankTargets, backend: str) -> None:
        self.targets = targets
        self.backend = backend

    def forward(self, x: Tensor) -> Tensor:
        targets = self.targets
        bounds = np.searchsorted(targets.nodes_here, targets.local.part.blocks).tolist()
        losses = []
        slopes = torch.empty_like(x)
        for first, last in pairwise(bounds):
            if first == last:
                losses.append(x.new_zeros(len(x)))
                continue
            block = slice(first, last)
            labels = targets.labels[:, block].contiguous()
            weights = targets.weights[:, block].contiguous()
            link = CrossEntropyLink(labels, weights, self.backend)
            losses.append(link.forward(x[:, block].clone()))
            slopes[:, block] = link.saved[0]
        self.saved = (slopes,)
        return targets.local.sums.total(losses).to(x.dtype)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        return self.saved[0] * gradient[:, None, None], ()


def rank_logits(
    model: NodeModel, local: LocalGraph, needed: Needed, dropout: Dropout | None = None
) -> Tensor:
    """The model's outputs at the rows of `needed`; [R, k, c]."""
    view = local.view(model.hops)
    return run_chain(local_links(model, view, dropout, local, needed), view.features.values)


@dataclass(frozen=True, eq=False, kw_only=True)
class RankProblem(Problem):
    """What one rank trains on."""

    local: LocalGraph

    def targets(
        self,
        part: str,
        hops: int,
        class_weights: NDArray[np.float64] | None = None,
        *,
        is_pruned: bool = True,
    ) -> Targets:
        """Return the nodes of one part ("train", "validation" or "test") of every split."""
        sets = [split.parts[part] for split in self.splits]
        return RankTargets.on(self.local, hops, sets, class_weights)


@dataclass(frozen=True, eq=False)
class RowsTask:
    """What all ranks train together."""

    method: NetworkMethod
    classes: int
    splits: tuple[Split, ...]
    seeds: tuple[int, ...]
    backend: str = "auto"
    class_weights: NDArray[np.float64] | None = None
    metric: str | None = None
    passes: tuple[int, ...] = ()
    wire: str = "float32"

    @classmethod
    def of(cls, method: NetworkMethod, task: Task, wire: str = "float32") -> RowsTask:
        """Return what the ranks are told of a task: all but the data, of which each has a part."""
        return cls(
            method=method,
            classes=task.data.classes,
            splits=task.splits,
            seeds=task.seeds,
            backend=task.backend,
            class_weights=task.class_weights,
            metric=task.metric,
            passes=task.passes,
            wire=wire,
        )


def check_divisible(method: Method, *, is_in_parts: bool = False) -> None:
    """Raise for a method whose training is not divided by rows; the message says what forbids it.

    A step of it is put together on a small graph, so the answer is that of its links.
    """
    if not isinstance(method, NetworkMethod):
        raise InputError(f"{method.name} does not train a network, so it has no ranks.")
    if is_in_parts and not method.features_by_row:
        raise InputError(
            f"{method.name} cannot be trained on a folder of parts: its features are computed "
            f"from the whole graph before the training. Train it on the graph itself."
        )
    if method.precision != "float32":
        raise InputError("states of ranks that divide a graph are float32; --wire shortens them.")
    ring = np.arange(_SMALL)
    graph = Graph.from_edges(np.stack([ring, np.roll(ring, 1)]), _SMALL)
    x = np.ones((_SMALL, method.input_width(2)), np.float32)
    bounds = Part.rank_bounds(_SMALL, 1)
    local = LocalGraph.of(Part.cut(graph, bounds, 0, x, np.zeros(_SMALL, np.int64)), Ranks())
    model = method.build(x.shape[1], 2)
    features = local.features[0]
    needs_more = (
        method.objective(model, features, graph) is not None
        or method.extra_loss(model, features, graph, (0,)) is not None
        or method.recipe().batch is not None
        or method.fanout
    )
    if needs_more:
        without = method.simplified.settings_text(method.reduction)
        raise InputError(
            f"{method.name} with these settings trains on more than the cross-entropy of all "
            f"training nodes, which is not divided among ranks"
            + (f"; {without} (--set) leaves that out." if without else ".")
        )
    dropout = Dropout((0,), (0.5,))
    needed = local.around(ring, model.hops)
    local_links(model, local.view(model.hops), dropout, local, needed)


def train_rows(
    task: RowsTask,
    part: Part,
    ranks: Ranks,
    progress: Progress | None = None,
    checkpoints: Checkpoints | None = None,
    callbacks: Sequence[Callback] = (),
) -> Outcome:
    """Train all replicas on a graph of which every rank calls this with its own part.

    The outcome has the same bits for every number of ranks; its scores [R, own, c] are those of
    the rank's own nodes. The `callbacks` of rank 0 are called, and all ranks do what they answer.
    """
    if task.wire not in WIRES:
        raise InputError(f"`wire` must be one of {', '.join(WIRES)}; got '{task.wire}'.")
    local = LocalGraph.of(part, ranks, WIRES[task.wire])
    features = local.features[0]
    method = task.method
    model = method.build(features.width, task.classes, task.seeds, task.backend)
    model = model.to(ranks.device)
    recipe = method.recipe_by(task.metric, task.passes)
    problem = RankProblem(
        features=features,
        graph=local.graph,
        labels=part.labels,
        splits=task.splits,
        seeds=task.seeds,
        class_weights=task.class_weights,
        local=local,
    )
    shared = _shared_callbacks(ranks, callbacks)
    history = train(model, problem, recipe, progress, checkpoints=checkpoints, callbacks=shared)
    with torch.no_grad():
        every = local.around(np.arange(part.own), model.hops)
        scores = rank_logits(model, local, every).softmax(-1)
    return Outcome(scores, model, history)


class _SharedCallback(Callback):
    """The callbacks of rank 0, on every rank."""

    def __init__(self, ranks: Ranks, callbacks: Sequence[Callback]) -> None:
        self.ranks = ranks
        self.callbacks = callbacks

    def epoch(self, report: EpochReport) -> bool:
        """Call those of rank 0; its answer ends the training on every rank."""
        ends = self.ranks.rank == 0 and report.tell(self.callbacks)
        return bool(self.ranks.from_first(torch.tensor([int(ends)])))


def _shared_callbacks(ranks: Ranks, callbacks: Sequence[Callback]) -> tuple[Callback, ...]:
    """Return what every rank calls after an epoch; rank 0 may have callbacks that others lack."""
    if not ranks.from_first(torch.tensor([len(callbacks)])):
        return ()
    return (_SharedCallback(ranks, callbacks),)


class RankCheckpoints(Checkpoints):
    """Checkpoints of ranks that train together: rank 0 reads and writes, all stop together."""

    def __init__(self, ranks: Ranks, shared: Checkpoints) -> None:
        super().__init__(shared.file, shared.every, resume=shared.resume)
        self.about = shared.about
        self.on_warning = shared.on_warning
        self.ranks = ranks
        self.request = shared  # it may be asked to stop, too

    def begin(self, state: Mapping[str, Tensor], epochs: int, *, device: torch.device) -> int:
        """Put the stored state into `state` on every rank."""
        done = super().begin(state, epochs, device=device) if self.ranks.rank == 0 else 0
        for tensor in state.values():
            tensor.detach().copy_(self.ranks.from_first(tensor.detach()))
        return int(self.ranks.from_first(torch.tensor([done])))

    def after_epoch(
        self, state: Callable[[], Mapping[str, Tensor]], epoch: int, epochs: int
    ) -> None:
        """Write a checkpoint on rank 0 if it is time; stop if any rank is asked to."""
        self.request.note_pace(epoch, epochs)
        self.is_asked_to_stop |= self.request.is_asked_to_stop
        requests = self.ranks.counts(torch.tensor([int(self.is_asked_to_stop)]))
        self.is_asked_to_stop = bool(requests > 0)
        super().after_epoch(state, epoch, epochs)

    @property
    def is_writer(self) -> bool:
        """Whether this process writes."""
        return self.ranks.rank == 0
