"""Planetoid and its variants, the transductive Planetoid-T and the inductive Planetoid-I.

They classify by features and by embeddings, which are trained to predict contexts: nodes that
random walks meet nearby, and labelled nodes of the same class. `_contexts` draws them, `_state`
holds the weights and their steps, and `_variant` trains a variant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from agnn.data import NodeData, Split
from agnn.graph import SparseFeatures
from agnn.kernels import feature_linear
from agnn.methods._planetoid._contexts import Pairs
from agnn.methods._planetoid._state import ContextSoftmax, Head, Start, State, descend, glorot
from agnn.methods._planetoid._variant import Variant
from agnn.networks import Count, Method, Outcome, Task, register, validation_scores


@register
@dataclass(frozen=True)
class PlanetoidT(Variant):
    """The classifier on features and a table E [n, d], trained on contexts of all nodes.

    One of the two variants of Planetoid. The defaults are the settings of the authors' program for
    CiteSeer.
    """

    name: ClassVar[str] = "planetoid_t"
    title: ClassVar[str] = "Planetoid-T"
    cites: ClassVar[str] = "Yang, Cohen and Salakhutdinov 2016"

    def context_nodes(self, data: NodeData, split: Split) -> NDArray[np.int64]:
        """All nodes."""
        return np.arange(data.nodes)

    def state(self, start: Start) -> State:
        """A table of embeddings near zero, and Glorot's weights."""
        return _Table(self.width, start)


class _Table(State):
    def __init__(self, width: int, start: Start) -> None:
        n = start.x.rows
        drawn = [source.normal(0.0, 0.01, size=(n, width)) for source in start.sources]
        # Row n is the padding of batches with fewer nodes; no step changes it.
        self.table = torch.zeros(len(drawn), n + 1, width, device=start.device)
        self.table[:, :n] = torch.from_numpy(np.stack(drawn))
        # No walk meets an isolated node: its random initial value would remain as noise.
        self.table[:, start.isolated] = 0.0
        self.contexts = ContextSoftmax(glorot(width, n, start.sources, start.device))
        self.head = Head(start, width)

    @property
    def own(self) -> list[Tensor]:
        return [self.table]

    def embeddings(self, nodes: Tensor, x: SparseFeatures) -> Tensor:
        return self.table[:, nodes]

    def learn_labels(self, nodes: Tensor, x: SparseFeatures, labels: Tensor, rate: float) -> None:
        e = self.table[:, nodes].requires_grad_()
        descend(self.head.loss(x, e, labels), [*self.head.parameters, e], rate)
        self.table[:, nodes] = e.detach()

    def learn_contexts(self, pairs: Pairs, rate: float) -> None:
        rows = pairs.nodes[..., None].expand(-1, -1, self.table.shape[2])
        h = self.table.gather(1, rows)
        h.sub_(self.contexts.step(h, pairs, rate))
        self.table.scatter_(1, rows, h)


@register
@dataclass(frozen=True)
class PlanetoidI(Variant):
    """The classifier on features and E = ReLU(X W + w); test nodes are in no context.

    One of the two variants of Planetoid. Unseen nodes have embeddings, too. The defaults are the
    settings of the authors' program for CiteSeer. As there, the context loss shares W with the
    classifier and has its own bias.
    """

    name: ClassVar[str] = "planetoid_i"
    title: ClassVar[str] = "Planetoid-I"
    cites: ClassVar[str] = "Yang, Cohen and Salakhutdinov 2016"

    context_rate: float = 1e-3  # learning rate of the embeddings
    label_pairs: Count = 20
    label_batches: int = 10_000
    walks: Count = 20
    walk_batches: int = 400
    walk_share: float = 0.1

    def context_nodes(self, data: NodeData, split: Split) -> NDArray[np.int64]:
        """All nodes except the test nodes."""
        return np.setdiff1d(np.arange(data.nodes), split.test)

    def state(self, start: Start) -> State:
        """Glorot's weights."""
        return _Encoder(self.width, start)


