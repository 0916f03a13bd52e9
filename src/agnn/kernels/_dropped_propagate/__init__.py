"""Fixed propagation some of whose entries are dropped: interface and definition."""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Protocol

from torch import Tensor

from agnn.errors import InputError
from agnn.graph import Propagation
from agnn.kernels import _dropout as dropout, _weighted_sum as weighted_sum
from agnn.kernels._backends import implementation
from agnn.kernels._chain import Link, PartForms, check_rows, run_chain
from agnn.kernels._dropout import DropoutAt, DropoutBackend
from agnn.kernels._weighted_sum import WeightedSumBackend, WeightedSumLink


class EntryDropout(NamedTuple):
    """The dropout of a matrix's entries, for all replicas."""

    edges: DropoutAt
    loops: DropoutAt  # of what a node keeps of itself
    # By which numbers are drawn: where the stored edges stand in the whole graph [m], and which
    # nodes the rows are there [n].
    edge_ids: Tensor
    node_ids: Tensor


class _Backend(Protocol):
    # The sums, and what the backward pass reads: the drawn weights, or nothing where it draws them.
    def forward(
        self, propagation: Propagation, h: Tensor, rows: int, drop: EntryDropout
    ) -> tuple[Tensor, tuple[Tensor, ...]]: ...

    def backward(
        self,
        propagation: Propagation,
        drop: EntryDropout,
        drawn: tuple[Tensor, ...],
        gradient: Tensor,
        n: int,
        /,
    ) -> Tensor: ...


class DroppedPropagateLink(Link):
    """`dropped_propagate` in a chain."""

    is_over_edges: ClassVar[bool] = True

    def __init__(
        self, propagation: Propagation, rows: int | None, drop: EntryDropout, backend: str
    ) -> None:
        self.propagation = propagation
        self.rows = rows
        self.drop = drop
        self.asked = backend
        device = propagation.graph.device.type
        self.backend: _Backend = implementation("dropped_propagate", backend, device)
        # In another epoch the backward pass would draw other numbers.
        self.watched = (drop.edges.epoch,)

    def on_part(self, forms: PartForms) -> Link:
        """Return the sums by the drawn weights at the own rows."""
        graph = self.propagation.graph
        rows = graph.nodes if self.rows is None else self.rows
        of_device: DropoutBackend = implementation("dropout", self.asked, graph.device.type)
        weights = drawn_weights(self.propagation, rows, self.drop, of_device)
        return forms.weighted_sum(WeightedSumLink(graph, *weights, self.asked))

    def forward(self, x: Tensor) -> Tensor:
        """The new states [R, rows, d]."""
        rows = check_rows(self.propagation.graph, x, self.rows)
        replicas = self.drop.edges.keys.shape[0]
        if len(x) != replicas:
            raise InputError(f"{replicas} dropout streams for {len(x)} replicas.")
        self.n = x.shape[1]
        out, self.saved = self.backend.forward(self.propagation, x, rows, self.drop)
        return out

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradient at the states."""
        operands = (self.propagation, self.drop, self.saved)
        return self.backend.backward(*operands, gradient, self.n), ()


def dropped_propagate(
    propagation: Propagation,
    h: Tensor,
    drop: EntryDropout,
    *,
    rows: int | None = None,
    backend: str = "auto",
) -> Tensor:
    """dropout(P) h: every replica drops entries of P of its own, and scales up the others.

    Args:
        propagation: the graph and its weights.
        h: states [R, n, d], as for `propagate`.
        drop: the dropout of edges and of nodes.
        rows: compute the first `rows` rows only; all n by default.
        backend: "auto", "reference", "numba" or "triton".

    Returns:
        The new states [R, rows, d], differentiable in `h`.
    """
    return run_chain([DroppedPropagateLink(propagation, rows, drop, backend)], h)


def drawn_weights(
    propagation: Propagation, rows: int, drop: EntryDropout, backend: DropoutBackend
) -> tuple[Tensor, Tensor]:
    """Return the weights of the edges [R, m', 1] and of the nodes [R, rows, 1], some dropped."""
    count = propagation.graph.edges_of(rows)

    def draw(values: Tensor, labels: Tensor, at: DropoutAt) -> Tensor:
        columns = values[None, :, None].expand(at.keys.shape[0], -1, 1)
        return backend.forward(columns, labels, at)

    edges = draw(propagation.edge_weights[:count], drop.edge_ids[:count], drop.edges)
    loops = draw(propagation.loop_weights[:rows], drop.node_ids[:rows], drop.loops)
    return edges, loops


class DrawnFirst:
    """Sums by weights that are drawn first, and kept for the backward pass, by two backends."""

    def __init__(self, dropout: DropoutBackend, weighted_sum: WeightedSumBackend) -> None:
        self.dropout = dropout
        self.weighted_sum = weighted_sum

    def forward(
        self, propagation: Propagation, h: Tensor, rows: int, drop: EntryDropout
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """dropout(P) h at the first `rows` nodes [R, rows, d], and the weights of this step."""
        weights = drawn_weights(propagation, rows, drop, self.dropout)
        return self.weighted_sum.forward(propagation.graph, h, *weights), weights

    def backward(
        self,
        propagation: Propagation,
        _drop: EntryDropout,
        drawn: tuple[Tensor, ...],
        gradient: Tensor,
        n: int,
    ) -> Tensor:
        """dropout(P)^T g for a gradient [R, rows, d] at the first rows; [R, n, d]."""
        edges, loops = drawn
        (dh,) = self.weighted_sum.backward(propagation.graph, None, edges, loops, gradient, n)
        return dh


_definition = DrawnFirst(dropout, weighted_sum)
forward = _definition.forward
backward = _definition.backward
