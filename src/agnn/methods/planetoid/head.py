"""Planetoid's classifier: one softmax on features, one on embeddings, and one over the two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from agnn.methods.planetoid.initial import glorot

if TYPE_CHECKING:
    from agnn.data.features import SparseRows

Array = NDArray[np.float32]


class Head:
    """a = softmax(X Wa + ba),  b = softmax(E Wb + bb),  out = softmax([a, b] Wo + bo).

    The loss is the sum of the three mean cross-entropies; the middle layers are probabilities.
    """

    def __init__(self, features: int, width: int, classes: int, source: np.random.Generator):
        self.weights = [
            glorot(inputs, classes, source) for inputs in (features, width, 2 * classes)
        ]
        self.biases = [np.zeros(classes, dtype=np.float32) for _ in self.weights]

    def outputs(self, x: SparseRows, e: Array) -> tuple[Array, Array, Array]:
        """a, b and out for feature rows [k, d_x] and embeddings [k, d]; each [k, c]."""
        (wa, wb, wo), (ba, bb, bo) = self.weights, self.biases
        a, b = _softmax(x @ wa + ba), _softmax(e @ wb + bb)
        return a, b, _softmax(np.concatenate([a, b], axis=1) @ wo + bo)

    def step(self, x: SparseRows, e: Array, y: Array, rate: float) -> Array:
        """Move all weights for the one-hot labels `y`; the loss's gradient at `e` [k, d]."""
        gradients, slope = self.gradients(x, e, y)
        for parameter, gradient in zip([*self.weights, *self.biases], gradients, strict=True):
            parameter -= rate * gradient
        return slope

    def gradients(self, x: SparseRows, e: Array, y: Array) -> tuple[list[Array], Array]:
        """The loss's gradients at the weights and biases, in their order, and at `e`."""
        a, b, out = self.outputs(x, e)
        scale = np.float32(1.0 / y.shape[0])
        middle = np.concatenate([a, b], axis=1)
        at_out = (out - y) * scale
        to_a, to_b = np.split(at_out @ self.weights[2].T, 2, axis=1)
        at_a = (a - y) * scale + a * (to_a - (to_a * a).sum(axis=1, keepdims=True))
        at_b = (b - y) * scale + b * (to_b - (to_b * b).sum(axis=1, keepdims=True))
        slopes = (at_a, at_b, at_out)
        weights = [x.T @ at_a, e.T @ at_b, middle.T @ at_out]
        return [*weights, *(s.sum(axis=0) for s in slopes)], at_b @ self.weights[1].T


def _softmax(logits: Array) -> Array:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float32)