class _Encoder(State):
    def __init__(self, width: int, start: Start) -> None:
        self.backend = start.backend
        self.rows = DenseRows(start.x)
        self.weight = glorot(start.x.width, width, start.sources, start.device).requires_grad_()
        self.bias = self.weight.new_zeros(len(start.sources), width).requires_grad_()
        self.context_bias = self.weight.new_zeros(len(start.sources), width)
        context_count = int((start.places >= 0).sum())
        self.contexts = ContextSoftmax(glorot(width, context_count, start.sources, start.device))
        self.head = Head(start, width)

    @property
    def own(self) -> list[Tensor]:
        return [self.weight, self.bias]

    def embeddings(self, nodes: Tensor, x: SparseFeatures) -> Tensor:
        return feature_linear(x, self.weight, self.bias, backend=self.backend).relu()

    def learn_labels(self, nodes: Tensor, x: SparseFeatures, labels: Tensor, rate: float) -> None:
        loss = self.head.loss(x, self.embeddings(nodes, x), labels)
        descend(loss, [*self.head.parameters, *self.own], rate)

    def learn_contexts(self, pairs: Pairs, rate: float) -> None:
        x = self.rows(pairs.nodes)
        weight = self.weight.detach()  # x [R, u, d_x]
        h = (x @ weight + self.context_bias[:, None]).relu()
        move = self.contexts.step(h, pairs, rate) * (h > 0.0)
        weight.baddbmm_(x.mT, move, alpha=-1.0)
        self.context_bias.sub_(move.sum(1))


class DenseRows:
    """Dense rows of X [n, d_x], other rows in each replica; row n is all zeros."""

    def __init__(self, x: SparseFeatures) -> None:
        self.x = x
        self.lengths = pad(x.offsets.diff(), (0, 1))
        self.steps = torch.arange(int(self.lengths.max()), device=x.values.device)
        self.columns = x.columns.long()

    def __call__(self, nodes: Tensor) -> Tensor:
        """[R, u, d_x] for nodes [R, u]."""
        is_entry = self.steps < self.lengths[nodes][..., None]
        entries = (self.x.offsets[nodes][..., None] + self.steps) * is_entry
        out = self.x.values.new_zeros(*nodes.shape, self.x.width)
        return out.scatter_add_(2, self.columns[entries], self.x.values[entries] * is_entry)


@register
@dataclass(frozen=True)
class Planetoid(Method):
    """A classifier on features and on embeddings that are trained to predict their contexts.

    The contexts of a node are the nodes near it on random walks and labelled nodes of its class.
    There are two variants: T has a table of embeddings, I computes them from the features. Each
    replica uses the variant with the higher accuracy on its validation nodes.
    """

    name: ClassVar[str] = "planetoid"
    title: ClassVar[str] = "Planetoid"
    cites: ClassVar[str] = "Yang, Cohen and Salakhutdinov 2016"
    fills_a_gpu: ClassVar[bool] = True
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "scale": (1.0, 30.0),
        "width": (50, 100),
        "label_pretraining": (0.2, 1.0),
        "walk_share": (0.5,),
        "epochs": (3000,),
    }

    scale: float = 1.0  # factor of the features; the rates are meant for zeros and ones
    width: Count = 50  # of the embeddings
    walk: Count = 10  # steps of a walk
    window: int = 3  # greatest distance of a context on a walk
    learning_rate: float = 0.1  # of the classifier
    epochs: Count = 1000  # steps of the classifier
    label_pretraining: float = 1.0  # fraction of each variant's label batches
    walk_pretraining: float = 1.0  # fraction of each variant's first walk batches
    walk_share: float = 0.1  # of I's classifier steps that follow one more batch of walks

    def variants(self) -> list[Variant]:
        """T and I with these fields and their own defaults for the others."""
        shared: dict[str, Any] = {
            "scale": self.scale,
            "width": self.width,
            "walk": self.walk,
            "window": self.window,
            "learning_rate": self.learning_rate,
            "epochs": self.epochs,
        }
        pair: list[Variant] = [
            PlanetoidT(**shared),
            PlanetoidI(**shared, walk_share=self.walk_share),
        ]
        return [
            variant.with_fields(
                label_batches=round(self.label_pretraining * variant.label_batches),
                walk_batches=round(self.walk_pretraining * variant.walk_batches),
            )
            for variant in pair
        ]

    def run(self, task: Task) -> Outcome:
        """The scores of each replica by the variant that is better on its validation nodes."""
        scores_of_variants = [variant.run(task).scores for variant in self.variants()]
        shares = [
            validation_scores(
                scores, task.data, task.splits, "to choose the variant on", task.metric
            )
            for scores in scores_of_variants
        ]
        chosen = [pair.index(max(pair)) for pair in zip(*shares, strict=True)]
        return Outcome(torch.stack([scores_of_variants[k][r] for r, k in enumerate(chosen)]))
