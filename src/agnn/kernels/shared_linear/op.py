"""The first layer, dropout(X) W + b for dense X: checks, documentation, differentiation."""

from __future__ import annotations

from torch import Tensor

from agnn.graph import DenseFeatures
from agnn.kernels.backends import implementation
from agnn.kernels.chain import Link, run_chain
from agnn.kernels.checks import check_first_layer
from agnn.kernels.dropout.stream import DropoutAt


class SharedLinearLink(Link):
    """`shared_linear` as the start of a chain: it reads the features and no input."""

    def __init__(
        self,
        x: DenseFeatures,
        weight: Tensor,
        bias: Tensor | None,
        drop: DropoutAt | None,
        backend: str,
    ) -> None:
        check_first_layer(x.width, weight, bias, drop)
        self.x, self.weight, self.bias, self.drop = x, weight, bias, drop
        self.backend = implementation("shared_linear", backend, weight.device.type)
        self.parameters = (weight,) if bias is None else (weight, bias)
        # In another epoch the backward pass would draw other numbers.
        self.watched = () if drop is None else (drop.epoch,)

    def forward(self, x: Tensor) -> Tensor:
        """States [R, n, d]."""
        out: Tensor = self.backend.forward(self.x, self.weight, self.bias, self.drop)
        return out

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradients at the weight and at the bias."""
        dweight, dbias = self.backend.backward(self.x, gradient, self.drop)
        return gradient, (dweight,) if self.bias is None else (dweight, dbias)


def shared_linear(
    x: DenseFeatures,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    drop: DropoutAt | None = None,
    backend: str = "auto",
) -> Tensor:
    """dropout(X) W + b for dense features that all replicas share, Eq. (4) before its ReLU.

    Args:
        x: features [n, d_x]; a shorter type than the weight's is widened on the way.
        weight: W [R, d_x, d].
        bias: b [R, d], or None.
        drop: the dropout of this place, or None for none.
        backend: "auto", "reference", "numba" or "triton".

    Returns:
        States [R, n, d] of the weight's type, differentiable in `weight` and `bias`.
    """
    return run_chain([SharedLinearLink(x, weight, bias, drop, backend)], x.values)
