"""Sums over neighbours by given weights: interface and definition."""

from __future__ import annotations

from typing import ClassVar, Protocol

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import Graph
from agnn.kernels._backends import implementation
from agnn.kernels._chain import (
    Attention,
    Link,
    PartForms,
    check_heads,
    check_rows,
    held_pass,
    run_chain,
)
from agnn.kernels._links import heads_of


class WeightedSumBackend(Protocol):
    """What every implementation of the sum has."""

    def forward(self, graph: Graph, h: Tensor, edges: Tensor, loops: Tensor) -> Tensor: ...

    def backward(
        self, graph: Graph, h: Tensor | None, edges: Tensor, loops: Tensor, gradient: Tensor, n: int
    ) -> tuple[Tensor, ...]: ...


class WeightedSumLink(Link):
    """`weighted_sum` in a chain; weights that need no gradient are no parameters of it."""

    is_over_edges: ClassVar[bool] = True

    def __init__(self, graph: Graph, edges: Tensor, loops: Tensor, backend: str) -> None:
        self.graph = graph
        self.edges = edges
        self.loops = loops
        self.asked = backend
        self.backend: WeightedSumBackend = implementation(
            "weighted_sum", backend, graph.device.type
        )
        self.is_learned = edges.requires_grad or loops.requires_grad
        self.parameters = (edges, loops) if self.is_learned else ()

    def forward(self, x: Tensor) -> Tensor:
        """The sums [R, rows, d K]."""
        rows = check_rows(self.graph, x, self.loops.shape[1])
        _check(self.graph, x, self.edges, self.loops, rows)
        # The backward pass of fixed weights reads no states.
        self.saved = (x,) if self.is_learned else ()
        self.n = x.shape[1]
        return self.backend.forward(self.graph, x, self.edges, self.loops)

    def on_part(self, forms: PartForms) -> Link:
        """Return the sums at the own rows, for given weights of single heads."""
        is_given = not self.is_learned and self.loops.shape[2] == 1
        return forms.weighted_sum(self) if is_given else super().on_part(forms)

    def hold(self, x: Tensor) -> Tensor:
        """The sums with the weights as constants."""
        weights = self.edges.detach(), self.loops.detach()
        constant = WeightedSumLink(self.graph, *weights, self.asked)
        return Link.hold(constant, x)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradients at the states and, where they are learned, at the weights."""
        h = self.saved[0] if self.is_learned else None
        dh, *rest = self.backend.backward(self.graph, h, self.edges, self.loops, gradient, self.n)
        return dh, tuple(rest)


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


def hold_attention(graph: Graph, h: Tensor, weights: Attention, backend: str) -> Tensor:
    """Return the weighted sum by constant weights, with or without heads, and record them."""
    if (current := held_pass()) is not None:
        current.hops.append(weights)
    edges, loops = (w if w.dim() == 3 else w[..., None] for w in weights)
    return WeightedSumLink(graph, edges, loops, backend).hold(h)


def _check(graph: Graph, h: Tensor, edges: Tensor, loops: Tensor, rows: int) -> None:
    replicas = h.shape[0]
    heads = loops.shape[-1]
    check_heads(h, heads)
    expected = {
        "edges": [replicas, graph.edges_of(rows), heads],
        "loops": [replicas, rows, heads],
    }
    for name, value in (("edges", edges), ("loops", loops)):
        if list(value.shape) != expected[name] or value.dtype != h.dtype:
            raise InputError(
                f"`{name}` must be {h.dtype} of shape {expected[name]}; got {value.dtype} "
                f"{list(value.shape)}."
            )


def _ends(graph: Graph, edges: int) -> tuple[Tensor, Tensor]:
    return graph.receivers[:edges], graph.senders[:edges]


def forward(graph: Graph, h: Tensor, edges: Tensor, loops: Tensor) -> Tensor:
    """The sums at the first rows; [R, rows, d K]."""
    i, j = _ends(graph, edges.shape[1])
    states = heads_of(h, loops.shape[2])  # [R, n, d, K]
    itself = loops[:, :, None] * states[:, : loops.shape[1]]
    return itself.index_add(1, i, edges[:, :, None] * states[:, j]).flatten(2)


def backward(
    graph: Graph, h: Tensor | None, edges: Tensor, loops: Tensor, gradient: Tensor, n: int
) -> tuple[Tensor, ...]:
    """The gradient at the states and, if `h` is given, the gradients at both kinds of weights."""
    dh = _state_gradient(graph, edges, loops, gradient, n)
    return (dh,) if h is None else (dh, *_weight_gradients(graph, h, gradient, loops.shape[2]))


def _state_gradient(graph: Graph, edges: Tensor, loops: Tensor, gradient: Tensor, n: int) -> Tensor:
    """The gradient at the states for one at the sums; [R, n, d K]."""
    i, j = _ends(graph, edges.shape[1])
    slopes = heads_of(gradient, loops.shape[2])  # [R, rows, d, K]
    dh = slopes.new_zeros(slopes.shape[0], n, *slopes.shape[2:])
    dh[:, : slopes.shape[1]] = loops[:, :, None] * slopes
    return torch.index_add(dh, 1, j, edges[:, :, None] * slopes[:, i]).flatten(2)


def _weight_gradients(
    graph: Graph, h: Tensor, gradient: Tensor, heads: int
) -> tuple[Tensor, Tensor]:
    """The gradients at the weights: by edge [R, m', K], and of the nodes themselves."""
    rows = gradient.shape[1]
    i, j = _ends(graph, graph.edges_of(rows))
    states, slopes = (heads_of(lines, heads) for lines in (h, gradient))
    return (slopes[:, i] * states[:, j]).sum(2), (slopes * states[:, :rows]).sum(2)
