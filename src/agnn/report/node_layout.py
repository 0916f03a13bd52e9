"""Places for the nodes of a small graph: near what they are joined to, the same every time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROUNDS: Final = 300  # by then pictures of up to some hundred nodes have come to rest
# How much more a short distance counts than a long one. Gansner's 2 folds the leaves of a hub
# inwards; at 3 they stand around it.
_NEARNESS: Final = 3.0
_GAP: Final = 0.12  # between the rims of two marks, in lengths of a bare edge


def node_layout(
    edges: NDArray[np.int64], parents: NDArray[np.int64], radii: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Where each node stands, [k, 2]; node 0 is the target, the root of the tree of `parents`.

    It starts as a tree around the target and is then drawn by stress majorisation (Gansner,
    Koren and North 2004): distances in the plane approach those along the `edges` [2, e], on
    which every edge is 1 plus the `radii` [k] of its ends. Marks that still overlap move apart.
    """
    if radii.size == 1:
        return np.zeros((1, 2))
    wanted = graph_distances(edges, radii)
    place = _without_stress(tree_places(parents), wanted)
    return laid_flat(marks_apart(place, edges, radii, _ROUNDS))


def graph_distances(edges: NDArray[np.int64], radii: NDArray[np.float64]) -> NDArray[np.float64]:
    """The shortest ways along the edges; [k, k]."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    i, j = edges
    length = 1.0 + radii[i] + radii[j]
    return np.asarray(shortest_path(csr_array((length, (i, j)), shape=(radii.size,) * 2)))


def tree_places(parents: NDArray[np.int64]) -> NDArray[np.float64]:
    """Rings around the root; a node's share of its parent's arc is its share of the leaves."""
    size = parents.size
    children: list[list[int]] = [[] for _ in range(size)]
    for node in range(1, size):
        children[parents[node]].append(node)
    leaves = np.zeros(size)
    place, arc = np.zeros((size, 2)), np.zeros((size, 2))
    arc[0] = 0.0, 2 * np.pi
    depth = np.zeros(size)
    for node in range(size - 1, -1, -1):  # nodes stand by hop: children after their parents
        leaves[node] = max(1.0, leaves[children[node]].sum())
    for node in range(size):
        start, width = arc[node]
        for child in children[node]:
            arc[child] = start, width * leaves[child] / leaves[node]
            start += arc[child, 1]
            depth[child] = depth[node] + 1
            middle = arc[child, 0] + arc[child, 1] / 2
            place[child] = depth[child] * np.array([np.cos(middle), np.sin(middle)])
    return place


def _without_stress(place: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """The places moved until their distances fit `wanted` [k, k], near ones most of all."""
    np.fill_diagonal(wanted, 1.0)
    weight = wanted**-_NEARNESS
    np.fill_diagonal(weight, 0.0)
    laplacian = np.diag(weight.sum(1)) - weight
    inverse = np.linalg.pinv(laplacian)
    for _ in range(_ROUNDS):
        apart = np.linalg.norm(place[:, None] - place[None], axis=-1)
        pull = -weight * wanted / np.maximum(apart, 1e-9)
        np.fill_diagonal(pull, 0.0)
        np.fill_diagonal(pull, -pull.sum(1))
        place = inverse @ pull @ place
    return place


def marks_apart(
    place: NDArray[np.float64],
    edges: NDArray[np.int64],
    radii: NDArray[np.float64],
    rounds: int,
) -> NDArray[np.float64]:
    """The places with marks pushed off each other, and off edges that are not theirs."""
    for _ in range(rounds):
        push = _off_marks(place, radii) + _off_edges(place, edges, radii)
        if np.abs(push).max() < 1e-3:
            break
        place = place + 0.5 * push
    return place


def _off_marks(place: NDArray[np.float64], radii: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far each node must move, half the way each, so that no marks overlap; [k, 2]."""
    line = place[:, None] - place[None]
    apart = np.linalg.norm(line, axis=-1)
    missing = np.maximum(radii[:, None] + radii[None] + _GAP - apart, 0.0)
    np.fill_diagonal(missing, 0.0)
    push: NDArray[np.float64] = ((0.5 * missing / np.maximum(apart, 1e-9))[..., None] * line).sum(1)
    return push


def _off_edges(
    place: NDArray[np.float64], edges: NDArray[np.int64], radii: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How far each node must move so that it lies on no edge of others; [k, 2]."""
    i, j = edges[:, edges[0] < edges[1]]
    along = place[j] - place[i]  # [e, 2]
    start = place[:, None] - place[None, i]  # [k, e, 2]
    share = (start * along).sum(-1) / np.maximum((along**2).sum(-1), 1e-9)
    line = start - np.clip(share, 0.0, 1.0)[..., None] * along  # from the nearest point
    apart = np.linalg.norm(line, axis=-1)
    missing = np.maximum(radii[:, None] + _GAP / 2 - apart, 0.0)
    missing[i, np.arange(i.size)] = missing[j, np.arange(j.size)] = 0.0
    # A node right on the line goes to its left.
    left = np.stack([-along[:, 1], along[:, 0]], -1) / np.linalg.norm(along, axis=-1)[:, None]
    way = np.where(apart[..., None] > 1e-6, line / np.maximum(apart, 1e-6)[..., None], left)
    push: NDArray[np.float64] = (missing[..., None] * way).sum(1)
    return push


def laid_flat(place: NDArray[np.float64]) -> NDArray[np.float64]:
    """The places turned so that their longest extent lies flat; which way up is fixed."""
    centred = place - place.mean(0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    axes = axes * np.where(axes[:, :1] + 1e-9 * axes[:, 1:] < 0, -1.0, 1.0)
    turned: NDArray[np.float64] = centred @ axes.T
    return turned
