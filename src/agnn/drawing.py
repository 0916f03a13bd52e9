"""Geometry of pictures of graphs: where nodes stand, and the mark of each class.

The explorer and the figures of reports draw from the same numbers. Nothing here loads matplotlib.
Nodes stand near their neighbours and apart from each other, by stress majorisation (Gansner, Koren
and North 2004) that starts from a tree around the target; the result is the same every time. A mark
is a colour and a shape, so that it can be read without colour.

>>> import numpy as np
>>> from agnn.drawing import class_mark, node_layout
>>> class_mark(0).colour
'#e69f00'
>>> path = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
>>> node_layout(path, parents=np.array([-1, 0, 1]), radii=np.full(3, 0.1)).shape
(3, 2)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from agnn.palette import CLASSES

_UNLABELLED: Final = "#ffffff"
_WHOLE: Final = 4.0  # area of a mark that has all the attention, an edge being 1 long
_SMALLEST: Final = 0.003  # a mark with a smaller share is drawn as if it had this
# The distance of the control points of a cubic curve that follows an eighth of a unit circle.
_EIGHTH: Final = 0.2652031


class Mark(NamedTuple):
    """Colour and shape of the nodes of a class."""

    colour: str
    points: NDArray[np.float64]  # [k, 2] around the origin; the closed shape has area 1
    is_curved: bool = False  # points after the first are control points of cubic curves, by threes

    @property
    def reach(self) -> float:
        """The distance from the origin to the farthest point."""
        return float(np.linalg.norm(self.points, axis=1).max())

    @property
    def svg_path(self) -> str:
        """The shape as the `d` of an SVG path, with the area of a circle of radius 1."""
        # SVG's second axis points down.
        points = self.points * [1.0, -1.0] * np.sqrt(np.pi)
        step = 3 if self.is_curved else 1
        letter = "C" if self.is_curved else "L"
        parts = [points[1 + k : 1 + k + step] for k in range(0, len(points) - 1, step)]
        return "M" + _numbers(points[:1]) + "".join(letter + _numbers(part) for part in parts) + "Z"


def _numbers(points: NDArray[np.float64]) -> str:
    return " ".join(f"{value:.3f}" for value in points.ravel().tolist())


def class_mark(label: int) -> Mark:
    """Return the mark of a class, or of a node without one (-1): an empty octagon.

    There are 7 colours and 7 shapes. When the colours begin again the shapes have moved on by
    one, so 49 classes have different marks.
    """
    if label < 0:
        return Mark(_UNLABELLED, _OCTAGON)
    shape = (label + label // len(CLASSES)) % (1 + len(_POLYGONS))
    colour = CLASSES[label % len(CLASSES)]
    return (
        Mark(colour, _CIRCLE, is_curved=True) if shape == 0 else Mark(colour, _POLYGONS[shape - 1])
    )


def mark_areas(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the areas of marks by their share of the attention, edges being 1 long; [k]."""
    # Paper: there the radius is proportional to attention. An eye compares areas.
    return _WHOLE * np.maximum(shares, _SMALLEST)


def _circle() -> NDArray[np.float64]:
    """Return a circle of area 1 as eight cubic curves; [25, 2]."""
    angle = np.radians(45.0 * np.arange(9) - 90.0)
    corners = np.column_stack([np.cos(angle), np.sin(angle)])
    tangents = _EIGHTH * np.column_stack([-np.sin(angle), np.cos(angle)])
    after = corners[:-1] + tangents[:-1]
    before = corners[1:] - tangents[1:]
    curves = np.stack([after, before, corners[1:]], 1).reshape(-1, 2)
    circle: NDArray[np.float64] = np.vstack([corners[:1], curves]) / np.sqrt(np.pi)
    return circle


def _polygon(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the corners [k, 2] of a polygon, scaled to area 1."""
    x, y = corners.T
    area = 0.5 * abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))
    scaled: NDArray[np.float64] = corners / np.sqrt(area)
    return scaled


def _regular(corners: int, turn: float) -> NDArray[np.float64]:
    """Return a regular polygon, its first corner `turn` degrees round from straight up."""
    angle = np.radians(turn + 90.0) + 2 * np.pi * np.arange(corners) / corners
    return _polygon(np.column_stack([np.cos(angle), np.sin(angle)]))


def _plus(turn: float) -> NDArray[np.float64]:
    """Return a broad cross, turned by so many degrees."""
    arm = 1.0
    half = 0.42
    corner = np.array([[half, half], [half, arm], [-half, arm]])
    quarter = np.array([[0.0, -1.0], [1.0, 0.0]])
    corners = np.vstack([corner @ np.linalg.matrix_power(quarter.T, k) for k in range(4)])
    angle = np.radians(turn)
    rotation = [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
    return _polygon(corners @ np.array(rotation))


_CIRCLE: Final = _circle()
_POLYGONS: Final = (
    _regular(4, 45.0),
    _regular(3, 0.0),
    _regular(4, 0.0),
    _regular(3, 180.0),
    _plus(0.0),
    _plus(45.0),
)
_OCTAGON: Final = _regular(8, 22.5)


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
    positions: NDArray[np.float64], distances: NDArray[np.float64], nearness: float, rounds: int
) -> NDArray[np.float64]:
    """Return the positions after some rounds of stress majorisation towards `distances` [k, k]."""
    np.fill_diagonal(distances, 1.0)
    weight = distances**-nearness
    np.fill_diagonal(weight, 0.0)
    laplacian = np.diag(weight.sum(1)) - weight
    # A constant in every entry lifts the zero eigenvalue (moving the whole picture) off zero.
    inverse = np.linalg.inv(laplacian + weight.mean())
    pull = weight * distances
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
