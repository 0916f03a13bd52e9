"""Networks that keep a node's own state apart from its neighbours': the separated block, GraphSAGE.

Averaging a node with its neighbours erases what tells it apart from them. Where edges join nodes
of different classes that is the signal, so these models give both to a linear map, side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, cast, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from agnn.data import NodeData, Scaling
from agnn.errors import InputError, unknown_name
from agnn.graph import View
from agnn.kernels import Attention, Dropout, dropout, propagate, scale_held
from agnn.networks._network import HiddenNetwork
from agnn.networks._protocol import Method, Task, register
from agnn.nn import (
    INPUT,
    INSIDE,
    OUTPUT,
    SUM_OVER_PATHS,
    Beta,
    CosineAttention,
    FeatureLinear,
    Hop,
    Linear,
    ModelShape,
    NodeModel,
    Paths,
    at,
    last_hop,
    rows_by_layer,
)
from agnn.training import BestScore, Footprint, Selection

Weights = Literal["attention", "symmetric"]
Normalisation = Literal["layer", "none"]


class _Block(nn.Module):
    """GELU([Z, M] W + b) W' + b' for own states Z and neighbourhood means M."""

    def __init__(self, width: int, sources: Sequence[torch.Generator]) -> None:
        super().__init__()
        # [Z, M] W is Z W_own + M W_mean: nothing has to be copied side by side. Each half starts
        # as Glorot's for its own shape.
        self.own = Linear(width, width, sources, has_bias=True)
        self.mean = Linear(width, width, sources, has_bias=False)
        self.outer = Linear(width, width, sources, has_bias=True)


class SeparatedModel(NodeModel):
    """A deep network of separated blocks, after Platonov et al. 2023.

        H(0)   = dropout(GELU(dropout(X) W0 + b0))
        Z      = norm(H(t)),  M = P(t) Z
        H(t+1) = H(t) + dropout(dropout(GELU([Z, M] W + b)) W' + b')
        logits = norm(H(l)) W1 + b1

    P(t) is the attention of AGNN or the fixed weights of GCN; norm scales every node's state to
    mean 0 and variance 1, or is left out.
    """

    unexplained: ClassVar[str | None] = (
        "its blocks add a normalised transformation of each state to the state itself, so a path "
        "has no single weight"
    )

    def __init__(self, network: Separated, shape: ModelShape) -> None:
        super().__init__(shape)
        sources = shape.generators()
        self.normalisation = network.normalisation
        self.first = FeatureLinear(shape.features, network.hidden, sources, has_bias=True)
        self.blocks = nn.ModuleList(_Block(network.hidden, sources) for _ in range(network.layers))
        self.attention = nn.ModuleList(
            CosineAttention(Beta(), shape.replicas)
            for _ in range(network.layers if network.weights == "attention" else 0)
        )
        self.last = Linear(network.hidden, shape.classes, sources, has_bias=True)

    @property
    def betas(self) -> Tensor | None:
        """Every attention layer's scalar, [R, l]; None with fixed weights."""
        if not self.attention:
            return None
        return torch.stack([self._attention(t).beta.detach() for t in range(self.hops)], dim=1)

    def logits(self, view: View, drop: Dropout | None) -> Tensor:
        """Logits [R, targets, c]."""
        nodes, backend = view.field.nodes, self.backend

        def dropped(h: Tensor, place: int) -> Tensor:
            return dropout(h, nodes[: h.shape[1]], at(drop, place), backend=backend)

        h = functional.gelu(self.first(view.features, at(drop, INPUT), backend))
        h = dropped(h, INSIDE)
        for t, rows in enumerate(rows_by_layer(view)):
            block, place = self._block(t), INSIDE + 1 + 2 * t
            z = self._normalised(h)
            own = block.own(z[:, :rows].contiguous(), nodes[:rows], None, backend)
            mixed = own + block.mean(self._mean(view, t, z, rows), nodes[:rows], None, backend)
            change = block.outer(functional.gelu(mixed), nodes[:rows], at(drop, place), backend)
            h = h[:, :rows] + dropped(change, place + 1)
        logits: Tensor = self.last(self._normalised(h), view.field.targets, None, backend)
        return logits

    # A ModuleList forgets its types.
    def _block(self, layer: int) -> _Block:
        return cast(_Block, self.blocks[layer])

    def _attention(self, layer: int) -> CosineAttention:
        return cast(CosineAttention, self.attention[layer])

    def _normalised(self, h: Tensor) -> Tensor:
        return functional.layer_norm(h, h.shape[-1:]) if self.normalisation == "layer" else h

    def _mean(self, view: View, layer: int, z: Tensor, rows: int) -> Tensor:
        """P(t) Z at the first `rows` nodes."""
        if self.attention:
            attend = self._attention(layer)
            return attend.forward(view.field.graph, z, rows, self.backend)
        return propagate(view.symmetric_propagation, z, rows=rows, backend=self.backend)


