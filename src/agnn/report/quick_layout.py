"""Places for the nodes of a picture that somebody waits for: hundreds in a tenth of a second."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from agnn.report.node_layout import (
    graph_distances,
    laid_flat,
    marks_apart,
    tree_places,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Rounds times nodes squared is what the time goes by. Few nodes come to rest completely.
_WORK: Final = 1_800_000
_LEAST_ROUNDS: Final = 10
_MOST_ROUNDS: Final = 60
_GAP: Final = 0.12  # between the rims of two marks, in lengths of a bare edge
_FEW: Final = 5_000  # nodes times stored edges up to which every pair of them is looked at
_NEARNESS: Final = 2.4  # between Gansner's 2 and the 3 that stands leaves around a hub
_CROWD: Final = 40.0  # leaves of one node beyond which their edges grow with the square root


def quick_layout(
    edges: NDArray[np.int64], parents: NDArray[np.int64], radii: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Where each node stands, [k, 2]; node 0 is the target, the root of the tree of `parents`.

    As `node_layout`, with fewer rounds the more nodes there are; only few nodes are also kept off
    the edges of others.
    """
    size = radii.size
    if size == 1:
        return np.zeros((1, 2))
    rounds = int(np.clip(_WORK / size**2, _LEAST_ROUNDS, _MOST_ROUNDS))
    wanted = graph_distances(edges, radii + _room(parents))
    place = _fitted(tree_places(parents) * 1.5, wanted, rounds)
    if size * edges.shape[1] <= _FEW:
        return laid_flat(marks_apart(place, edges, radii, _MOST_ROUNDS))
    return laid_flat(_apart(place, radii))


def _room(parents: NDArray[np.int64]) -> NDArray[np.float64]:
    """What a node's edges are longer by, where a circle of length 1 does not hold its leaves."""
    leaves = np.bincount(parents[1:], minlength=parents.size)
    room: NDArray[np.float64] = 2.0 * (np.sqrt(np.maximum(leaves / _CROWD, 1.0)) - 1.0)
    return room


def _fitted(
    place: NDArray[np.float64], wanted: NDArray[np.float64], rounds: int
) -> NDArray[np.float64]:
    """The places after some rounds of stress majorisation towards `wanted` [k, k]."""
    np.fill_diagonal(wanted, 1.0)
    weight = wanted**-_NEARNESS
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


def _apart(place: NDArray[np.float64], radii: NDArray[np.float64]) -> NDArray[np.float64]:
    """The places with marks that overlap pushed off each other, half the way each."""
    from scipy.spatial import cKDTree

    reach = 2.0 * float(radii.max()) + _GAP
    for _ in range(_MOST_ROUNDS):
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
