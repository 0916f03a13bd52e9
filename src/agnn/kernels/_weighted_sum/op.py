"""Sums over neighbours by given weights: checks, documentation, differentiation."""

from __future__ import annotations

from typing import ClassVar, Protocol

from torch import Tensor

from agnn.errors import InputError
from agnn.graph import Graph
from agnn.kernels._attention import Attention
from agnn.kernels._backends import implementation
from agnn.kernels._chain import Link, run_chain
from agnn.kernels._checks import check_heads, check_rows
from agnn.kernels._held import held_pass


class _Backend(Protocol):
    def forward(self, graph: Graph, h: Tensor, edges: Tensor, loops: Tensor) -> Tensor: ...

    def backward(
        self, graph: Graph, h: Tensor | None, edges: Tensor, loops: Tensor, gradient: Tensor, n: int
    ) -> tuple[Tensor, ...]: ...


class WeightedSumLink(Link):
    """`weighted_sum` in a chain; weights that need no gradient are no parameters of it."""

    is_over_edges: ClassVar[bool] = True

    def __init__(self, graph: Graph, edges: Tensor, loops: Tensor, backend: str) -> None:
        self.graph, self.edges, self.loops = graph, edges, loops
        self.asked = backend
        self.backend: _Backend = implementation("weighted_sum", backend, graph.device.type)
        self.is_learned = edges.requires_grad or loops.requires_grad
        self.parameters = (edges, loops) if self.is_learned else ()

    def forward(self, x: Tensor) -> Tensor:
        """The sums [R, rows, d K]."""
        rows = check_rows(self.graph, x, self.loops.shape[1])
        _check(self.graph, x, self.edges, self.loops, rows)
        # The backward pass of fixed weights reads no states.
        self.saved, self.n = (x,) if self.is_learned else (), x.shape[1]
        return self.backend.forward(self.graph, x, self.edges, self.loops)

    def held(self, x: Tensor) -> Tensor:
        """The sums with the weights as constants."""
        weights = self.edges.detach(), self.loops.detach()
        constant = WeightedSumLink(self.graph, *weights, self.asked)
        return Link.held(constant, x)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradients at the states and, where they are learned, at the weights."""
        h = self.saved[0] if self.is_learned else None
        dh, *others = self.backend.backward(self.graph, h, self.edges, self.loops, gradient, self.n)
        return dh, tuple(others)


def weighted_sum(
    graph: Graph, h: Tensor, edges: Tensor, loops: Tensor, *, backend: str = "auto"
) -> Tensor:
    """Each node's weighted sum of its neighbours and itself, K times side by side.

        out_i = w_ii h_i + sum over j in N(i) of w_ij h_j

    for every head k with its own weights. Column f K + k of `h` and of the output is feature f of
    head k. Several methods differ only in how they come to the weights.

    Args:
        graph: the undirected graph.
        h: states [R, n, d K]; on a pruned graph n may be any count that covers the neighbours of
            the rows computed.
        edges: w_ij of the stored edges of those rows, in stored order [R, m', K].
        loops: w_ii of the rows to compute, the first ones [R, rows, K].
        backend: "auto", "reference", "numba" or "triton".

    Returns:
        The sums [R, rows, d K], differentiable, once, in `h`, `edges` and `loops`.
    """
    return run_chain([WeightedSumLink(graph, edges, loops, backend)], h)


def weigh_held(graph: Graph, h: Tensor, weights: Attention, backend: str) -> Tensor:
    """Return the weighted sum by constant weights, with or without heads, and record them."""
    if (current := held_pass()) is not None:
        current.hops.append(weights)
    edges, loops = (w if w.dim() == 3 else w[..., None] for w in weights)
    return WeightedSumLink(graph, edges, loops, backend).held(h)


def _check(graph: Graph, h: Tensor, edges: Tensor, loops: Tensor, rows: int) -> None:
    replicas, heads = h.shape[0], loops.shape[-1]
    check_heads(h, heads)
    wanted = {
        "edges": [replicas, graph.edges_of(rows), heads],
        "loops": [replicas, rows, heads],
    }
    for name, value in (("edges", edges), ("loops", loops)):
        if list(value.shape) != wanted[name] or value.dtype != h.dtype:
            raise InputError(
                f"`{name}` must be {h.dtype} of shape {wanted[name]}; got {value.dtype} "
                f"{list(value.shape)}."
            )
