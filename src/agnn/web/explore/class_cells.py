"""The relevance between classes, and the edges behind each cell of it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from agnn.explanation.layer_weights import layer_weights
from agnn.explanation.relevance import class_relevance, edge_relevance
from agnn.web.explore.records import plain_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.explanation import TrainedModel


class ClassCells:
    """Relevance(c2 -> c1), Eq. (8), of every layer, and the edges from class c2 to c1 in order.

    Computed once, when first asked for: it reads every edge. Nodes without a label are in no cell.
    """

    def __init__(self, trained: TrainedModel) -> None:
        self._trained = trained
        self._in_order: dict[int, NDArray[np.int64]] = {}

    @property
    def relevance(self) -> NDArray[np.float64]:
        """[l, c, c], row receives, column sends; NaN where no edge joins the two classes."""
        return self._computed[0]

    def edges(self, layer: int, receiver: int, sender: int, limit: int) -> dict[str, Any]:
        """The cell's most relevant edges in a layer (from 0), and how many there are."""
        classes = self._trained.data.classes
        cell = receiver * classes + sender
        order, graph = self._order(layer), self._trained.graph
        start, end = np.searchsorted(self._cells[order], [cell, cell + 1])
        top = order[start : min(end, start + limit)]
        return {
            "count": int(end - start),
            "receivers": graph.receivers.numpy()[top].tolist(),
            "senders": graph.senders.numpy()[top].tolist(),
            "relevance": plain_numbers(self._computed[1][layer, top]),
        }

    @cached_property
    def _computed(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The cells of every layer [l, c, c], and R(j -> i) [l, m], the mean over the replicas."""
        graph, data = self._trained.graph, self._trained.data
        cells, edges = [], []
        for each in layer_weights(self._trained.model, self._trained.whole_view()):
            cells.append(class_relevance(graph, each, data.labels, data.classes).numpy())
            edges.append(edge_relevance(graph, each).edges.mean(0).double().numpy())
        return np.stack(cells), np.stack(edges)

    @cached_property
    def _cells(self) -> NDArray[np.int64]:
        """Receiver's class times c plus sender's class of every edge, -1 without a label; [m]."""
        graph, labels = self._trained.graph, self._trained.data.labels
        receiver, sender = labels[graph.receivers.numpy()], labels[graph.senders.numpy()]
        known = (receiver >= 0) & (sender >= 0)
        return np.where(known, receiver * self._trained.data.classes + sender, -1)

    def _order(self, layer: int) -> NDArray[np.int64]:
        """All edges by cell and inside it the most relevant first; kept for the next question."""
        if layer not in self._in_order:
            self._in_order[layer] = np.lexsort((-self._computed[1][layer], self._cells))
        return self._in_order[layer]
