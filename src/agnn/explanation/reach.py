"""All nodes that reach one node, and the listing of some of them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from agnn.explanation.reaching_node import ReachingNode
from agnn.explanation.relevance import edge_relevance
from agnn.kernels import Attention

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from agnn.explanation.opened_run import OpenedRun
    from agnn.graph import ReceptiveField


class Reach:
    """The k nodes of a target's receptive field, the target first, with what they bring."""

    def __init__(
        self,
        opened: OpenedRun,
        field: ReceptiveField,
        weights: Sequence[Attention],
        row: NDArray[np.float64],
        added: NDArray[np.float64],
    ) -> None:
        """`row` [R, k] is the target's row of P(l)...P(1), `added` [2, k] by `contributions`."""
        self.opened = opened
        self.nodes: NDArray[np.int64] = field.nodes.cpu().numpy()
        self.added = added
        self.shares = row / row.sum(1, keepdims=True)  # [R, k] each replica's, summing to 1
        self.weights: NDArray[np.float64] = self.shares.mean(0)
        self._sizes = np.array(field.sizes)
        self._beside = field.graph.senders[: int(field.graph.offsets[1])].cpu().numpy()
        first = [Attention(w.edges[:, : self._beside.size], w.loops[:, :1]) for w in weights]
        graph = field.graph.to("cpu")
        self._attention = _own_row(first)
        self._relevance = _own_row([edge_relevance(graph, each) for each in first])

    @cached_property
    def is_train(self) -> NDArray[np.bool_]:
        """[R, k] Which labels each replica was shown."""
        different = {id(split): split for split in self.opened.splits}
        rows = {key: np.isin(self.nodes, split.train) for key, split in different.items()}
        return np.stack([rows[id(split)] for split in self.opened.splits])

    def heaviest(self, limit: int) -> list[int]:
        """Where the most attended nodes stand, the target left out."""
        return self._first(np.arange(1, self.nodes.size), -self.weights, limit)

    def for_answer(self, limit: int) -> list[int]:
        """Where those stand that add most to the answer's logit, less the mean of all."""
        return self._first(np.flatnonzero(self.added[0] > 0), -self.added[0], limit)

    def for_second(self, limit: int) -> list[int]:
        """Where those stand that add most to the second class's logit, less the answer's."""
        return self._first(np.flatnonzero(self.added[1] < 0), self.added[1], limit)

    def training(self, limit: int) -> list[int]:
        """Where the most attended training nodes stand."""
        shown = (self.shares * self.is_train).mean(0)
        return self._first(np.flatnonzero(shown > 0), -shown, limit)

    def training_by_class(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """How many training nodes of each class reach the target, and their weight; each [c]."""
        data = self.opened.data
        labels, known = data.labels[self.nodes], self.is_train.any(0)
        weight = (self.shares * self.is_train).mean(0)
        counts = np.bincount(labels[known], minlength=data.classes)
        sums: NDArray[np.float64] = np.zeros(data.classes)
        np.add.at(sums, labels[known], weight[known])
        return counts, sums

    def listed(self, places: Iterable[int]) -> dict[int, ReachingNode]:
        """The nodes at these places, as data."""
        wanted = sorted(set(places))
        nodes, data = self.nodes[wanted], self.opened.data
        said = self.opened.ensemble_at(nodes) if self.opened.is_cheap(nodes) else None
        beside = {int(place): k for k, place in enumerate([0, *self._beside.tolist()])}
        found = {}
        for k, place in enumerate(wanted):
            label, column = int(data.labels[nodes[k]]), beside.get(place)
            found[place] = ReachingNode(
                node=int(nodes[k]),
                id=data.node_ids[nodes[k]],
                hops=int(np.searchsorted(self._sizes, place, side="right")),
                weight=float(self.weights[place]),
                attention=None if column is None else tuple(self._attention[:, column].tolist()),
                relevance=None if column is None else tuple(self._relevance[:, column].tolist()),
                label=None if label < 0 else data.class_names[label],
                trained_in=float(self.is_train[:, place].mean()),
                prediction=None if said is None else data.class_names[said.answers[k]],
                confidence=None if said is None else float(said.probabilities[k].max()),
                toward_answer=float(self.added[0, place]),
                over_second=float(self.added[1, place]),
            )
        return found

    @staticmethod
    def _first(places: NDArray[np.int64], order: NDArray[np.float64], limit: int) -> list[int]:
        """The `limit` places with the lowest `order`; equal ones by place."""
        first: list[int] = places[np.argsort(order[places], kind="stable")[:limit]].tolist()
        return first


def _own_row(layers: Sequence[Attention]) -> NDArray[np.float64]:
    """The target's row of every layer, itself first, then its neighbours; [l, 1 + |N(i)|]."""
    return np.stack(
        [np.append(each.loops.double().mean(0), each.edges.double().mean(0)) for each in layers]
    )