class GraphSAGEModel(NodeModel):
    """GraphSAGE with the mean over all neighbours (Hamilton, Ying and Leskovec 2017).

        H(0)     = X
        H(t+1)_i = norm(ReLU(dropout(H(t))_i W_own + mean over j in N(i) of dropout(H(t))_j W_mean))
        logits   = dropout(H(l)) W1 + b1

    norm scales a row to length 1. Their program draws a few neighbours per node; here the mean is
    over all of them.
    """

    unexplained: ClassVar[str | None] = None

    def __init__(self, network: GraphSAGE, shape: ModelShape) -> None:
        super().__init__(shape)
        sources = shape.generators()
        self.first_own = FeatureLinear(shape.features, network.hidden, sources, has_bias=False)
        self.first_mean = FeatureLinear(shape.features, network.hidden, sources, has_bias=False)
        self.own = nn.ModuleList(
            Linear(network.hidden, network.hidden, sources, has_bias=False)
            for _ in range(network.layers - 1)
        )
        self.mean = nn.ModuleList(
            Linear(network.hidden, network.hidden, sources, has_bias=False)
            for _ in range(network.layers - 1)
        )
        self.last = Linear(network.hidden, shape.classes, sources, has_bias=True)

    def logits(self, view: View, drop: Dropout | None) -> Tensor:
        """Logits [R, targets, c]."""
        nodes, backend = view.field.nodes, self.backend
        # The mean of mapped states is the mapped mean, so the narrower of the two travels.
        own = self.first_own(view.features, at(drop, INPUT), backend)
        sent = self.first_mean(view.features, at(drop, INPUT), backend)
        h = own
        for t, rows in enumerate(rows_by_layer(view)):
            if t > 0:
                place, read = at(drop, INSIDE + t), nodes[: h.shape[1]]
                own = self.own[t - 1](h, read, place, backend)
                sent = self.mean[t - 1](h, read, place, backend)
            mean = propagate(view.mean_propagation, sent, rows=rows, backend=backend)
            mixed = own[:, :rows] + mean
            h = scale_held(mixed, functional.normalize(functional.relu(mixed), dim=2))
        logits: Tensor = self.last(h, view.field.targets, at(drop, OUTPUT), backend)
        return logits

    def propagation(self, view: View) -> Paths:
        """The node itself and the mean over its neighbours, in every layer."""
        hops = tuple(Hop(Attention(*(part.sum(-1) for part in p))) for p in self._heads(view))
        notes = (
            "GraphSAGE learns no attention: the neighbours of a node count alike, which says "
            "nothing about what it found important.",
            SUM_OVER_PATHS,
        )
        return Paths(hops, last_hop(self.hops), is_attention=False, notes=notes)

    def _heads(self, view: View) -> list[Attention]:
        """By layer: head 0 reads the node itself, head 1 the mean over its neighbours."""
        graph, weights = view.field.graph, view.mean_propagation

        def heads(own: Tensor, sent: Tensor) -> Tensor:
            return torch.stack([own, sent], -1).expand(self.replicas, -1, 2)

        found = []
        for rows in rows_by_layer(view):
            edges, loops = weights.edge_weights[: graph.edges_of(rows)], weights.loop_weights[:rows]
            own, none = torch.ones_like(loops), torch.zeros_like(edges)
            found.append(Attention(heads(none, edges), heads(own, loops)))
        return found


_REPLICAS_FOR_CHOICE = 3  # replicas that every candidate is tried with


