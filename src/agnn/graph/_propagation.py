"""Fixed propagation matrices on a graph: one weight per edge and one per node for itself.

Methods that solve or multiply on the CPU take the adjacency matrix as SciPy has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.graph._graph import Graph

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SparseMatrix: TypeAlias = "csr_array[np.float64, tuple[int, int]]"

_EDGES_AT_ONCE = 1 << 18


@dataclass(frozen=True, eq=False)
class Propagation:
    """A fixed matrix P with the graph's pattern: `P[i, j]` by edge, `P[i, i]` by node."""

    graph: Graph
    edge_weights: Tensor  # [m]
    loop_weights: Tensor  # [n]
    is_gcn: bool = False  # the matrix of Eq. (1), which ranks, samples and ONNX files compute, too

    @cached_property
    def transposed_weights(self) -> Tensor:
        """`P[j, i]` at the place of edge (i, j); [m]."""
        return self.edge_weights[self.graph.reverse]

    def matrix(self) -> csr_array[Any, Any]:
        """Return P as a SciPy matrix [n, n], for work that is done once before training."""
        from scipy.sparse import csr_array, diags_array

        graph = self.graph
        n = graph.nodes
        edges = (self.edge_weights.numpy(), graph.columns.numpy(), graph.offsets.numpy())
        loops = diags_array(self.loop_weights.numpy(), format="csr")
        return csr_array(csr_array(edges, shape=(n, n)) + loops)

    @classmethod
    def symmetric(
        cls, graph: Graph, dtype: torch.dtype = torch.float32, degrees: Tensor | None = None
    ) -> Propagation:
        """Return D~^-1/2 (A + I) D~^-1/2 with D~ = D + I: the paper's Eq. (1) for GCN and GLN.

        A has the weights of the edges, 1 where the graph has none, and D its row sums. `degrees`
        [n] are these sums in the whole graph, where `graph` is a part of it.
        """
        sums = graph.weighted_degrees if degrees is None else degrees
        scale = (sums + 1).to(torch.float64).rsqrt()
        edges = _by_edge(graph, dtype, scale, scale)
        return cls(graph, edges, (scale * scale).to(dtype), is_gcn=True)

    @classmethod
    def diffusion(cls, graph: Graph, dtype: torch.dtype = torch.float32) -> Propagation:
        """Return A (D + I)^-1: what a node sends is shared among its neighbours; it keeps none.

        As DCNN's program has it; A and D as for `symmetric`.
        """
        share = (graph.weighted_degrees + 1).to(torch.float64).reciprocal()
        return cls(graph, _by_edge(graph, dtype, None, share), torch.zeros_like(share, dtype=dtype))

    @classmethod
    def neighbour_mean(
        cls, graph: Graph, dtype: torch.dtype = torch.float32, degrees: Tensor | None = None
    ) -> Propagation:
        """Return D^-1 A: the mean over a node's neighbours without itself; zero without neighbours.

        A and D as for `symmetric`: with weights it is the weighted mean. `degrees` [n] are D's
        entries in the whole graph, where `graph` is a part of it.
        """
        sums = graph.weighted_degrees if degrees is None else degrees
        share = torch.where(sums > 0, sums, 1).to(torch.float64).reciprocal()
        return cls(graph, _by_edge(graph, dtype, share, None), torch.zeros_like(share, dtype=dtype))

    @classmethod
    def normalised_adjacency(
        cls, graph: Graph, dtype: torch.dtype = torch.float32, degrees: Tensor | None = None
    ) -> Propagation:
        """Return D^-1/2 A D^-1/2: the neighbours of a node without itself; zero without neighbours.

        A, D and `degrees` as for `neighbour_mean`.
        """
        sums = graph.weighted_degrees if degrees is None else degrees
        scale = torch.where(sums > 0, sums, 1).to(torch.float64).rsqrt()
        return cls(
            graph, _by_edge(graph, dtype, scale, scale), torch.zeros_like(scale, dtype=dtype)
        )


def _by_edge(
    graph: Graph, dtype: torch.dtype, receivers: Tensor | None, senders: Tensor | None
) -> Tensor:
    """Return a number [n] of each edge's receiver, times one of its sender, times its weight; [m].

    Both ends and the products in double precision would take ten times the memory of what is
    returned; so they exist for some rows at a time.
    """
    products = torch.empty(graph.edges, dtype=dtype, device=graph.device)
    pieces = 1 + graph.edges // _EDGES_AT_ONCE
    bounds = [graph.nodes * piece // pieces for piece in range(pieces + 1)]
    for first, last in pairwise(bounds):
        edges = slice(graph.edges_of(first), graph.edges_of(last))
        factors = []
        if receivers is not None:
            count = edges.stop - edges.start
            degrees = graph.degrees[first:last]
            factors.append(
                torch.repeat_interleave(receivers[first:last], degrees, output_size=count)
            )
        if senders is not None:
            factors.append(senders[graph.columns[edges]])
        if graph.weights is not None:
            factors.append(graph.weights[edges].to(torch.float64))
        products[edges] = reduce(torch.mul, factors)
    return products


def adjacency(
    edges: NDArray[np.int64], nodes: int, weights: NDArray[np.floating] | None = None
) -> SparseMatrix:
    """Return A [n, n] with ones at both directions of `edges` [2, k], each given once.

    With `weights` [k] it has these in place of the ones.
    """
    from scipy import sparse

    rows = np.concatenate([edges[0], edges[1]])
    columns = np.concatenate([edges[1], edges[0]])
    values = np.ones(rows.size) if weights is None else np.tile(weights.astype(np.float64), 2)
    return sparse.csr_array((values, (rows, columns)), shape=(nodes, nodes))


def normalise_rows(matrix: SparseMatrix) -> SparseMatrix:
    """Return D^-1 A with D the row sums; a row without entries stays empty."""
    return _scaled_rows(matrix, _power(matrix, -1.0))


def normalise_symmetrically(matrix: SparseMatrix) -> SparseMatrix:
    """Return D^-1/2 A D^-1/2 with D the row sums; a row without entries stays empty."""
    root = _power(matrix, -0.5)
    scaled = _scaled_rows(matrix, root)
    scaled.data *= root[scaled.indices]
    return scaled


def _power(matrix: SparseMatrix, exponent: float) -> NDArray[np.float64]:
    """Return the row sums to a negative power; 0 where a row has none."""
    degrees = np.asarray(matrix.sum(axis=1), dtype=np.float64)
    return np.power(degrees, exponent, out=np.zeros_like(degrees), where=degrees > 0)


def _scaled_rows(matrix: SparseMatrix, scale: NDArray[np.float64]) -> SparseMatrix:
    scaled = matrix.copy()
    scaled.data = matrix.data * np.repeat(scale, np.diff(matrix.indptr))
    return scaled
