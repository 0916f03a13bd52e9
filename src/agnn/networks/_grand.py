"""GRAND: a perceptron on features that are propagated with random rows left out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from agnn.graph import DenseFeatures, Features, Graph, SparseFeatures, View
from agnn.kernels import (
    DenseLinearLink,
    Dropout,
    DropoutAt,
    FirstLayerLink,
    Link,
    PropagateLink,
    ReLU,
    RowDropoutLink,
    TorchLink,
    for_versions,
)
from agnn.networks._consistency import Consistency, ConsistencySettings
from agnn.networks._layers import normal
from agnn.networks._model import (
    INPUT,
    INSIDE,
    OUTPUT,
    ModelShape,
    NodeModel,
    VersionedModel,
    rows_by_layer,
)
from agnn.networks._network import HiddenNetwork, from_attributes, presets_by_dataset
from agnn.networks._protocol import (
    Count,
    NotNegative,
    Positive,
    Presets,
    Rate,
    WholeNumber,
    register,
)
from agnn.training import (
    LowestLoss,
    Objective,
    Selection,
)

_EPSILON = 1e-5
_MOMENTUM = 0.1  # torch's own for batch normalisation


class GRANDModel(VersionedModel):
    """Graph random neural network (Feng et al. 2020).

        X'      = mean over k from 0 to K of P^k (1 - q) X, in training with whole rows dropped
        logits  = dropout(ReLU(dropout(X') W0 + b0)) W1 + b1

    P = D~^-1/2 (A + I) D~^-1/2. Dropped rows are not scaled up in training, so they are scaled
    down by 1 - q otherwise, as in its program. With `has_norm`, batch normalisation acts before
    each dropout.
    """

    def __init__(self, network: GRAND, shape: ModelShape) -> None:
        super().__init__(shape)
        self.row_dropout = network.row_dropout
        self.input_dropout = network.input_dropout
        sources = shape.generators()
        self.first = _Layer(shape.features, network.hidden, sources, has_norm=network.has_norm)
        self.last = _Layer(network.hidden, shape.classes, sources, has_norm=network.has_norm)
        self._inputs: WeakKeyDictionary[View, DenseFeatures] = WeakKeyDictionary()

    def version_links(self, view: View, dropout: Dropout | None, versions: int) -> list[Link]:
        """Propagated features, and the two layers."""
        targets = view.field.targets
        if dropout is None:
            weight, bias = self.last.evaluation_parameters()
            last = DenseLinearLink(weight, bias, targets, None, self.backend)
            return [_PropagatedLayer(self, view), ReLU(), last]
        read = dropout.at(INPUT, versions=versions, rate=self.input_dropout)
        return [
            _PropagatedFeatures(self, view, dropout, versions),
            *self.first.norm(versions),
            self.first.link(targets, read, versions, self.backend),
            ReLU(),
            *self.last.norm(versions),
            self.last.link(targets, dropout.at(OUTPUT, versions=versions), versions, self.backend),
        ]

    @torch.no_grad()
    def random_features(self, view: View, dropout: Dropout, versions: int) -> Tensor:
        """Return X' with rows dropped, the others scaled back up; [R * S, targets, d_x]."""
        x = self._features_for_evaluation(view).expand(self.replicas * versions, -1, -1)
        if self.row_dropout == 0.0:
            return self._mean_over_steps(view, x.contiguous())
        drop = dropout.at(INSIDE, versions=versions, rate=self.row_dropout)
        return self._mean_over_steps(
            view, RowDropoutLink(view.field.nodes, drop, self.backend).forward(x)
        )

    def propagated_features(self, view: View) -> DenseFeatures:
        """Return X' at the targets: the same for all replicas, computed once per view."""
        if view not in self._inputs:
            x = self._mean_over_steps(view, self._features_for_evaluation(view)[None].contiguous())
            self._inputs[view] = DenseFeatures(x[0], view.field.targets)
        return self._inputs[view]

    def _features_for_evaluation(self, view: View) -> Tensor:
        """(1 - q) X; [n', d_x]."""
        return (1.0 - self.row_dropout) * _dense(view)

    @torch.no_grad()
    def _mean_over_steps(self, view: View, x: Tensor) -> Tensor:
        """The mean of x and its K propagations, at the targets; [., targets, d_x]."""
        targets = view.field.sizes[0]
        total = x[:, :targets].clone()
        for rows in rows_by_layer(view):
            x = PropagateLink(view.symmetric_propagation, rows, self.backend).forward(x)
            total += x[:, :targets]
        return total.mul_(1.0 / (self.hops + 1))


class _PropagatedFeatures(Link):
    """X' of every version, which no parameter changes: the start of a training step's chain."""

    is_over_edges: ClassVar[bool] = True
    unexplained: ClassVar[str | None] = (
        "its hidden units act on features that are propagated before, and a unit has no node"
    )

    def __init__(self, model: GRANDModel, view: View, dropout: Dropout, versions: int) -> None:
        self.model = model
        self.view = view
        self.dropout = dropout
        self.versions = versions

    def forward(self, x: Tensor) -> Tensor:
        """The features [R * S, targets, d_x]; the input is not read."""
        return self.model.random_features(self.view, self.dropout, self.versions)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Nothing before it is learned."""
        return gradient, ()


class _PropagatedLayer(Link):
    """X' W + b without dropout, normalised by the running statistics."""

    is_over_edges: ClassVar[bool] = True
    unexplained: ClassVar[str | None] = _PropagatedFeatures.unexplained

    def __init__(self, model: GRANDModel, view: View) -> None:
        weight, bias = model.first.evaluation_parameters()
        features = model.propagated_features(view)
        self.inner = FirstLayerLink(features, weight, bias, None, model.backend)
        self.parameters = self.inner.parameters

    def forward(self, x: Tensor) -> Tensor:
        """The states [R, targets, d]; the input is not read."""
        return self.inner.forward(x)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradients at the weight and at the bias."""
        return self.inner.backward(gradient)


class _Layer(nn.Module):
    """A linear layer with an optional batch normalisation of its input."""

    mean: Tensor
    variance: Tensor

    def __init__(
        self, width: int, outputs: int, sources: Sequence[torch.Generator], *, has_norm: bool
    ) -> None:
        super().__init__()
        # Its program draws weights and biases with this deviation around minus itself.
        deviation = 1.0 / math.sqrt(outputs)
        weight = normal(sources, width, outputs, deviation=deviation)
        self.weight = nn.Parameter(weight - deviation)
        self.bias = nn.Parameter(normal(sources, outputs, deviation=deviation) - deviation)
        self.has_norm = has_norm
        if has_norm:
            shape = (len(sources), width)
            self.scale = nn.Parameter(torch.ones(shape))
            self.shift = nn.Parameter(torch.zeros(shape))
            self.register_buffer("mean", torch.zeros(shape))
            self.register_buffer("variance", torch.ones(shape))

    def link(
        self, row_ids: Tensor, drop: DropoutAt, versions: int, backend: str
    ) -> DenseLinearLink:
        """The linear layer for several versions."""
        weight = for_versions(self.weight, versions)
        bias = for_versions(self.bias, versions)
        return DenseLinearLink(weight, bias, row_ids, drop, backend)

    def norm(self, versions: int) -> list[Link]:
        """The normalisation of a training step, if there is one."""
        if not self.has_norm:
            return []
        return [TorchLink(lambda x: self._normalise(x, versions), "BatchNorm")]

    def _normalise(self, x: Tensor, versions: int) -> Tensor:
        """Training states [R * S, n, d] by their own mean and variance, which are remembered."""
        mean = x.mean(1)
        centred = x - mean[:, None]
        variance = centred.square().mean(1)
        self._remember(mean.detach(), variance.detach(), x.shape[1], versions)
        scale = for_versions(self.scale, versions) * (variance + _EPSILON).rsqrt()
        return centred * scale[:, None] + for_versions(self.shift, versions)[:, None]

    @torch.no_grad()
    def _remember(self, mean: Tensor, variance: Tensor, rows: int, versions: int) -> None:
        """Move the running statistics towards those of each version, one after the other."""
        unbiased = variance * (rows / max(1, rows - 1))
        for running, statistics in ((self.mean, mean), (self.variance, unbiased)):
            for statistic in statistics.view(-1, versions, statistics.shape[1]).unbind(1):
                running.lerp_(statistic, _MOMENTUM)

    def evaluation_parameters(self) -> tuple[Tensor, Tensor]:
        """Weight and bias with the normalisation by the running statistics inside."""
        if not self.has_norm:
            return self.weight, self.bias
        scale = self.scale * (self.variance + _EPSILON).rsqrt()
        shift = self.shift - self.mean * scale
        bias = self.bias + (shift[..., None] * self.weight).sum(1)
        return (scale[..., None] * self.weight).contiguous(), bias


def _dense(view: View) -> Tensor:
    """X as a dense matrix; [n', d_x]."""
    x = view.features
    if not isinstance(x, SparseFeatures):
        return x.values.to(x.dtype)
    dense = x.values.new_zeros(x.rows, x.width)
    dense[x.row_of_entry, x.columns.to(torch.int64)] = x.values
    return dense


_BY_DATASET: Mapping[str, Mapping[str, Any]] = {
    "cora": {"steps": 8},
    "citeseer": {
        "steps": 2, "versions": 2, "temperature": 0.3, "strength": 0.7, "input_dropout": 0.0,
        "dropout": 0.2,
    },
    "pubmed": {
        "steps": 5, "temperature": 0.2, "learning_rate": 0.2, "input_dropout": 0.6,
        "dropout": 0.8, "has_norm": True, "patience": 100,
    },
}  # fmt: skip


@register
@dataclass(frozen=True)
class GRAND(HiddenNetwork):
    """A perceptron on propagated features with random rows left out, made consistent.

    The presets are its authors' settings. Other graphs have those of Cora with fewer steps.
    """

    name: ClassVar[str] = "grand"
    title: ClassVar[str] = "GRAND"
    cites: ClassVar[str] = "Feng, Zhang, Dong et al. 2020"
    uses_edge_weights: ClassVar[bool] = True
    model: ClassVar[type[NodeModel]] = GRANDModel
    hops: ClassVar[int | str] = "steps"
    rule: ClassVar[type[Selection]] = LowestLoss
    or_accuracy: ClassVar[bool] = True  # better accuracy counts as progress, too
    presets: ClassVar[Presets] = presets_by_dataset(_BY_DATASET)

    steps: WholeNumber = 4  # K
    hidden: Count = 32
    epochs: int = 5000
    patience: Count = 200  # epochs without progress that end the training
    input_dropout: Rate = 0.5  # of the input of the first layer
    row_dropout: Rate = 0.5  # q
    versions: Count = 4  # S
    strength: NotNegative = 1.0  # lambda
    temperature: Positive = 0.5  # T
    has_norm: bool = False  # batch normalisation before both layers

    @property
    def versions_per_step(self) -> int:
        """S."""
        return self.versions

    def objective(self, model: NodeModel, features: Features, graph: Graph) -> Objective | None:
        """Cross-entropy of all versions, and their consistency."""
        settings = from_attributes(ConsistencySettings, self)
        return Consistency(cast(GRANDModel, model), features, graph, settings)
