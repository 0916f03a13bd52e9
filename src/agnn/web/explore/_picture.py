"""A neighbourhood as the numbers that the page draws: nodes, edges and their layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agnn.drawing import mark_areas
from agnn.explanation import Neighbourhood

_DIGITS: Final = 6  # after the decimal point; the page shows fewer


def plain_numbers(values: NDArray[np.float64], digits: int = _DIGITS) -> Any:
    """Return the array as lists of lists, rounded; None for NaN."""
    numbers = np.round(values, digits)
    is_missing = np.isnan(values)
    if not is_missing.any():  # ten times faster than by way of objects
        return numbers.tolist()
    objects = numbers.astype(object)
    objects[is_missing] = None
    return objects.tolist()


def round_numbers(value: Any, digits: int = _DIGITS) -> Any:
    """Return a JSON value with every fraction in it rounded."""
    if isinstance(value, dict):
        return {key: round_numbers(item, digits) for key, item in value.items()}
    if isinstance(value, list):
        return [round_numbers(item, digits) for item in value]
    return round(value, digits) if isinstance(value, float) else value


def records(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Columns of one length as a list of rows."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def of_replica(values: NDArray[np.float64], replica: int | None) -> NDArray[np.float64]:
    """One replica's of values [R, ...], or the mean over all if it is None."""
    result: NDArray[np.float64] = values.mean(0) if replica is None else values[replica]
    return result


# Digits after the decimal point: two more than the page prints. A place or radius is drawn, and a
# thousandth of an edge is a tenth of a pixel.
_SHARE: Final = 5  # also probabilities and P
_SUM: Final = 4  # contributions and R
_LENGTH: Final = 3

_GONE: Final = 0.06  # radius of a node that was in the picture by a removed edge
_SEEN: Final = 0.12  # the largest mark of a picture is drawn as if its share were at least this


@dataclass(frozen=True, eq=False)
class Picture:
    """What one replica, or the mean of all, attends to around a target.

    It has 1 + l views: all layers multiplied, then each layer on its own.
    """

    around: Neighbourhood
    probabilities: NDArray[np.float64]  # [k, c] of the replica, or of the ensemble
    replica: int | None  # None: the mean over all

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """How much of what reaches the target is each node's, in every view; [1 + l, k].

        All layers multiplied: its share of the target's row of P(l)...P(1). Layer t: P(t)[target,
        j], zero for nodes that are not neighbours of the target.
        """
        into_target = self.around.edges[0] == 0
        senders = self.around.edges[1, into_target]
        total = self.around.weights.sum(1) + self.around.elsewhere
        views = [self.around.weights / total[:, None]]
        for layer in self.around.layers:
            row = np.zeros_like(self.around.weights)
            row[:, senders] = layer.attention[:, into_target]
            row[:, 0] = layer.loops[:, 0]
            views.append(row)
        return np.stack([of_replica(view, self.replica) for view in views])

    @cached_property
    def sizes(self) -> NDArray[np.float64]:
        """What the areas of marks say: the shares of every view, then of contribution; [2 + l, k].

        That of a contribution is its size as a share of the sizes of all.
        """
        return np.vstack([self.shares, self.around.contribution_shares])

    def radii(self, largest: float) -> NDArray[np.float64]:
        """The radius of every node's mark by size, an edge being 1 long; [2 + l, k].

        `largest` is the largest size that is drawn beside this one. Where even that is small, as
        around a hub, all marks grow by the same factor.
        """
        grown = max(1.0, _SEEN / largest)
        return np.sqrt(grown * mark_areas(self.sizes) / np.pi)

    def to_dict(self, positions: NDArray[np.float64], radii: NDArray[np.float64]) -> dict[str, Any]:
        """Nodes with positions [k, 2] and radii [2 + l, k], edges, and how much is not shown."""
        around = self.around
        lead = self.around.lead
        total = around.weights.sum(1) + around.elsewhere
        farther = float(of_replica(around.farther / total, self.replica))
        return {
            "probabilities": plain_numbers(self.probabilities[0]),
            "nodes": self._nodes(positions, radii),
            "links": _link_records(around, self.replica),
            "left_out": around.left_out,
            "is_hub": around.is_hub,
            "attention_groups": [
                {"name": group.name, "value": round(group.value, _SHARE)}
                for group in around.attention_groups
                if self.replica is None  # they are those of all replicas
            ],
            "elsewhere": max(0.0, round(1.0 - float(self.shares[0].sum()), 6)),
            "farther": round(farther, 6),
            "why": None if lead is None else round_numbers(lead.to_dict(), _SUM),
        }

    def _nodes(
        self, positions: NDArray[np.float64], radii: NDArray[np.float64]
    ) -> list[dict[str, Any]]:
        around = self.around
        loops = np.stack([of_replica(layer.loops, self.replica) for layer in around.layers])
        relevance = [of_replica(layer.loop_relevance, self.replica) for layer in around.layers]
        return records(
            {
                "index": around.nodes.tolist(),
                "id": [str(node_id) for node_id in around.ids],
                "hop": around.hops.tolist(),
                "parent": around.parents.tolist(),
                "label": around.labels.tolist(),
                "answer": self.probabilities.argmax(1).tolist(),
                "confidence": plain_numbers(self.probabilities.max(1), _SHARE),
                "is_train": around.is_train.tolist(),
                "place": plain_numbers(positions, _LENGTH),
                "share": plain_numbers(self.shares.T, _SHARE),
                "contribution": plain_numbers(around.contributions, _SUM),
                "radius": plain_numbers(radii.T, _LENGTH),
                "attention": plain_numbers(loops.T, _SHARE),  # to itself
                "relevance": plain_numbers(np.stack(relevance).T, _SUM),
            }
        )


