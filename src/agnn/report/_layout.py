"""Positions of the nodes of a small graph: near their neighbours, apart from each other.

Stress majorisation (Gansner, Koren and North 2004), started from a tree around the target. The
result is the same every time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GAP: Final = 0.12  # between the rims of two marks, in lengths of a bare edge
_CROWD: Final = 40.0  # leaves of one node beyond which their edges grow with the square root


class Effort(NamedTuple):
    """How much work a layout is worth."""

    most_rounds: int
    least_rounds: int
    work: float  # rounds times nodes squared, which the time is proportional to
    pairs: float  # nodes times edges up to which marks are also kept off edges of others
    # How much more a short distance counts than a long one. Gansner's 2 folds the leaves of a hub
    # inwards; at 3 they stand around it.
    nearness: float
    widens_hubs: bool  # whether edges of a node with many leaves are longer


CAREFUL: Final = Effort(300, 300, np.inf, np.inf, 3.0, widens_hubs=False)  # for print
QUICK: Final = Effort(60, 10, 1.8e6, 5e3, 2.4, widens_hubs=True)  # hundreds of nodes in 0.1 s


def node_layout(
    edges: NDArray[np.int64],
    parents: NDArray[np.int64],
    radii: NDArray[np.float64],
    effort: Effort = CAREFUL,
) -> NDArray[np.float64]:
    """The position of each node, [k, 2]; node 0 is the target, the root of the tree of `parents`.

    Distances in the plane approach those along the `edges` [2, e], on which every edge is 1 plus
    the `radii` [k] of its ends. Marks that still overlap move apart.
    """
    size = radii.size
    if size == 1:
        return np.zeros((1, 2))
    rounds = int(np.clip(effort.work / size**2, effort.least_rounds, effort.most_rounds))
    reach = radii + _extra_length(parents) if effort.widens_hubs else radii
    place = _without_stress(
        _tree_places(parents), _graph_distances(edges, reach), effort.nearness, rounds
    )
    if size * edges.shape[1] <= effort.pairs:
        return _laid_flat(_marks_apart(place, edges, radii, effort.most_rounds))
    return _laid_flat(_apart(place, radii, effort.most_rounds))


def _extra_length(parents: NDArray[np.int64]) -> NDArray[np.float64]:
    """What a node's edges are longer by, where a circle of length 1 does not hold its leaves."""
    leaves = np.bincount(parents[1:], minlength=parents.size)
    extra: NDArray[np.float64] = 2.0 * (np.sqrt(np.maximum(leaves / _CROWD, 1.0)) - 1.0)
    return extra


def _graph_distances(edges: NDArray[np.int64], radii: NDArray[np.float64]) -> NDArray[np.float64]:
    """The lengths of the shortest paths along the edges; [k, k]."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    i, j = edges
    length = 1.0 + radii[i] + radii[j]
    return np.asarray(shortest_path(csr_array((length, (i, j)), shape=(radii.size,) * 2)))


def _tree_places(parents: NDArray[np.int64]) -> NDArray[np.float64]:
    """Rings around the root; a node's share of its parent's arc is its share of the leaves."""
    size = parents.size
    children: list[list[int]] = [[] for _ in range(size)]
    for node in range(1, size):
        children[parents[node]].append(node)
    leaves = np.zeros(size)
    place, arc = np.zeros((size, 2)), np.zeros((size, 2))
    arc[0] = 0.0, 2 * np.pi
    depth = np.zeros(size)
    for node in range(size - 1, -1, -1):  # nodes are ordered by hop: children after their parents
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


def _without_stress(
    place: NDArray[np.float64], wanted: NDArray[np.float64], nearness: float, rounds: int
) -> NDArray[np.float64]:
    """The positions after some rounds of stress majorisation towards `wanted` [k, k]."""
    np.fill_diagonal(wanted, 1.0)
    weight = wanted**-nearness
    np.fill_diagonal(weight, 0.0)
    laplacian = np.diag(weight.sum(1)) - weight
    # A constant in every entry lifts the zero eigenvalue (moving the whole picture) off zero.
    inverse = np.linalg.inv(laplacian + weight.mean())
    pull = weight * wanted
    for _ in range(rounds):
        square = (place**2).sum(1)
        apart = np.sqrt(np.maximum(square[:, None] + square - 2.0 * place @ place.T, 1e-12))
        share = pull / apart
        place = inverse @ (share.sum(1)[:, None] * place - share @ place)
    return place


def _marks_apart(
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


def _apart(
    place: NDArray[np.float64], radii: NDArray[np.float64], rounds: int
) -> NDArray[np.float64]:
    """The places with marks that overlap pushed off each other, half the way each."""
    from scipy.spatial import cKDTree

    reach = 2.0 * float(radii.max()) + _GAP
    for _ in range(rounds):
        i, j = cKDTree(place).query_pairs(reach, output_type="ndarray").T
        line = place[i] - place[j]
        apart = np.maximum(np.linalg.norm(line, axis=1), 1e-9)
        missing = np.maximum(radii[i] + radii[j] + _GAP - apart, 0.0)
        if not missing.any() or missing.max() < 1e-3:
            break
        push = (0.4 * missing / apart)[:, None] * line
        place = place.copy()
        np.add.at(place, i, push)
        np.subtract.at(place, j, push)
    return place


def _laid_flat(place: NDArray[np.float64]) -> NDArray[np.float64]:
    """The places turned so that their longest extent lies flat; which way up is fixed."""
    centred = place - place.mean(0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    axes = axes * np.where(axes[:, :1] + 1e-9 * axes[:, 1:] < 0, -1.0, 1.0)
    turned: NDArray[np.float64] = centred @ axes.T
    return turned
