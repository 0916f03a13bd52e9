"""Planetoid's weights: the classifier, the context loss and the steps that train them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from agnn.graph import SparseFeatures
from agnn.kernels import feature_linear
from agnn.methods._planetoid._contexts import Pairs

# Limit for one embedding in one batch. The loss is a sum, and a hub is on many walks of a batch:
# unlimited steps of hubs grow until float32 overflows. On Cora the limit acts on one row in 2000.
_LONGEST_MOVE = 1.0


@dataclass(frozen=True, eq=False)
class Start:
    """What initial weights depend on, for replicas with the same data, split and device."""

    x: SparseFeatures  # [n, d_x], on the device
    classes: int
    places: NDArray[np.int64]  # [n + 1], position of a node among the contexts; -1 for none
    isolated: Tensor  # the nodes without neighbours
    sources: Sequence[np.random.Generator]  # one per replica
    device: str
    backend: str


class State(ABC):
    """The weights of several replicas in training, and the two steps that change them."""

    head: Head

    @property
    @abstractmethod
    def own(self) -> list[Tensor]:
        """The weights that the embeddings depend on; [R, ...] each."""

    @abstractmethod
    def embeddings(self, nodes: Tensor, x: SparseFeatures) -> Tensor:
        """The embeddings of nodes [k] with features x [k, d_x] for the classifier; [R, k, d]."""

    @abstractmethod
    def learn_labels(self, nodes: Tensor, x: SparseFeatures, labels: Tensor, rate: float) -> None:
        """Take a gradient step of the classifier and of its embeddings."""

    @abstractmethod
    def learn_contexts(self, pairs: Pairs, rate: float) -> None:
        """Take a gradient step on the context loss."""

    @property
    def answering(self) -> list[Tensor]:
        """All weights that the scores depend on; [R, ...] each."""
        return [*self.head.parameters, *self.own]

    @torch.no_grad()
    def scores(self, nodes: Tensor, x: SparseFeatures) -> Tensor:
        """Class probabilities of nodes [k] with features x [k, d_x]; [R, k, c]."""
        return self.head.logits(x, self.embeddings(nodes, x))[2].softmax(2)


class Head:
    """The classifier: a softmax on features, one on embeddings, and one on both results.

    a = softmax(X Wa + ba),  b = softmax(E Wb + bb),  out = softmax([a, b] Wo + bo).

    The loss is the sum of the three mean cross-entropies.
    """

    def __init__(self, start: Start, width: int) -> None:
        self.backend = start.backend
        sizes = (start.x.width, width, 2 * start.classes)
        self.weights = [
            glorot(inputs, start.classes, start.sources, start.device).requires_grad_()
            for inputs in sizes
        ]
        self.biases = [
            torch.zeros_like(weight[:, 0], requires_grad=True) for weight in self.weights
        ]

    @property
    def parameters(self) -> list[Tensor]:
        """Weights and biases, all leaves; [R, ...] each."""
        return [*self.weights, *self.biases]

    def logits(self, x: SparseFeatures, e: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Of a, b and out for features [k, d_x] and embeddings [R, k, d]; each [R, k, c]."""
        (wa, wb, wo) = self.weights
        (ba, bb, bo) = self.biases
        a = feature_linear(x, wa, ba, backend=self.backend)
        b = torch.baddbmm(bb[:, None], e, wb)
        return a, b, torch.baddbmm(bo[:, None], torch.cat([a.softmax(2), b.softmax(2)], 2), wo)

    def loss(self, x: SparseFeatures, e: Tensor, labels: Tensor) -> Tensor:
        """The loss for the labels [k] of the rows, summed over the replicas."""
        losses = [
            cross_entropy(logits.flatten(0, 1), labels.repeat(logits.shape[0]), reduction="sum")
            for logits in self.logits(x, e)
        ]
        return torch.stack(losses).sum() / labels.numel()


class ContextSoftmax:
    """The context loss: a softmax over all contexts, minimised by plain gradient descent.

    The loss is -sum over pairs of log softmax(h_i V + v)[context]. It is the sum, not the mean,
    because the learning rates of the authors' program are for the sum. A step takes
    (distinct nodes in the batch) x (contexts) x width operations, and memory for the first two.
    """

    def __init__(self, weight: Tensor) -> None:
        # V [R, d, n], each context's column contiguous, which is twice as fast on a CPU.
        self.weight = weight.mT.contiguous().mT
        self.bias = weight.new_zeros(weight.shape[0], weight.shape[2])  # v [R, n]

    def step(self, h: Tensor, pairs: Pairs, rate: float) -> Tensor:
        """Update V and v; return the update of the embeddings `h` [R, u, d], to be subtracted.

        It is `rate` times the gradient at `h`, each row at most `_LONGEST_MOVE` long.
        """
        slopes = self.slopes(h, pairs)
        move = (slopes @ self.weight.mT).mul_(rate)
        self.weight.mT.baddbmm_(slopes.mT, h, alpha=-rate)
        self.bias.sub_(slopes.sum(1), alpha=rate)
        return move.mul_((_LONGEST_MOVE / move.norm(dim=2, keepdim=True)).clamp_max(1.0))

    def slopes(self, h: Tensor, pairs: Pairs) -> Tensor:
        """The gradient at the logits: (pairs of the row) softmax - (pairs with the context)."""
        slopes = torch.baddbmm(self.bias[:, None], h, self.weight).softmax(2)
        counts = h.new_zeros(h.shape[:2]).scatter_add_(1, pairs.rows, pairs.weights)
        slopes *= counts[..., None]
        positions = pairs.rows * slopes.shape[2] + pairs.contexts
        # The values added at one place are all equal or 0, so their order changes no bit.
        slopes.view(slopes.shape[0], -1).scatter_add_(1, positions, -pairs.weights)
        return slopes


def glorot(
    fan_in: int, fan_out: int, sources: Sequence[np.random.Generator], device: str
) -> Tensor:
    """Weights [R, fan_in, fan_out], uniform within +-sqrt(6 / (fan_in + fan_out)).

    Each replica draws from its own source, so its weights do not depend on the other replicas.
    """
    bound = math.sqrt(6.0 / (fan_in + fan_out))
    drawn = [source.uniform(-bound, bound, size=(fan_in, fan_out)) for source in sources]
    return torch.from_numpy(np.stack(drawn)).to(device, torch.float32)


def descend(loss: Tensor, parameters: Sequence[Tensor], rate: float) -> None:
    """Take a gradient step of `parameters`, which are leaves of the loss."""
    slopes = torch.autograd.grad(loss, list(parameters))
    with torch.no_grad():
        for parameter, slope in zip(parameters, slopes, strict=True):
            parameter.sub_(slope, alpha=rate)
