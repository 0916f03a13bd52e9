"""Where a node stands in the graph: degree, the neighbours' degree, core number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def structure_columns(edges: NDArray[np.int64], nodes: int) -> NDArray[np.float64]:
    """[n, 3] log(1 + x) of degree, mean degree of the neighbours and core number.

    `edges` [2, k] holds each undirected edge once.
    """
    from scipy import sparse

    i, j = np.concatenate([edges, edges[::-1]], axis=1)
    ones = np.ones(i.size, dtype=np.int8)
    adjacency = sparse.csr_array((ones, (i, j)), shape=(nodes, nodes))
    degree = np.diff(adjacency.indptr).astype(np.float64)
    total = np.bincount(i, weights=degree[j], minlength=nodes)
    mean = np.divide(total, degree, out=np.zeros(nodes), where=degree > 0)
    measures: NDArray[np.float64] = np.stack([degree, mean, core_numbers(adjacency)], axis=1)
    return np.log1p(measures)


def core_numbers(adjacency: Any) -> NDArray[np.int64]:
    """[n] The largest k such that the node is in a part where all have k neighbours or more.

    `adjacency` is a symmetric CSR without loops. Nodes with too few neighbours are peeled off,
    all at once; what that leaves with too few comes next.
    """
    starts, columns = adjacency.indptr.astype(np.int64), adjacency.indices
    degree = np.diff(starts)
    core = np.zeros(degree.size, dtype=np.int64)
    left = np.ones(degree.size, dtype=bool)
    k = 0
    while left.any():
        k = max(k, int(degree[left].min()))
        peeled = np.flatnonzero(left & (degree <= k))
        while peeled.size:
            core[peeled], left[peeled] = k, False
            touched = _neighbours(starts, columns, peeled)
            touched = touched[left[touched]]
            near, lost = np.unique(touched, return_counts=True)
            degree[near] -= lost
            peeled = near[degree[near] <= k]
    return core


def _neighbours(
    starts: NDArray[np.int64], columns: NDArray[Any], nodes: NDArray[np.int64]
) -> NDArray[Any]:
    """The columns of these rows, one row after the other."""
    lengths = starts[nodes + 1] - starts[nodes]
    ends = np.cumsum(lengths)
    shift = np.repeat(starts[nodes] - (ends - lengths), lengths)
    return columns[shift + np.arange(shift.size)]
