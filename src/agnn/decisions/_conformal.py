"""Conformal p-values: how strange a score is among the scores of nodes that are known to belong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from agnn.decisions._held_out import AskedNodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.decisions._held_out import Judges
    from agnn.runs import Run

ROUNDING: Final = 1e-9  # by which a p-value must exceed its bound: 1 - 0.9 is not 0.1 in floats


@dataclass(frozen=True, eq=False)
class ReferenceScores:
    """The scores of labelled nodes, each by the replicas that judge it; high scores are strange.

    A node that several groups of replicas judge counts once in all, in equal shares.
    """

    run: Run
    judges: tuple[Judges, ...]
    score: Callable[[Judges, AskedNodes], NDArray[np.float64]]  # [n, c] of all nodes of a graph
    columns: NDArray[np.int64]  # [n] which score of a labelled node of the run counts
    is_by_column: bool = False  # whether a score is compared with those of its own column only

    @property
    def count(self) -> int:
        """Number of labelled nodes."""
        return int(self._labelled.size)

    def counts(self, columns: int) -> NDArray[np.int64]:
        """Return how many labelled nodes each column is compared with; [c]."""
        if not self.is_by_column:
            return np.full(columns, self.count)
        return np.bincount(self.columns[self._labelled], minlength=columns)

    def p_values(self, asked: AskedNodes) -> NDArray[np.float64]:
        """Return the p-values of these nodes' scores; [k, c].

        p = (1 + the number of labelled nodes with this score or a higher one) / (1 + their
        number). Each group compares its own scores: a labelled node and a new one are equally
        strange to replicas that have learned from neither (cross-conformal prediction, Vovk 2015).
        A labelled node is compared with the others, by its own judges.
        """
        above = np.zeros((asked.rows.size, self._scores[0].shape[1]))
        for judge, reference, weights in zip(self.judges, self.values, self._weights, strict=True):
            scores = self.score(judge, asked)[asked.rows]
            for column in range(above.shape[1]):
                is_here = self._is_compared(judge.nodes, column)
                above[:, column] += _weight_from(
                    reference[is_here], weights[is_here], scores[:, column]
                )
        p_values = (1.0 + above) / (1.0 + self.counts(above.shape[1]))
        if asked.is_known:
            is_labelled = np.isin(asked.rows, self._labelled)
            rows = np.searchsorted(self._labelled, asked.rows[is_labelled])
            p_values[is_labelled] = self.left_out[1][rows]
        return np.asarray(p_values)

    @cached_property
    def values(self) -> tuple[NDArray[np.float64], ...]:
        """[k] The scores of the nodes of each of `judges`."""
        return tuple(
            scores[judge.nodes, self.columns[judge.nodes]]
            for judge, scores in zip(self.judges, self._scores, strict=True)
        )

    @cached_property
    def left_out(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The labelled nodes [k], ascending, and their p-values [k, c] among the others."""
        nodes = np.concatenate([judge.nodes for judge in self.judges])
        judged = np.concatenate(
            [scores[judge.nodes] for judge, scores in zip(self.judges, self._scores, strict=True)]
        )
        values = np.concatenate(self.values)
        weights = np.concatenate(self._weights)
        counts = self.counts(judged.shape[1])
        p_values = np.zeros((self.count, judged.shape[1]))
        for column in range(judged.shape[1]):
            is_here = self._is_compared(nodes, column)
            scores = judged[:, column]
            above = _weight_from(values[is_here], weights[is_here], scores)
            above -= is_here * weights * _count_of_own(nodes, values, scores)
            p = (1.0 + above) / (1.0 + counts[column] - is_here)
            np.add.at(p_values[:, column], np.searchsorted(self._labelled, nodes), weights * p)
        return self._labelled, p_values

    @cached_property
    def _labelled(self) -> NDArray[np.int64]:
        return np.unique(np.concatenate([judge.nodes for judge in self.judges]))

    @cached_property
    def _weights(self) -> tuple[NDArray[np.float64], ...]:
        times = np.bincount(np.concatenate([judge.nodes for judge in self.judges]))
        return tuple(1.0 / times[judge.nodes] for judge in self.judges)

    @cached_property
    def _scores(self) -> tuple[NDArray[np.float64], ...]:
        """[n, c] The scores of all nodes of the run, by each of `judges`."""
        everything = AskedNodes.known(self.run)
        return tuple(self.score(judge, everything) for judge in self.judges)

    def _is_compared(self, nodes: NDArray[np.int64], column: int) -> NDArray[np.bool_]:
        return np.asarray((self.columns[nodes] == column) | (not self.is_by_column))


def _weight_from(
    reference: NDArray[np.float64], weights: NDArray[np.float64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weight of the reference scores that are at least as high as each value; [m]."""
    order = np.argsort(reference, kind="stable")
    from_here = np.append(weights[order][::-1].cumsum()[::-1], 0.0)
    return np.asarray(from_here[np.searchsorted(reference[order], values, side="left")])


def _count_of_own(
    nodes: NDArray[np.int64], values: NDArray[np.float64], scores: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return how many values of the same node are at least as high as each score; [k]."""
    order = np.lexsort((values, nodes))
    last = np.searchsorted(nodes[order], nodes, side="right")
    # Complex numbers sort by node and then by value: one search finds a score within its node.
    ranked = nodes[order] + 1j * values[order]
    return np.asarray(last - np.searchsorted(ranked, nodes + 1j * scores, side="left"))
