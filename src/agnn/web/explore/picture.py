"""A neighbourhood in the numbers that a page draws."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from agnn.report.neighbourhood_panel import mark_areas
from agnn.web.explore.links import link_records
from agnn.web.explore.records import chosen, plain_numbers, records

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.explanation import Neighbourhood

_SEEN: Final = 0.12  # the share that the largest mark of a picture looks like at least


@dataclass(frozen=True, eq=False)
class Picture:
    """What one replica, or the mean of all, attends to around a target.

    It has 1 + l views: all layers multiplied, then each layer on its own.
    """

    shown: Neighbourhood
    probabilities: NDArray[np.float64]  # [k, c] of the replica, or of all together
    replica: int | None  # None: the mean over all

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """How much of what reaches the target is each node's, in every view; [1 + l, k].

        All layers multiplied: its share of the target's row of P(l)...P(1). Layer t: P(t)[target,
        j], zero for nodes that are no neighbours of the target.
        """
        into_target = self.shown.edges[0] == 0
        senders = self.shown.edges[1, into_target]
        total = self.shown.weights.sum(1) + self.shown.elsewhere
        views = [self.shown.weights / total[:, None]]
        for layer in self.shown.layers:
            row = np.zeros_like(self.shown.weights)
            row[:, senders] = layer.attention[:, into_target]
            row[:, 0] = layer.loops[:, 0]
            views.append(row)
        return np.stack([chosen(view, self.replica) for view in views])

    def radii(self, largest: float) -> NDArray[np.float64]:
        """The radius of every node's mark in every view, an edge being 1 long; [1 + l, k].

        `largest` is the largest share that is drawn beside this one. Where even that is small, as
        around a hub, all marks grow alike.
        """
        grown = max(1.0, _SEEN / largest)
        return np.sqrt(grown * mark_areas(self.shares) / np.pi)

    def to_dict(self, place: NDArray[np.float64], radii: NDArray[np.float64]) -> dict[str, Any]:
        """Nodes with places [k, 2] and radii [1 + l, k], their edges, and how much is not shown."""
        return {
            "probabilities": plain_numbers(self.probabilities[0]),
            "nodes": self._nodes(place, radii),
            "links": link_records(self.shown, self.replica),
            "left_out": self.shown.left_out,
            "elsewhere": max(0.0, round(1.0 - float(self.shares[0].sum()), 6)),
        }

    def _nodes(
        self, place: NDArray[np.float64], radii: NDArray[np.float64]
    ) -> list[dict[str, Any]]:
        shown = self.shown
        loops = np.stack([chosen(layer.loops, self.replica) for layer in shown.layers])
        relevance = [chosen(layer.loop_relevance, self.replica) for layer in shown.layers]
        return records(
            {
                "index": shown.nodes.tolist(),
                "id": [str(each) for each in shown.ids],
                "hop": shown.hops.tolist(),
                "parent": shown.parents.tolist(),
                "label": shown.labels.tolist(),
                "answer": self.probabilities.argmax(1).tolist(),
                "confidence": plain_numbers(self.probabilities.max(1)),
                "is_train": shown.is_train.tolist(),
                "place": plain_numbers(place),
                "share": plain_numbers(self.shares.T),
                "radius": plain_numbers(radii.T),
                "attention": plain_numbers(loops.T),  # to itself
                "relevance": plain_numbers(np.stack(relevance).T),
            }
        )
