"""Conformal p-values: how strange a score is among the scores of nodes that are known to belong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final
from zlib import crc32

import numpy as np

from agnn.decisions._held_out import AskedNodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.decisions._held_out import Judges
    from agnn.runs import Run

ROUNDING: Final = 1e-9  # by which a p-value must exceed its bound: 1 - 0.9 is not 0.1 in floats


@dataclass(frozen=True, eq=False)
class ReferenceScores:
    """The scores of labelled nodes, each by the replicas that judge it; high scores are strange."""

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
        number). A new node is judged as a labelled one is: by replicas that were not trained on it.
        All replicas are such, and it gets those of a labelled node that is drawn by its id. Judged
        by all of them together it would be unlike the labelled nodes, and covered more often.
        A labelled node is compared with the others.
        """
        drawn = [crc32(str(node_id).encode()) % self.count for node_id in asked.predictions.ids]
        p_values = self._p_values(self._judge_scores(asked, np.array(drawn, dtype=np.int64)))
        if asked.is_known:
            is_labelled = np.isin(asked.rows, self._labelled)
            rows = np.searchsorted(self._labelled, asked.rows[is_labelled])
            p_values[is_labelled] = self.left_out[1][rows]
        return p_values

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """[k] The scores of the labelled nodes that count."""
        return np.asarray(self._scores[np.arange(self.count), self.columns[self._labelled]])

    @cached_property
    def left_out(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The labelled nodes [k], ascending, and their p-values [k, c] among the others."""
        is_itself = (self.values[:, None] >= self._scores) & self._is_compared
        counts = 1.0 + self.counts(self._scores.shape[1])
        p_values = self._p_values(self._scores) * counts - is_itself
        return self._labelled, p_values / (counts - self._is_compared)

    def _p_values(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the p-values of scores [k, c] among those of all labelled nodes; [k, c]."""
        p_values = np.empty(scores.shape)
        for column in range(scores.shape[1]):
            reference = np.sort(self.values[self._is_compared[:, column]])
            below = np.searchsorted(reference, scores[:, column], side="left")
            p_values[:, column] = (1.0 + reference.size - below) / (1.0 + reference.size)
        return p_values

    def _judge_scores(self, asked: AskedNodes, alike: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return each asked node's scores [k, c], by the judges of the labelled node at `alike`."""
        is_judge = [np.isin(self._labelled[alike], judge.nodes)[:, None] for judge in self.judges]
        scores = sum(
            is_here * self.score(judge, asked)[asked.rows]
            for judge, is_here in zip(self.judges, is_judge, strict=True)
        )
        return np.asarray(scores / np.sum(is_judge, 0))

    @cached_property
    def _labelled(self) -> NDArray[np.int64]:
        return np.unique(np.concatenate([judge.nodes for judge in self.judges]))

    @cached_property
    def _scores(self) -> NDArray[np.float64]:
        """[k, c] The scores of the labelled nodes."""
        ids = [self.run.data.node_ids[node] for node in self._labelled.tolist()]
        return self._judge_scores(AskedNodes.known(self.run, ids), np.arange(self.count))

    @cached_property
    def _is_compared(self) -> NDArray[np.bool_]:
        """[k, c] Whether the score of a labelled node is compared with others in a column."""
        columns = np.arange(self._scores.shape[1])
        is_own = self.columns[self._labelled][:, None] == columns
        return np.asarray(is_own | (not self.is_by_column))
