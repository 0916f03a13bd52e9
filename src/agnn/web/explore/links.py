"""The edges of a neighbourhood in the numbers that a page draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from agnn.web.explore.crossings import crossings
from agnn.web.explore.records import chosen, plain_numbers, records

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.explanation import Neighbourhood


def link_records(shown: Neighbourhood, replica: int | None) -> list[dict[str, Any]]:
    """Each undirected edge once, by the positions a < b of its ends.

    `attention` and `relevance` are P and R of every layer, first to a from b, then to b from a;
    None where the layer's row does not bear on the target. `crossing` is how much of the answer
    goes over the edge, either way: in all layers together, then in each.
    """
    i, j = shown.edges
    there = np.flatnonzero(i < j)
    reverse = np.empty_like(i)
    reverse[np.lexsort((j, i))] = np.lexsort((i, j))  # where (j, i) stands, for every (i, j)
    ways = np.stack([there, reverse[there]], 1)  # [e / 2, 2]
    attention = np.stack([chosen(layer.attention, replica) for layer in shown.layers])  # [l, e]
    relevance = np.stack([chosen(layer.relevance, replica) for layer in shown.layers])
    crossing = chosen(crossings(shown), replica)[:, ways].sum(-1)  # [l, e / 2]
    return records(
        {
            "ends": np.stack([i[there], j[there]], 1).tolist(),
            "attention": _by_link(attention, ways),
            "relevance": _by_link(relevance, ways),
            "crossing": plain_numbers(np.vstack([crossing.sum(0), crossing]).T),
        }
    )


def _by_link(values: NDArray[np.float64], ways: NDArray[np.int64]) -> Any:
    """Values [l, e] as [e / 2, 2, l]."""
    return plain_numbers(np.moveaxis(values[:, ways], 0, -1))
