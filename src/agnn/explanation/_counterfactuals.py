"""The neighbours whose removal changes the prediction for a node, found by trial."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from agnn.explanation._removed_edges import Removal
from agnn.files import plain_id

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.runs import Run

_MOST_PAIRS: Final = 200  # tried; with more neighbours than 20 the smallest pair is not looked for


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """A set of neighbours without whose edges another class is predicted."""

    nodes: tuple[int, ...]  # indices in the data
    ids: tuple[Hashable, ...]
    answer: int  # the class that is predicted then
    probabilities: NDArray[np.float64]  # [c] then
    is_smallest: bool  # no smaller set does it; otherwise only none of it can be left out
    trials: int

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {
            "ids": [plain_id(each) for each in self.ids],
            "nodes": list(self.nodes),
            "answer": self.answer,
            "probabilities": self.probabilities.tolist(),
            "is_smallest": self.is_smallest,
            "trials": self.trials,
        }


def counterfactual(run: Run, node: int) -> Counterfactual | None:
    """The smallest set of neighbours whose removal changes the prediction; None if none does.

    Every neighbour is tried alone, and every pair if there are at most 20 neighbours. Then
    neighbours are removed one after the other, the most harmful first, until the prediction
    changes; those that turn out to be unnecessary are put back. The result is minimal: none of it
    can be put back, but a smaller set of others may exist.
    """
    search = _Search(run, node)
    singles = [(k,) for k in range(len(search.beside))]
    if (found := search.first_change(singles)) is not None:
        return search.result(found, is_smallest=True)
    pairs = list(combinations(range(len(search.beside)), 2))
    is_exhaustive = len(pairs) <= _MOST_PAIRS
    if is_exhaustive and (found := search.first_change(pairs)) is not None:
        return search.result(found, is_smallest=True)
    grown = search.grown()
    if grown is None:
        return None
    least = search.pruned(grown)
    return search.result(least, is_smallest=is_exhaustive and len(least) == 3)


class _Search:
    """Trials on one node; sets of neighbours are tuples of positions in `beside`."""

    def __init__(self, run: Run, node: int) -> None:
        self._run, self._node = run, node
        self._removal = Removal(run, node)
        graph = run.graph
        row = slice(int(graph.offsets[node]), int(graph.offsets[node + 1]))
        self.beside: list[int] = graph.columns[row].tolist()
        self._answer = int(self._removal.probabilities(()).argmax())
        self._tried: dict[tuple[int, ...], NDArray[np.float64]] = {}

    def first_change(self, sets: Iterable[tuple[int, ...]]) -> tuple[int, ...] | None:
        """Of the sets that change the prediction, the one that leaves it the least probable."""
        changing = [each for each in sets if self._changes(each)]
        return min(changing, key=lambda each: self._after(each)[self._answer], default=None)

    def grown(self) -> tuple[int, ...] | None:
        """Neighbours in the order of their effect alone, until the prediction changes."""
        alone = [float(self._after((k,))[self._answer]) for k in range(len(self.beside))]
        order = np.argsort(alone, kind="stable").tolist()
        for size in range(1, len(order) + 1):
            found = tuple(sorted(order[:size]))
            if self._changes(found):
                return found
        return None

    def pruned(self, found: tuple[int, ...]) -> tuple[int, ...]:
        """The set without those, tried in turn, that it does not need."""
        for each in found:
            fewer = tuple(k for k in found if k != each)
            if fewer and self._changes(fewer):
                found = fewer
        return found

    def result(self, found: tuple[int, ...], *, is_smallest: bool) -> Counterfactual:
        """The set as data."""
        nodes = tuple(self.beside[k] for k in found)
        after = self._after(found)
        return Counterfactual(
            nodes=nodes,
            ids=tuple(self._run.data.node_ids[k] for k in nodes),
            answer=int(after.argmax()),
            probabilities=after,
            is_smallest=is_smallest,
            trials=len(self._tried),
        )

    def _changes(self, places: tuple[int, ...]) -> bool:
        return int(self._after(places).argmax()) != self._answer

    def _after(self, places: tuple[int, ...]) -> NDArray[np.float64]:
        if places not in self._tried:
            pairs = [(self._node, self.beside[k]) for k in places]
            self._tried[places] = self._removal.probabilities(pairs)
        return self._tried[places]
