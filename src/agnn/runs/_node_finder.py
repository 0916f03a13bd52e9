"""Nodes by id, with suggestions for ids that are not there."""

from __future__ import annotations

import difflib
from collections.abc import Hashable
from itertools import islice
from typing import Final

import numpy as np

from agnn.data import NodeData
from agnn.errors import UnknownNodeError

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

    def prepare(self) -> None:
        """Make the tables now."""
        self._index("")

    def find(self, query: Hashable) -> int:
        """Return the index of the node with this id, or with an id that is written like it."""
        index = self._index(query)
        if index is None:
            hint = self._hint(str(query))
            raise UnknownNodeError(f"'{self._data.name}' has no node '{query}'; {hint}")
        return index

    def knows(self, query: Hashable) -> bool:
        """Return whether `find` would find it, without looking for suggestions."""
        return self._index(query) is not None

    def _index(self, query: Hashable) -> int | None:
        """Return what `find` returns, but None if there is no such node."""
        # True equals 1, but nobody means it as an id.
        if isinstance(query, bool):
            return None
        index = self._data.index_of(query)
        if index is None and isinstance(query, str | int | np.integer):
            index = self._data.index_of(str(query))
            # Of the ids 1 and "1", "1" means the text.
            return self._data.index_of_text(str(query)) if index is None else index
        return index

    def _hint(self, query: str) -> str:
        near = difflib.get_close_matches(query, self._alike(query), n=_NEAR, cutoff=0.6)
        if near:
            return f"near it: {', '.join(repr(node_id) for node_id in near)}."
        return f"its ids look like {str(self._data.node_ids[0])!r}."

    def _alike(self, query: str) -> list[str]:
        """Return the ids worth a comparison: all, or in a large graph those of a like spelling."""
        texts = map(str, self._data.node_ids)
        if self._data.nodes <= _MOST_COMPARED:
            return list(texts)
        alike = (
            text
            for text in texts
            if abs(len(text) - len(query)) <= 1
            and (text[:2] == query[:2] or text[-2:] == query[-2:])
        )
        return list(islice(alike, _MOST_COMPARED))
