"""Semi-supervised embedding: an MLP whose hidden states are similar along edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import Tensor

from agnn.graph import Features, Graph, View
from agnn.kernels import Dropout
from agnn.networks._model import NodeModel
from agnn.networks._multilayer_perceptron import MLPModel
from agnn.networks._network import HiddenNetwork
from agnn.networks._protocol import Count, register
from agnn.training import ExtraLoss, HighestAccuracy, Selection

_PAIRS = 1  # the random stream of the pairs; weights and dropout have their own


@register
@dataclass(frozen=True)
class SemiSupervisedEmbedding(HiddenNetwork):
    """softmax(H W1 + b1), H = ReLU(X W0 + b0), with a second loss on pairs of hidden states.

        mean over L of the cross-entropy
        + `weight` (mean over edges of |h_i - h_j|^2
                    + mean over other pairs of max(0, `margin` - |h_i - h_j|)^2)

    Every step draws `pairs` edges and as many random pairs of nodes. A random pair may be an edge,
    which is too rare to matter.
    """

    name: ClassVar[str] = "semi_supervised_embedding"
    title: ClassVar[str] = "SemiEmb"
    cites: ClassVar[str] = "Weston, Ratle, Mobahi and Collobert 2012"
    model: ClassVar[type[NodeModel]] = MLPModel
    hops: ClassVar[int | str] = 0  # the graph enters the loss only
    rule: ClassVar[type[Selection]] = HighestAccuracy
    decayed: ClassVar[tuple[str, ...]] = ("first.weight", "last.weight")
    has_bias: ClassVar[bool] = True
    has_checkpoints: ClassVar[bool] = False  # its pairs come from generators with a state
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"weight": (0.1, 1.0, 10.0)}

    weight: float = 1.0  # of the second loss
    margin: float = 1.0  # distance that random pairs should have
    pairs: Count = 2000  # of each kind, per step
    window: Count = 4  # epochs over which the watched accuracy is averaged

    def extra_loss(
        self, model: NodeModel, features: Features, graph: Graph, seeds: Sequence[int]
    ) -> ExtraLoss:
        """Return the loss on pairs, which are drawn anew in every step."""
        perceptron = cast(MLPModel, model)
        view = View.whole(features, graph, model.hops)
        sources = [np.random.default_rng((seed, _PAIRS)) for seed in seeds]

        def losses(dropout: Dropout) -> Tensor:
            h = perceptron.hidden_states(view, dropout)
            n = graph.nodes
            m = graph.edges
            apart = torch.from_numpy(
                np.stack([s.integers(n, size=(2, self.pairs)) for s in sources])
            )
            far = squared_distances(h, *apart.to(h.device).unbind(1))
            total = (self.margin - (far + 1e-12).sqrt()).relu().square().mean(1)
            if m:
                drawn = torch.from_numpy(
                    np.stack([s.integers(m, size=self.pairs) for s in sources])
                )
                edges = drawn.to(h.device)
                near = squared_distances(h, graph.receivers[edges], graph.senders[edges])
                total = total + near.mean(1)
            return self.weight * total

        return losses


def squared_distances(h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """Return |h_i - h_j|^2 for pairs of nodes i, j [R, k] and states h [R, n, d]; [R, k]."""
    replicas, n, d = h.shape
    # One long table: its gradient is summed replica by replica in the order of the pairs, so a
    # replica gets the same bits alone and in a batch.
    table = h.reshape(-1, d)
    start = torch.arange(replicas, device=h.device)[:, None] * n
    ends = [table.index_select(0, (nodes + start).flatten()) for nodes in (i, j)]
    return (ends[0] - ends[1]).square().sum(-1).view(i.shape)
