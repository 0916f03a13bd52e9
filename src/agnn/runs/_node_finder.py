"""Nodes by id, with suggestions for ids that are not there."""

from __future__ import annotations

import difflib
from collections.abc import Hashable
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from agnn.errors import UnknownNodeError

if TYPE_CHECKING:
    from agnn.data import NodeData

_NEAR: Final = 3
# Ids that are compared letter by letter: a few tenths of a second.
_MOST_COMPARED: Final = 20_000


class NodeFinder:
    """Indices of nodes by id, or by the text of the id.

    `NodeData.index_of`, but for people, who type text: it also finds by its text an id in data
    where other ids have the same text.
    """

    def __init__(self, data: NodeData) -> None:
        self._data = data

    @cached_property
    def _by_text(self) -> dict[str, int]:
        """Ids that are not text, by their text. Of the ids 1 and "1", "1" means the text."""
        ids = self._data.node_ids
        return {str(each): k for k, each in enumerate(ids) if type(each) is not str}

    def prepare(self) -> None:
        """Make the tables now."""
        self.place("")

    def find(self, wanted: Hashable) -> int:
        """The index of the node with this id, or with an id that is written like it."""
        place = self.place(wanted)
        if place < 0:
            hint = self._hint(str(wanted))
            raise UnknownNodeError(f"'{self._data.name}' has no node '{wanted}'; {hint}")
        return place

    def knows(self, wanted: Hashable) -> bool:
        """Whether `find` would find it, without looking for suggestions."""
        return self.place(wanted) >= 0

    def place(self, wanted: Hashable) -> int:
        """As `find`, but -1 if there is no such node."""
        # True equals 1, but nobody means it as an id.
        if isinstance(wanted, bool):
            return -1
        found = self._data.index_of(wanted)
        if found is None and isinstance(wanted, str | int | np.integer):
            found = self._data.index_of(str(wanted))
            return self._by_text.get(str(wanted), -1) if found is None else found
        return -1 if found is None else found

    def _hint(self, wanted: str) -> str:
        near = difflib.get_close_matches(wanted, self._alike(wanted), n=_NEAR, cutoff=0.6)
        if near:
            return f"near it: {', '.join(repr(each) for each in near)}."
        return f"its ids look like {str(self._data.node_ids[0])!r}."

    def _alike(self, wanted: str) -> list[str]:
        """The ids worth a comparison: all of a small graph, those that begin or end alike else."""
        texts = [str(each) for each in self._data.node_ids]
        if len(texts) <= _MOST_COMPARED:
            return texts
        first, last = wanted[:2], wanted[-2:]
        found = (
            each
            for each in texts
            if abs(len(each) - len(wanted)) <= 1 and (each[:2] == first or each[-2:] == last)
        )
        return [each for each, _ in zip(found, range(_MOST_COMPARED), strict=False)]
