"""Planetoid's classifier: one softmax on features, one on embeddings, and one over the two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from agnn.graph import FeatureMatrix
from agnn.kernels import sparse_linear
from agnn.methods.planetoid.initial import glorot

if TYPE_CHECKING:
    from agnn.methods.planetoid.state import Start


class Head:
    """a = softmax(X Wa + ba),  b = softmax(E Wb + bb),  out = softmax([a, b] Wo + bo).

    The loss is the sum of the three mean cross-entropies; the middle layers are probabilities.
    """

    def __init__(self, start: Start, width: int) -> None:
        self.backend, sizes = start.backend, (start.x.width, width, 2 * start.classes)
        self.weights = [
            glorot(inputs, start.classes, start.sources, start.device).requires_grad_()
            for inputs in sizes
        ]
        self.biases = [
            torch.zeros_like(weight[:, 0], requires_grad=True) for weight in self.weights
        ]

    @property
    def parameters(self) -> list[Tensor]:
        """Weights and biases, leaves; [R, ...] each."""
        return [*self.weights, *self.biases]

    def logits(self, x: FeatureMatrix, e: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Of a, b and out for features [k, d_x] and embeddings [R, k, d]; each [R, k, c]."""
        (wa, wb, wo), (ba, bb, bo) = self.weights, self.biases
        a = sparse_linear(x, wa, ba, backend=self.backend)
        b = torch.baddbmm(bb[:, None], e, wb)
        return a, b, torch.baddbmm(bo[:, None], torch.cat([a.softmax(2), b.softmax(2)], 2), wo)

    def loss(self, x: FeatureMatrix, e: Tensor, labels: Tensor) -> Tensor:
        """Summed over the replicas, for the labels [k] of the rows."""
        losses = [
            cross_entropy(each.flatten(0, 1), labels.repeat(each.shape[0]), reduction="sum")
            for each in self.logits(x, e)
        ]
        return torch.stack(losses).sum() / labels.numel()
