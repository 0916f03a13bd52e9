"""DCNN: diffused features, scaled step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from agnn.data import NodeData, Scaling
from agnn.graph import Graph, Propagation, SparseFeatures, View
from agnn.kernels import Dropout, Link
from agnn.networks._layers import glorot_uniform, normal
from agnn.networks._model import ModelShape, NodeModel
from agnn.networks._network import Matrix, NetworkMethod, propagated_entries
from agnn.networks._protocol import Count, Presets, WholeNumber, register
from agnn.training import HighestAccuracy, Part, Recipe


class DCNNModel(NodeModel):
    """Diffusion-convolutional network (Atwood and Towsley 2016).

        logits = tanh(X' diag(s)) W + b,  X' = [X, P X, P^2 X, ...]

    The caller computes X' once; s holds one weight per step and feature. No layer propagates, so a
    view is the rows themselves.
    """

    def __init__(self, network: DCNN, shape: ModelShape) -> None:
        super().__init__(shape)
        sources = shape.generators()
        self.scale = nn.Parameter(normal(sources, shape.features, deviation=0.01))
        self.weight = nn.Parameter(glorot_uniform(sources, shape.features, shape.classes))
        self.bias = nn.Parameter(torch.zeros(shape.replicas, shape.classes))

    def links(self, view: View, dropout: Dropout | None) -> list[Link]:
        """The one operation; nothing is dropped."""
        return [_TanhLinear(view.sparse_features, self.scale, self.weight, self.bias)]


class _TanhLinear(Link):
    """tanh(X diag(s)) W + b for sparse X [n, d_x]: the start of a chain, in plain torch.

    An absent entry stays absent, since tanh(0) = 0, so every product with X is a sum of the rows
    that X names. One replica after the other: none changes another's bits.
    """

    unexplained: ClassVar[str | None] = (
        "its features are propagated before training and pass through tanh, so no part of a logit "
        "belongs to one node"
    )

    def __init__(self, x: SparseFeatures, scale: Tensor, weight: Tensor, bias: Tensor) -> None:
        self.x = x
        self.parameters = (scale, weight, bias)  # [R, d_x], [R, d_x, k], [R, k]

    def forward(self, x: Tensor) -> Tensor:
        """Logits [R, n, k]."""
        columns = self.x.columns.to(torch.int64)
        return torch.stack(
            [
                _row_sums(weight, columns, self.x.offsets, _tanh(self.x.values * scale[columns]))
                + bias
                for scale, weight, bias in zip(*self.parameters, strict=True)
            ]
        )

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradients at the scale, at the weight and at the bias."""
        scales, weights, _ = self.parameters
        offsets, rows, values = self.x.by_column
        rows = rows.to(torch.int64)
        lengths = offsets.diff()
        of_scale = []
        of_weight = []
        for scale, weight, slopes in zip(scales, weights, gradient, strict=True):
            # With its size given, a GPU need not wait for it.
            by_entry = scale.repeat_interleave(lengths, output_size=rows.numel())
            squashed = _tanh(values * by_entry)
            of_weight.append(_row_sums(slopes, rows, offsets, squashed))
            inner = _row_sums(slopes, rows, offsets, (1.0 - squashed.square()) * values)
            of_scale.append((inner * weight).sum(-1))
        # In double precision: rows that are zero then change no bit of the sum.
        of_bias = gradient.double().sum(1).to(gradient.dtype)
        return gradient, (torch.stack(of_scale), torch.stack(of_weight), of_bias)


def _tanh(x: Tensor) -> Tensor:
    """Return tanh, rounded from double precision.

    In single precision torch's last bit depends on where a number stands in the array, so a row
    would have other bits among other rows.
    """
    return torch.tanh(x.double()).to(x.dtype)


def _row_sums(table: Tensor, rows: Tensor, offsets: Tensor, weights: Tensor) -> Tensor:
    """Return the weighted sum of the rows of `table` that stand between two offsets."""
    return nn.functional.embedding_bag(
        rows,
        table,
        offsets,
        mode="sum",
        per_sample_weights=weights,
        include_last_offset=True,
    )


@register
@dataclass(frozen=True)
class DCNN(NetworkMethod):
    """A classifier of tanh(s X'), X' the features after 0 to `steps` steps of diffusion."""

    name: ClassVar[str] = "dcnn"
    title: ClassVar[str] = "DCNN"
    cites: ClassVar[str] = "Atwood and Towsley 2016"
    uses_edge_weights: ClassVar[bool] = True
    model: ClassVar[type[NodeModel]] = DCNNModel
    hops: ClassVar[int | str] = 0  # during training
    takes_class_weights: ClassVar[bool] = False  # it is trained in batches
    presets: ClassVar[Presets] = {
        ("cross-validation", "*"): {"watched": "test"},
    }

    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"learning_rate": (0.001, 0.005, 0.02)}

    scaling: Scaling = "none"
    steps: WholeNumber = 2  # powers of the transition matrix
    learning_rate: float = 0.005  # of Adam
    weight_decay: float = 0.0  # weight of the L2 penalty
    batch: Count = 10
    epochs: int = 100  # at most
    window: Count = 4  # epochs over which the watched accuracy is averaged
    watched: Part = "validation"  # the nodes by which the epoch is chosen

    def input_width(self, features: int) -> int:
        """Return the width of the features and one copy per step."""
        return features * (self.steps + 1)

    features_by_row: ClassVar[bool] = False

    def input_entries(self, data: NodeData) -> int:
        """Return an upper bound: propagation fills rows with their neighbours' columns."""
        return sum(propagated_entries(data, self.steps))

    def features(self, data: NodeData, fitted_on: NodeData | None = None) -> Matrix:
        """Return [X, P X, P^2 X, ...]."""
        from scipy.sparse import csr_array, hstack

        P = Propagation.diffusion(Graph.of(data), torch.float64).matrix()
        parts = [csr_array(super().features(data, fitted_on))]
        for _ in range(self.steps):
            parts.append(P @ parts[-1])
        return csr_array(hstack(parts))

    def recipe(self) -> Recipe:
        """Adam on batches, without dropout."""
        return Recipe(
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            dropout=0.0,
            batch=self.batch,
            selection=HighestAccuracy(self.window, self.watched),
        )
