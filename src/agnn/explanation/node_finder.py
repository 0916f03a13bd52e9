"""A node by the name that its data gives it, and near names where there is no such node."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np

from agnn.errors import UnknownNodeError

_NEAR: Final = 3
# Names that are compared letter by letter: some tenths of a second.
_MOST_COMPARED: Final = 20_000


class NodeFinder:
    """The places of nodes by their ids, and by what the ids look like as text."""

    def __init__(self, ids: Sequence[Hashable], name: str) -> None:
        self._name = name
        self._ids = ids
        self._by_id = {each: place for place, each in enumerate(ids)}
        # Ids that are no text, by their text. Of 1 and "1" the text means the text.
        self._by_text = {
            str(each): place for place, each in enumerate(ids) if type(each) is not str
        }

    def find(self, wanted: Hashable) -> int:
        """The index of the node with this id, or with an id that looks like this text or number."""
        place = self._place(wanted)
        if place is None:
            hint = self._hint(str(wanted))
            raise UnknownNodeError(f"'{self._name}' has no node '{wanted}'; {hint}")
        return place

    def knows(self, wanted: Hashable) -> bool:
        """Whether `find` would find it; far cheaper where it would not, since nothing is hinted."""
        return self._place(wanted) is not None

    def _place(self, wanted: Hashable) -> int | None:
        # True equals 1, and is not what somebody means by a node's id.
        if isinstance(wanted, bool):
            return None
        if wanted in self._by_id:
            return self._by_id[wanted]
        text = str(wanted) if isinstance(wanted, str | int | np.integer) else ""
        return self._by_id.get(text, self._by_text.get(text)) if text else None

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
