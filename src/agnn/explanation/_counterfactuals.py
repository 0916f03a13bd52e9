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
        """Return the same as JSON values."""
        return {
            "ids": [plain_id(node_id) for node_id in self.ids],
            "nodes": list(self.nodes),
            "answer": self.answer,
            "probabilities": self.probabilities.tolist(),
            "is_smallest": self.is_smallest,
            "trials": self.trials,
        }


def counterfactual(run: Run, node: int) -> Counterfactual | None:
    """Return the smallest set of neighbours whose removal changes the prediction.

    None if no set does. Every neighbour is tried alone, and every pair if there are at most 20
    neighbours. Then neighbours are removed one after the other, the most harmful first, until the
    prediction changes; those that turn out to be unnecessary are put back. The result is minimal:
    none of it can be put back, but a smaller set of others may exist.
    """
    search = _Search(run, node)
    singles = [(k,) for k in range(len(search.beside))]
    if (changing := search.first_change(singles)) is not None:
        return search.result(changing, is_smallest=True)
    pairs = list(combinations(range(len(search.beside)), 2))
    is_exhaustive = len(pairs) <= _MOST_PAIRS
    if is_exhaustive and (changing := search.first_change(pairs)) is not None:
        return search.result(changing, is_smallest=True)
    changing = search.grow()
    if changing is None:
        return None
    least = search.prune(changing)
    return search.result(least, is_smallest=is_exhaustive and len(least) == 3)


class _Search:
    """Trials on one node; sets of neighbours are tuples of positions in `beside`."""

    def __init__(self, run: Run, node: int) -> None:
        self._run = run
        self._node = node
        self._removal = Removal(run, node)
        graph = run.graph
        row = slice(int(graph.offsets[node]), int(graph.offsets[node + 1]))
        self.beside: list[int] = graph.columns[row].tolist()
        self._answer = int(self._removal.probabilities(()).argmax())
        self._tried: dict[tuple[int, ...], NDArray[np.float64]] = {}

    def first_change(self, sets: Iterable[tuple[int, ...]]) -> tuple[int, ...] | None:
        """Return the set that makes the prediction least probable, of those that change it."""
        changing = [places for places in sets if self._changes(places)]
        return min(changing, key=lambda places: self._after(places)[self._answer], default=None)

    def grow(self) -> tuple[int, ...] | None:
        """Add neighbours in the order of their effect alone, until the prediction changes."""
        alone = [float(self._after((k,))[self._answer]) for k in range(len(self.beside))]
        order = np.argsort(alone, kind="stable").tolist()
        for size in range(1, len(order) + 1):
            places = tuple(sorted(order[:size]))
            if self._changes(places):
                return places
        return None

    def prune(self, places: tuple[int, ...]) -> tuple[int, ...]:
        """Leave out those, tried in turn, that the set does not need."""
        for place in places:
            fewer = tuple(k for k in places if k != place)
            if fewer and self._changes(fewer):
                places = fewer
        return places

    def result(self, places: tuple[int, ...], *, is_smallest: bool) -> Counterfactual:
        """Return the set as data."""
        nodes = tuple(self.beside[k] for k in places)
        after = self._after(places)
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
