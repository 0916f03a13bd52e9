"""Positions of the nodes of a small graph: near their neighbours, apart from each other.

Stress majorisation (Gansner, Koren and North 2004), started from a tree around the target. The
result is the same every time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

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


class DrawnGraph(Protocol):
    """A neighbourhood, as far as its layout asks."""

    @property
    def nodes(self) -> NDArray[np.int64]:
        """The nodes [k], the target first."""

    @property
    def parents(self) -> NDArray[np.int64]:
        """The position of the node that each hangs on [k]; nothing is read of the target's."""

    @property
    def edges(self) -> NDArray[np.int64]:
        """Positions of the ends of the edges, both ways; [2, e]."""


def node_layout(
    edges: NDArray[np.int64],
    parents: NDArray[np.int64],
    radii: NDArray[np.float64],
    effort: Effort = CAREFUL,
) -> NDArray[np.float64]:
    """Return the position of each node, [k, 2]; node 0 is the target, the root of `parents`.

    Distances in the plane approach those along the `edges` [2, e], on which every edge is 1 plus
    the `radii` [k] of its ends. Marks that still overlap move apart.
    """
    size = radii.size
    if size == 1:
        return np.zeros((1, 2))
    rounds = int(np.clip(effort.work / size**2, effort.least_rounds, effort.most_rounds))
    reach = radii + _extra_length(parents) if effort.widens_hubs else radii
    distances = _graph_distances(edges, reach)
    positions = _reduce_stress(_tree_positions(parents), distances, effort.nearness, rounds)
    is_small = size * edges.shape[1] <= effort.pairs
    positions = _separate(positions, radii, effort.most_rounds, edges if is_small else None)
    return _turn_flat(positions)


def joint_layout(
    graphs: Sequence[DrawnGraph], radii: Sequence[NDArray[np.float64]], effort: Effort = CAREFUL
) -> list[NDArray[np.float64]]:
    """Return one layout of neighbourhoods of the same target: the positions [k, 2] in each.

    A node that is in several has the same position in all. `radii` [k] are those of the marks; the
    largest of a node counts. The target is at the origin.
    """
    joint: dict[int, int] = {}  # the position of every node in the joined graph
    parents: list[int] = []
    largest: list[float] = []
    for graph, graph_radii in zip(graphs, radii, strict=True):
        for k, node in enumerate(graph.nodes.tolist()):
            if node not in joint:
                joint[node] = len(parents)
                # A parent is nearer to the target, so it has its position already.
                parents.append(joint[int(graph.nodes[graph.parents[k]])] if k else -1)
                largest.append(0.0)
            largest[joint[node]] = max(largest[joint[node]], float(graph_radii[k]))
    members = [np.array([joint[node] for node in graph.nodes.tolist()]) for graph in graphs]
    joined = [member[graph.edges] for member, graph in zip(members, graphs, strict=True)]
    edges = np.unique(np.hstack(joined), axis=1)
    positions = node_layout(edges, np.array(parents), np.array(largest), effort)
    positions -= positions[0]
    return [positions[member] for member in members]


def _extra_length(parents: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return by how much the edges of each node are longer, to hold its leaves in a circle."""
    leaves = np.bincount(parents[1:], minlength=parents.size)
    extra: NDArray[np.float64] = 2.0 * (np.sqrt(np.maximum(leaves / _CROWD, 1.0)) - 1.0)
    return extra


def _graph_distances(edges: NDArray[np.int64], radii: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lengths of the shortest paths along the edges; [k, k]."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    i, j = edges
    length = 1.0 + radii[i] + radii[j]
    return np.asarray(shortest_path(csr_array((length, (i, j)), shape=(radii.size,) * 2)))


def _tree_positions(parents: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return rings around the root; a node's share of its parent's arc is that of the leaves."""
    size = parents.size
    children: list[list[int]] = [[] for _ in range(size)]
    for node in range(1, size):
        children[parents[node]].append(node)
    leaves = np.zeros(size)
    depth = np.zeros(size)
    positions = np.zeros((size, 2))
    arc = np.zeros((size, 2))
    arc[0] = 0.0, 2 * np.pi
    for node in range(size - 1, -1, -1):  # nodes are ordered by hop: children after their parents
        leaves[node] = max(1.0, leaves[children[node]].sum())
    for node in range(size):
        start, width = arc[node]
        for child in children[node]:
            arc[child] = start, width * leaves[child] / leaves[node]
            start += arc[child, 1]
            depth[child] = depth[node] + 1
            middle = arc[child, 0] + arc[child, 1] / 2
            positions[child] = depth[child] * np.array([np.cos(middle), np.sin(middle)])
    return positions


def _reduce_stress(
    positions: NDArray[np.float64], wanted: NDArray[np.float64], nearness: float, rounds: int
) -> NDArray[np.float64]:
    """Return the positions after some rounds of stress majorisation towards `wanted` [k, k]."""
    np.fill_diagonal(wanted, 1.0)
    weight = wanted**-nearness
    np.fill_diagonal(weight, 0.0)
    laplacian = np.diag(weight.sum(1)) - weight
    # A constant in every entry lifts the zero eigenvalue (moving the whole picture) off zero.
    inverse = np.linalg.inv(laplacian + weight.mean())
    pull = weight * wanted
    for _ in range(rounds):
        square = (positions**2).sum(1)
        apart = np.sqrt(np.maximum(square[:, None] + square - 2.0 * positions @ positions.T, 1e-12))
        share = pull / apart
        positions = inverse @ (share.sum(1)[:, None] * positions - share @ positions)
    return positions


def _separate(
    positions: NDArray[np.float64],
    radii: NDArray[np.float64],
    rounds: int,
    edges: NDArray[np.int64] | None,
) -> NDArray[np.float64]:
    """Push marks off each other and, with `edges`, off edges that are not theirs."""
    step = 0.8 if edges is None else 0.5  # two pushes at once would overshoot
    for _ in range(rounds):
        push = _off_marks(positions, radii)
        if edges is not None:
            push += _off_edges(positions, edges, radii)
        if np.abs(push).max() < 5e-4:
            break
        positions = positions + step * push
    return positions


def _off_marks(positions: NDArray[np.float64], radii: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far each node must move, half the way each, so that no marks overlap; [k, 2]."""
    from scipy.spatial import cKDTree

    reach = 2.0 * float(radii.max()) + _GAP
    i, j = cKDTree(positions).query_pairs(reach, output_type="ndarray").T
    line = positions[i] - positions[j]
    apart = np.maximum(np.linalg.norm(line, axis=1), 1e-9)
    missing = np.maximum(radii[i] + radii[j] + _GAP - apart, 0.0)
    half = (0.5 * missing / apart)[:, None] * line
    push = np.zeros_like(positions)
    np.add.at(push, i, half)
    np.subtract.at(push, j, half)
    return push


def _off_edges(
    positions: NDArray[np.float64], edges: NDArray[np.int64], radii: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how far each node must move so that it lies on no edge of others; [k, 2]."""
    i, j = edges[:, edges[0] < edges[1]]
    along = positions[j] - positions[i]  # [e, 2]
    start = positions[:, None] - positions[None, i]  # [k, e, 2]
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


def _turn_flat(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn the positions so that their longest extent lies flat; which way up is fixed."""
    centred = positions - positions.mean(0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    axes = axes * np.where(axes[:, :1] + 1e-9 * axes[:, 1:] < 0, -1.0, 1.0)
    turned: NDArray[np.float64] = centred @ axes.T
    return turned
