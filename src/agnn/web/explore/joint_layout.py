"""One layout for neighbourhoods side by side: a node that is in both stands in the same place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from agnn.report.quick_layout import quick_layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from agnn.explanation import Neighbourhood


def joint_layout(
    shown: Sequence[Neighbourhood], radii: Sequence[NDArray[np.float64]]
) -> list[NDArray[np.float64]]:
    """The places [k, 2] of every neighbourhood's nodes around the one target of them all.

    `radii` [k] are those of the largest marks that will be drawn there.
    """
    position: dict[int, int] = {}
    parents: list[int] = []
    largest: list[float] = []
    for each, own in zip(shown, radii, strict=True):
        for k, node in enumerate(each.nodes.tolist()):
            if node not in position:
                position[node] = len(parents)
                # A parent stands nearer the target, so it has its position already.
                parents.append(position[int(each.nodes[each.parents[k]])] if k else -1)
                largest.append(0.0)
            largest[position[node]] = max(largest[position[node]], float(own[k]))
    ways = [np.array([position[node] for node in each.nodes.tolist()]) for each in shown]
    joined = [way[each.edges] for way, each in zip(ways, shown, strict=True)]
    edges = np.unique(np.hstack(joined), axis=1)
    place = quick_layout(edges, np.array(parents), np.array(largest))
    place -= place[0]  # the target in the middle of all
    return [place[way] for way in ways]