@register
@dataclass(frozen=True)
class Separated(HiddenNetwork):
    """Residual blocks that read a node's own state beside the mean of its neighbourhood.

    With two classes the epoch is chosen by the area under the ROC curve, otherwise by accuracy.
    By default three settings are tried on the validation nodes, and the best is trained: this one,
    one twice as deep, and a strongly regularised one for few nodes with many features. Changing
    any of the fields in which they differ switches that off.
    """

    name: ClassVar[str] = "separated"
    title: ClassVar[str] = "Separated"
    cites: ClassVar[str] = "Platonov, Kuznedelev, Diskin et al. 2023"
    uses_edge_weights: ClassVar[bool] = True
    model: ClassVar[type[NodeModel]] = SeparatedModel
    candidates: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {"layers": 5, "dropout": 0.2, "weight_decay": 0.0, "scaling": "standard"},
        {"layers": 10, "dropout": 0.2, "weight_decay": 0.0, "scaling": "standard"},
        {"layers": 5, "dropout": 0.5, "weight_decay": 5e-3, "scaling": "length"},
    )

    layers: int = 5  # propagation layers
    hidden: int = 64  # width of the hidden states
    learning_rate: float = 3e-3  # of Adam
    weight_decay: float = 0.0  # weight of the L2 penalty
    dropout: float = 0.2  # share of states that a step drops
    scaling: Scaling = "standard"
    epochs: int = 1000  # at most
    patience: int = 200  # epochs without progress that end the training
    weights: Weights = "symmetric"  # of the edges
    normalisation: Normalisation = "layer"  # before every layer
    tries_candidates: bool = True  # whether settings are chosen on validation nodes

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layers < 1:
            raise InputError(f"`layers` must be at least 1; got {self.layers}.")
        for name, allowed in (("weights", Weights), ("normalisation", Normalisation)):
            if getattr(self, name) not in get_args(allowed):
                raise unknown_name(name, str(getattr(self, name)), get_args(allowed))

    def with_fields(self, **changes: Any) -> Self:
        """A copy with some hyper-parameters changed; None changes nothing."""
        given = {name for name, value in changes.items() if value is not None}
        if given & set(self.candidates[0]):
            changes = {"tries_candidates": False} | changes
        return super().with_fields(**changes)

    def suited(self, data: NodeData) -> Method:
        """Itself: the candidates differ in how they scale features."""
        return self

    def settled(self, task: Task) -> Method:
        """The candidate with the best mean score at the validation nodes of the first replicas."""
        if not self.tries_candidates:
            return self
        made = [replace(self, tries_candidates=False, **fields) for fields in self.candidates]
        few = task.first(_REPLICAS_FOR_CHOICE)
        if (tell := task.progress) is not None:  # nothing of the training is done yet
            few = replace(few, progress=lambda _, total: tell(0, total))
        return max(made, key=lambda candidate: _selected_score(candidate, few))

    @property
    def propagation_steps(self) -> int:
        """One per layer."""
        return self.layers

    def footprint(self, classes: int) -> Footprint:
        """Return what a step holds per node and edge beyond AGNN with as many layers."""
        return Footprint(per_node=4 * self.layers * self.hidden)

    def selection(self) -> Selection:
        """The epoch with the best score."""
        return BestScore(self.patience, self.watched, "best")


def _selected_score(method: Method, task: Task) -> float:
    """The mean over replicas of the watched score at the selected epoch."""
    history = method.run(task).history
    assert history is not None  # noqa: S101 (a network has one)
    rows = (history.selected_epochs - 1).clamp(min=0)
    return float(history.watched_accuracy[rows, torch.arange(rows.numel())].mean())


@register
@dataclass(frozen=True)
class GraphSAGE(HiddenNetwork):
    """A node's own state and the mean over its neighbours, each through a map of its own.

    Adam's rate is that of its authors' program; width, dropout and weight decay, which they tune
    for other tasks, are those of the networks here.
    """

    name: ClassVar[str] = "graphsage"
    title: ClassVar[str] = "GraphSAGE"
    cites: ClassVar[str] = "Hamilton, Ying and Leskovec 2017"
    uses_edge_weights: ClassVar[bool] = True
    model: ClassVar[type[NodeModel]] = GraphSAGEModel

    layers: int = 2  # propagation layers
    hidden: int = 128  # width of the hidden states
    epochs: int = 1000  # at most
    patience: int = 100  # epochs without progress that end the training
    scaling: Scaling = "length"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layers < 1:
            raise InputError(f"`layers` must be at least 1; got {self.layers}.")

    @property
    def propagation_steps(self) -> int:
        """One per layer."""
        return self.layers

    def footprint(self, classes: int) -> Footprint:
        """Return what a step holds per node and edge beyond AGNN with as many layers."""
        return Footprint(per_node=2 * self.layers * self.hidden)

    def selection(self) -> Selection:
        """The epoch with the best score."""
        return BestScore(self.patience, self.watched, "best")
