"""Numbers that stand at the edges: an error, or left out because somebody says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agnn.data.encoded_text import plain_text
from agnn.data.node_table import is_blank, numbers_in
from agnn.data.reading import ColumnUse
from agnn.errors import DataError

_NAMES = ("id", "key")  # numbers in columns called so are names, as GEXF and NetworkX have them


class EdgeWeights:
    """Which further columns of an edge table hold numbers that differ, batch by batch."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = [name for name in columns if name]
        self._first: dict[str, float] = {}
        self._differing: set[str] = set()
        self._words: set[str] = {name for name in self.columns if name.lower() in _NAMES}

    def look_at(self, frame: Any) -> None:
        """Take note of one batch."""
        for name in self.columns:
            if name in self._words or name in self._differing:
                continue
            values = plain_text(frame[name])
            numbers = numbers_in(values)
            known = numbers[~np.isnan(numbers)]
            filled = int((~is_blank(values)).sum())
            if known.size < filled / 2:
                self._words.add(name)
            elif known.size and (known != self._first.setdefault(name, float(known[0]))).any():
                self._differing.add(name)

    def settle(self, place: str, *, ignore: bool) -> tuple[list[ColumnUse], list[str]]:
        """What became of the columns and what is to be said; raises for weights not ignored."""
        heavy = sorted(self._differing - self._words)
        if heavy and not ignore:
            raise DataError(
                f"{place}, column '{heavy[0]}': numbers at the edges look like weights, and edges "
                f"have none here. Take the column away, or ignore it with --ignore-weights "
                f"(ignore_weights=True)."
            )
        why = dict.fromkeys(heavy, "a weight, ignored as asked")
        uses = [
            ColumnUse("edges", name, "left out", why.get(name, "edges have no features here"))
            for name in self.columns
        ]
        names = ", ".join(heavy)
        return uses, [f"{place}: the weights in '{names}' are ignored, as asked."] if heavy else []
