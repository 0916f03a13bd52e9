"""The ids of nodes in a folder of parts, on disk: read and looked up without holding them all."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from agnn.data.tables import NumberIndex, TextIndex

_AT_ONCE: Final = 16_384


class TextIds(NamedTuple):
    """Ids that are text: where each ends in the bytes of all."""

    ends: NDArray[np.int64]
    content: NDArray[np.uint8]

    @classmethod
    def of(cls, ids: Iterable[str]) -> TextIds:
        """Return these ids."""
        texts = [text.encode() for text in ids]
        ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
        return cls(ends, np.frombuffer(b"".join(texts), np.uint8))

    def at(self, rows: NDArray[np.int64]) -> list[str]:
        """Return the ids in some rows."""
        starts = np.where(rows > 0, self.ends[rows - 1], 0).tolist()
        pairs = zip(starts, self.ends[rows].tolist(), strict=True)
        return [self.content[start:end].tobytes().decode() for start, end in pairs]


class StoredIds(Sequence[Hashable]):
    """The ids by position: whole numbers or text by row of the node table, memory-mapped."""

    def __init__(
        self, rows: NDArray[np.int64], ids: NDArray[np.int64] | TextIds, where: str
    ) -> None:
        self._rows = rows  # [n] of each position
        self._ids = ids
        self._where = where

    def __len__(self) -> int:
        return self._rows.size

    @overload
    def __getitem__(self, place: int) -> Hashable: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Hashable, ...]: ...

    def __getitem__(self, place: int | slice) -> Hashable | tuple[Hashable, ...]:
        if isinstance(place, slice):
            return tuple(self._at(self._rows[place]))
        (node_id,) = self._at(self._rows[[place]])
        return node_id

    def __iter__(self) -> Iterator[Hashable]:
        for start in range(0, len(self), _AT_ONCE):
            yield from self._at(self._rows[start : start + _AT_ONCE])

    def _at(self, rows: NDArray[np.int64]) -> Sequence[Hashable]:
        if isinstance(self._ids, TextIds):
            return self._ids.at(rows)
        numbers: list[int] = self._ids[rows].tolist()
        return numbers

    def position_of(self, node_id: Hashable) -> int | None:
        """Return the position of an id, also of 7 for "7" and the other way round; None: none."""
        import pandas as pd

        is_whole = isinstance(node_id, float | np.floating) and node_id == node_id // 1
        text = str(int(node_id)) if is_whole else str(node_id)  # type: ignore[call-overload]
        ids = pd.Series([text], dtype=object)
        row = int(self._index.positions_of_both(ids, ids)[0, 0])
        return None if row < 0 else int(self._position_of_row[row])

    @cached_property
    def _index(self) -> NumberIndex | TextIndex:
        from agnn.data.tables import NumberIndex, TextIndex

        if isinstance(self._ids, TextIds):
            return TextIndex.of_bytes(*self._ids, self._where)
        return NumberIndex(self._ids, self._where)

    @cached_property
    def _position_of_row(self) -> NDArray[np.int32]:
        positions = np.empty(len(self), np.int32)
        positions[self._rows] = np.arange(len(self), dtype=np.int32)
        return positions
