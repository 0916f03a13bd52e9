"""Conformal p-values: how strange a score is among the scores of nodes that are known to belong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.decisions._held_out import Judges

ROUNDING: Final = 1e-9  # by which a p-value must exceed its bound: 1 - 0.9 is not 0.1 in floats


@dataclass(frozen=True, eq=False)
class ReferenceScores:
    """The scores of labelled nodes, each by the replicas that judge it; high scores are strange.

    A node that several groups of replicas judge counts once in all, in equal shares.
    """

    judges: tuple[Judges, ...]
    values: tuple[NDArray[np.float64], ...]  # [k] of the nodes of each of `judges`
    columns: tuple[NDArray[np.int64], ...] | None = None
    """[k] The column that each score is compared with; None: with every one."""

    @property
    def count(self) -> int:
        """Number of labelled nodes."""
        return int(np.unique(self._nodes).size)

    @cached_property
    def _nodes(self) -> NDArray[np.int64]:
        return np.concatenate([judge.nodes for judge in self.judges])

    @cached_property
    def _weights(self) -> tuple[NDArray[np.float64], ...]:
        times = np.bincount(self._nodes)
        return tuple(1.0 / times[judge.nodes] for judge in self.judges)

    def counts(self, columns: int) -> NDArray[np.int64]:
        """Return how many labelled nodes each column is compared with; [c]."""
        if self.columns is None:
            return np.full(columns, self.count)
        _, first = np.unique(self._nodes, return_index=True)
        return np.bincount(np.concatenate(self.columns)[first], minlength=columns)

    def p_values(self, scores: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the p-values of scores [m, c] of other nodes, one array per group of judges.

        p = (1 + the number of labelled nodes with this score or a higher one) / (1 + their
        number). Each group compares its own scores: a labelled node and a new one are equally
        strange to replicas that have learned from neither (cross-conformal prediction, Vovk 2015).
        """
        above = np.zeros_like(scores[0])
        for group, values in enumerate(scores):
            for column in range(values.shape[1]):
                reference, weights = self._of(group, column)
                above[:, column] += _weight_from(reference, weights, values[:, column])
        return np.asarray((1.0 + above) / (1.0 + self.counts(above.shape[1])))

    def left_out_p_values(
        self, scores: Sequence[NDArray[np.float64]]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the labelled nodes [k], ascending, and their p-values [k, c] among the others.

        `scores` [n, c] are of all nodes, one array per group. A node is scored by its judges alone.
        """
        nodes, place_of = np.unique(self._nodes, return_inverse=True)
        classes = scores[0].shape[1]
        counts = self.counts(classes)
        pooled = [self._pooled(column) for column in range(classes)]
        entries = self._entries_by_node(place_of, nodes.size)
        sums = np.zeros((nodes.size, classes))
        first = 0
        for judge, weights, values in zip(self.judges, self._weights, scores, strict=True):
            rows = place_of[first : first + judge.nodes.size]
            first += judge.nodes.size
            judged = values[judge.nodes]
            for column in range(classes):
                above = _weight_from(*pooled[column], judged[:, column])
                is_here = self._is_in_column(rows, place_of, column)
                own_weight = (entries[rows] >= judged[:, column, None]).sum(1) * weights * is_here
                p = (1.0 + above - own_weight) / (1.0 + counts[column] - is_here)
                sums[rows, column] += weights * p
        return nodes, sums

    def _is_in_column(
        self, rows: NDArray[np.int64], place_of: NDArray[np.int64], column: int
    ) -> NDArray[np.float64]:
        """Return 1 for the labelled nodes, by place, that a column is compared with; else 0."""
        if self.columns is None:
            return np.ones(rows.size)
        column_of = np.empty(place_of.max() + 1, dtype=np.int64)
        column_of[place_of] = np.concatenate(self.columns)
        return np.asarray(column_of[rows] == column, dtype=np.float64)

    def _entries_by_node(self, place_of: NDArray[np.int64], nodes: int) -> NDArray[np.float64]:
        """Return every labelled node's own scores [k, most judges], filled with -inf."""
        times = np.bincount(place_of, minlength=nodes)
        entries = np.full((nodes, int(times.max())), -np.inf)
        order = np.argsort(place_of, kind="stable")
        within = np.arange(order.size) - np.repeat(times.cumsum() - times, times)
        entries[place_of[order], within] = np.concatenate(self.values)[order]
        return entries

    def _of(self, group: int, column: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the scores and weights that one group compares a column with."""
        values = self.values[group]
        weights = self._weights[group]
        if self.columns is None:
            return values, weights
        is_here = self.columns[group] == column
        return values[is_here], weights[is_here]

    def _pooled(self, column: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        parts = [self._of(group, column) for group in range(len(self.judges))]
        return np.concatenate([part[0] for part in parts]), np.concatenate([p[1] for p in parts])


def _weight_from(
    reference: NDArray[np.float64], weights: NDArray[np.float64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weight of the reference scores that are at least as high as each value; [m]."""
    order = np.argsort(reference, kind="stable")
    from_here = np.append(weights[order][::-1].cumsum()[::-1], 0.0)
    return np.asarray(from_here[np.searchsorted(reference[order], values, side="left")])
