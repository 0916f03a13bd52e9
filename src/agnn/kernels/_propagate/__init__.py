"""Fixed propagation: interface and definition."""

from __future__ import annotations

from typing import ClassVar, Final, Protocol

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import Block, Propagation
from agnn.kernels._backends import implementation
from agnn.kernels._chain import (
    Attention,
    Bf16,
    Link,
    PartForms,
    check_rows,
    held_pass,
    parameter_type,
    run_chain,
    single,
)

_LARGE: Final = 2**24  # numbers of a state from which one in place of two is worth the copies
_COLUMNS: Final = 16  # of such a state that are computed together


class _Backend(Protocol):
    def forward(self, propagation: Propagation, h: Tensor, rows: int) -> Tensor: ...

    def backward(self, propagation: Propagation, gradient: Tensor, n: int) -> Tensor: ...


class PropagateLink(Link):
    """`propagate` in a chain."""

    is_over_edges: ClassVar[bool] = True
    bf16: ClassVar[Bf16] = "states"

    def __init__(self, propagation: Propagation, rows: int | None, backend: str) -> None:
        self.propagation = propagation
        self.rows = rows
        self.asked = backend
        device = propagation.graph.device.type
        self.backend: _Backend = implementation("propagate", backend, device)

    def on_block(self, block: Block) -> Link:
        """Return the layer with the matrix of a block, for the matrix that a block can make."""
        if not self.propagation.is_gcn:
            return super().on_block(block)
        dtype = self.propagation.edge_weights.dtype
        return PropagateLink(block.symmetric_propagation(dtype), self.rows, self.asked)

    def on_part(self, forms: PartForms) -> Link:
        """Return the product at the own rows, for the matrix that a part can make by itself."""
        return forms.propagation(self) if self.propagation.is_gcn else super().on_part(forms)

    def forward(self, x: Tensor) -> Tensor:
        """The new states [R, rows, d]."""
        rows = check_rows(self.propagation.graph, x, self.rows, takes_short_on_cpu=True)
        weights = self.propagation.edge_weights
        if weights.dtype != parameter_type(x.dtype):
            raise InputError(f"the weights are {weights.dtype}, `h` is {x.dtype}.")
        self.n = x.shape[1]
        return self.backend.forward(self.propagation, single(x), rows).to(x.dtype)

    def hold(self, x: Tensor) -> Tensor:
        """The new states; the fixed weights are recorded, the same for every replica."""
        current = held_pass()
        if current is not None:
            graph = self.propagation.graph
            rows = x.shape[1] if self.rows is None else self.rows
            edges = self.propagation.edge_weights[: graph.edges_of(rows)]
            loops = self.propagation.loop_weights[:rows]
            current.hops.append(Attention(*(w.expand(len(x), -1) for w in (edges, loops))))
        return super().hold(x)

    def overwrite(self, x: Tensor) -> Tensor:
        """The new states in the place of large ones: no column of the product reads another."""
        if x.numel() < _LARGE or self.rows not in (None, x.shape[1]):
            return self.forward(x)
        for columns in torch.split(x, _COLUMNS, dim=2):
            columns.copy_(self.forward(columns.contiguous()))
        return x

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradient at the states."""
        slopes = self.backend.backward(self.propagation, single(gradient), self.n)
        return slopes.to(gradient.dtype), ()


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
    return run_chain([PropagateLink(propagation, rows, backend)], h)


def forward(propagation: Propagation, h: Tensor, rows: int) -> Tensor:
    """P h at the first `rows` nodes; [R, rows, d]."""
    graph = propagation.graph
    edges = int(graph.offsets[rows])
    i = graph.receivers[:edges]
    j = graph.senders[:edges]
    loops = propagation.loop_weights[:rows, None] * h[:, :rows]
    return loops.index_add(1, i, propagation.edge_weights[:edges, None] * h[:, j])


def backward(propagation: Propagation, gradient: Tensor, n: int) -> Tensor:
    """P^T g for a gradient [R, rows, d] at the first rows; [R, n, d]."""
    graph = propagation.graph
    replicas, rows, d = gradient.shape
    edges = int(graph.offsets[rows])
    i = graph.receivers[:edges]
    j = graph.senders[:edges]
    dh = gradient.new_zeros(replicas, n, d)
    dh[:, :rows] = propagation.loop_weights[:rows, None] * gradient
    weighted = propagation.edge_weights[:edges, None] * gradient[:, i]
    return torch.index_add(dh, 1, j, weighted)
