"""Fixed propagation: checks, documentation and differentiation, once for all backends."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import Propagation
from agnn.kernels.backends import implementation
from agnn.kernels.checks import check_rows


class _Propagate(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, h: Tensor, propagation: Propagation, rows: int, backend: ModuleType
    ) -> Tensor:
        ctx.propagation, ctx.n, ctx.backend = propagation, h.shape[1], backend
        result: Tensor = backend.forward(propagation, h, rows)
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        return ctx.backend.backward(ctx.propagation, gradients[0], ctx.n), None, None, None


def propagate(
    propagation: Propagation, h: Tensor, *, rows: int | None = None, backend: str = "auto"
) -> Tensor:
    """P h for a fixed P: out_i = P_ii h_i + sum over j in N(i) of P_ij h_j.

    Args:
        propagation: the graph and its weights.
        h: states [R, n, d]; on a pruned graph n may be any count that covers the neighbours of
            the first `rows` rows.
        rows: compute the first `rows` rows only; all n by default.
        backend: "auto", "reference", "numba" or "triton".

    Returns:
        The new states [R, rows, d], differentiable in `h`.
    """
    count = check_rows(propagation.graph, h, rows)
    if propagation.edge_weights.dtype != h.dtype:
        raise InputError(f"the weights are {propagation.edge_weights.dtype}, `h` is {h.dtype}.")
    chosen = implementation("propagate", backend, h.device.type)
    result: Tensor = _Propagate.apply(h, propagation, count, chosen)  # type: ignore[no-untyped-call]
    return result
