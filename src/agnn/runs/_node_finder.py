"""Nodes by id, with suggestions for ids that are not there."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Final

import numpy as np

from agnn.errors import UnknownNodeError

_NEAR: Final = 3
# Ids that are compared letter by letter: a few tenths of a second.
_MOST_COMPARED: Final = 20_000


class NodeFinder:
    """Indices of nodes by id, or by the text of the id; the tables are made on first use."""

    def __init__(self, ids: Sequence[Hashable], name: str) -> None:
        self._name = name
        self._ids = ids

    @cached_property
    def _by_id(self) -> dict[Hashable, int]:
        return {each: place for place, each in enumerate(self._ids)}

    @cached_property
    def _by_text(self) -> dict[str, int]:
        """Ids that are not text, by their text. Of the ids 1 and "1", "1" means the text."""
        return {str(each): k for k, each in enumerate(self._ids) if type(each) is not str}

    def prepare(self) -> None:
        """Make the tables now."""
        self.place("")

    def find(self, wanted: Hashable) -> int:
        """The index of the node with this id, or with an id that is written like it."""
        place = self.place(wanted)
        if place < 0:
            hint = self._hint(str(wanted))
            raise UnknownNodeError(f"'{self._name}' has no node '{wanted}'; {hint}")
        return place

    def knows(self, wanted: Hashable) -> bool:
        """Whether `find` would find it, without looking for suggestions."""
        return self.place(wanted) >= 0

    def place(self, wanted: Hashable) -> int:
        """As `find`, but -1 if there is no such node."""
        # True equals 1, but nobody means it as an id.
        if isinstance(wanted, bool):
            return -1
        if wanted in self._by_id:
            return self._by_id[wanted]
        text = str(wanted) if isinstance(wanted, str | int | np.integer) else ""
        return self._by_id.get(text, self._by_text.get(text, -1))

    def _hint(self, wanted: str) -> str:
        near = difflib.get_close_matches(wanted, self._alike(wanted), n=_NEAR, cutoff=0.6)
        if near:
            return f"near it: {', '.join(repr(each) for each in near)}."
        return f"its ids look like {str(self._ids[0])!r}."

    def _alike(self, wanted: str) -> list[str]:
        """The ids worth a comparison: all of a small graph, those that begin or end alike else."""
        texts = [str(each) for each in self._ids]
        if len(texts) <= _MOST_COMPARED:
            return texts
        first, last = wanted[:2], wanted[-2:]
        found = (
            each
            for each in texts
            if abs(len(each) - len(wanted)) <= 1 and (each[:2] == first or each[-2:] == last)
        )
        return [each for each, _ in zip(found, range(_MOST_COMPARED), strict=False)]
