"""The first layer, dropout(X) W + b for sparse X: checks, documentation, differentiation."""

from __future__ import annotations

from torch import Tensor

from agnn.errors import InputError
from agnn.graph import FeatureMatrix
from agnn.kernels.backends import implementation
from agnn.kernels.chain import Link, run_chain
from agnn.kernels.checks import check_first_layer
from agnn.kernels.dropout.stream import DropoutAt


class SparseLinearLink(Link):
    """`sparse_linear` as the start of a chain: it reads the features and no input."""

    def __init__(
        self,
        x: FeatureMatrix,
        weight: Tensor,
        bias: Tensor | None,
        drop: DropoutAt | None,
        backend: str,
    ) -> None:
        check_first_layer(x.width, weight, bias, drop)
        if weight.dtype != x.values.dtype:
            raise InputError(f"`weight` is {weight.dtype}, the features are {x.values.dtype}.")
        self.x, self.weight, self.bias, self.drop = x, weight, bias, drop
        self.backend = implementation("sparse_linear", backend, weight.device.type)
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


def sparse_linear(
    x: FeatureMatrix,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    drop: DropoutAt | None = None,
    backend: str = "auto",
) -> Tensor:
    """dropout(X) W + b, Eq. (4) of the paper before its ReLU.

    Only the stored entries of X are drawn and dropped: the others are zero either way.

    Args:
        x: features [n, d_x], shared by all replicas.
        weight: W [R, d_x, d].
        bias: b [R, d], or None.
        drop: the dropout of this place, or None for none.
        backend: "auto", "reference", "numba" or "triton".

    Returns:
        States [R, n, d], differentiable in `weight` and `bias`.
    """
    return run_chain([SparseLinearLink(x, weight, bias, drop, backend)], x.values)