def drawn_radii(pictures: Sequence[Picture]) -> list[NDArray[np.float64]]:
    """The radii [2 + l, k] of pictures that are drawn side by side, to one scale."""
    largest = max((float(picture.sizes.max()) for picture in pictures), default=0.0)
    return [picture.radii(largest) for picture in pictures]


def _link_records(around: Neighbourhood, replica: int | None) -> list[dict[str, Any]]:
    """Each undirected edge once, by the positions a < b of its ends.

    `attention` and `relevance` are P and R of every layer, first to a from b, then to b from a;
    None where the layer's row does not matter for the target. `crossing` is how much of what
    reaches the target crosses the edge in either direction: in all layers together, then in each.
    `weight` is the edge's own, None where edges have no weights.
    """
    i, j = around.edges
    forward = np.flatnonzero(i < j)
    reverse = np.empty_like(i)
    reverse[np.lexsort((j, i))] = np.lexsort((i, j))  # where (j, i) stands, for every (i, j)
    ways = np.stack([forward, reverse[forward]], 1)  # [e / 2, 2]
    attention = np.stack([of_replica(layer.attention, replica) for layer in around.layers])
    relevance = np.stack([of_replica(layer.relevance, replica) for layer in around.layers])
    flow = np.stack([of_replica(layer.flow, replica) for layer in around.layers])  # [l, e]
    crossing = flow[:, ways].sum(-1)  # [l, e / 2]
    weights = around.edge_weights
    return records(
        {
            "ends": np.stack([i[forward], j[forward]], 1).tolist(),
            "attention": _by_link(attention, ways, _SHARE),
            "relevance": _by_link(relevance, ways, _SUM),
            "crossing": plain_numbers(np.vstack([crossing.sum(0), crossing]).T, _SHARE),
            "weight": [None] * forward.size if weights is None else weights[forward].tolist(),
        }
    )


def _by_link(values: NDArray[np.float64], ways: NDArray[np.int64], digits: int) -> Any:
    """Return values [l, e] as [e / 2, 2, l]."""
    return plain_numbers(np.moveaxis(values[:, ways], 0, -1), digits)


def add_removed(
    side: dict[str, Any],
    before: Neighbourhood,
    positions: NDArray[np.float64],
    chances: NDArray[np.float64],
    removed: Sequence[tuple[int, int]],
) -> None:
    """Draw removed edges into a side, and their ends where these are no longer in the picture.

    `before` is the neighbourhood with all edges, `positions` [k, 2] and `chances` [k, c] are
    those of its nodes. The ends that are added have `is_gone`; no share of anything is theirs.
    """
    nodes = side["nodes"]
    links = side["links"]
    layers = len(before.layers)
    where = {dot["index"]: k for k, dot in enumerate(nodes)}
    index_before = {node: k for k, node in enumerate(before.nodes.tolist())}
    for pair in removed:
        for inside, outside in (pair, pair[::-1]):
            if inside in where and outside not in where and outside in index_before:
                k = index_before[outside]
                nodes.append(
                    {
                        "index": outside,
                        "id": str(before.ids[k]),
                        "hop": nodes[where[inside]]["hop"] + 1,
                        "parent": where[inside],
                        "label": int(before.labels[k]),
                        "answer": int(chances[k].argmax()),
                        "confidence": round(float(chances[k].max()), _SHARE),
                        "is_train": bool(before.is_train[k]),
                        "place": plain_numbers(positions[k], _LENGTH),
                        "share": [0.0] * (1 + layers),
                        "contribution": 0.0,
                        "radius": [_GONE] * (2 + layers),
                        "attention": [None] * layers,
                        "relevance": [None] * layers,
                        "is_gone": True,
                    }
                )
                where[outside] = len(nodes) - 1
        if all(end in where for end in pair):
            none = [[None] * layers] * 2
            links.append(
                {
                    "ends": sorted(where[end] for end in pair),
                    "attention": none,
                    "relevance": none,
                    "crossing": [0.0] * (1 + layers),
                    "weight": None,
                }
            )
