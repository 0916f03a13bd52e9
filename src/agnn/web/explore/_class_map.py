"""The relevance between classes, and the edges behind each cell."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agnn.explanation import Relevance
from agnn.runs import Run
from agnn.web.explore._picture import plain_numbers


class ClassMap:
    """Relevance(c2 -> c1), Eq. (8), of every layer, and the edges from class c2 to c1 in order.

    Computed on first use, since it reads every edge. Nodes without a label are in no cell.
    """

    def __init__(self, run: Run) -> None:
        self._run = run

    @property
    def relevance(self) -> NDArray[np.float64]:
        """[l, c, c], row receives, column sends; NaN where no edge joins the two classes."""
        return self._relevances[0]

    def edges(self, layer: int, receiver: int, sender: int, limit: int) -> dict[str, Any]:
        """The cell's most relevant edges in a layer (from 0), and how many there are."""
        graph = self._run.graph
        cell = receiver * self._run.data.classes + sender
        inside = np.flatnonzero(self._cells == cell)
        relevance = self._relevances[1][layer, inside]
        top = np.arange(inside.size)
        if inside.size > limit:  # sorting them all would take long in a large graph
            top = np.sort(np.argpartition(-relevance, limit)[:limit])
        best = inside[top[np.argsort(-relevance[top], kind="stable")]]
        return {
            "count": inside.size,
            "receivers": graph.receivers.numpy()[best].tolist(),
            "senders": graph.senders.numpy()[best].tolist(),
            "relevance": plain_numbers(self._relevances[1][layer, best]),
        }

    @cached_property
    def _relevances(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The cells of every layer [l, c, c], and R(j -> i) [l, m], the mean over the replicas."""
        relevance = Relevance.of_weights(self._run)
        edges = [layer.mean(0).double().numpy() for layer in relevance.by_edge()]
        return np.stack(relevance.by_class()), np.stack(edges)

    @cached_property
    def _cells(self) -> NDArray[np.int32]:
        """Receiver's class times c plus sender's class of every edge, -1 without a label; [m]."""
        graph = self._run.graph
        labels = self._run.data.labels
        receiver = labels[graph.receivers.numpy()]
        sender = labels[graph.senders.numpy()]
        labelled = (receiver >= 0) & (sender >= 0)
        cells = np.where(labelled, receiver * self._run.data.classes + sender, -1)
        return cells.astype(np.int32)
