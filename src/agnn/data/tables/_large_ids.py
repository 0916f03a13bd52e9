"""Ids of tables larger than memory, looked up with a few numbers per node."""

from __future__ import annotations

from itertools import count, pairwise
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from agnn.data.tables._columns import as_text, holds_text, plain_text
from agnn.data.tables._ids import check_distinct

_BYTES: Final = 2**20  # of text that are hashed at once; each takes 24 bytes meanwhile
_SHIFT: Final = np.uint64(32)
_FACTOR: Final = np.uint64(0xBF58476D1CE4E5B9)  # of splitmix64


class NumberIndex:
    """Ids [n] that are different whole numbers."""

    def __init__(self, ids: NDArray[np.int64], where: str) -> None:
        self.where = where
        is_range = bool(ids.size and ids[0] == 0 and ids[-1] == ids.size - 1)
        is_range = is_range and bool((ids == np.arange(ids.size)).all())
        self._places = None if is_range else np.argsort(ids, kind="stable")
        self._ordered = ids if self._places is None else ids[self._places]

    def positions_of_both(self, first: Any, second: Any) -> NDArray[np.int64]:
        """Return the positions that two series of ids name; -1 for none; [2, k]."""
        return np.stack([self._positions(plain_ids(values)) for values in (first, second)])

    def _positions(self, values: Any) -> NDArray[np.int64]:
        numbers, is_whole = whole_numbers(values)
        count = self._ordered.size
        if self._places is None:
            positions = np.where((numbers >= 0) & (numbers < count), numbers, -1)
        else:
            at = np.searchsorted(self._ordered, numbers).clip(max=count - 1)
            positions = np.where(self._ordered[at] == numbers, self._places[at], -1)
        positions[~is_whole] = -1
        return positions


class TextIndex:
    """Ids [n] that are different texts, found by 64 bits of hash: 12 bytes per id beside the texts.

    The texts are compared, too: one that merely has the hash of an id is not taken for it.
    """

    def __init__(self, ids: pa.LargeStringArray, where: str) -> None:
        self.where = where
        self._ids = ids
        for seed in count():
            self._hash = TextHash(seed)
            hashes = self._hash(ids)
            order = np.argsort(hashes)
            self._hashes = hashes[order]
            self._places = order.astype(np.int32)
            if (self._hashes[1:] != self._hashes[:-1]).all():
                return
            check_distinct(pd.Series(ids.to_pandas()), where)
            # Two different ids have one hash, which the next seed will not give them.

    @classmethod
    def of_bytes(cls, ends: NDArray[np.int64], content: NDArray[np.uint8], where: str) -> TextIndex:
        """Return the index of the texts that end at `ends` [n] in the bytes of all."""
        offsets = np.concatenate([np.zeros(1, np.int64), ends])
        buffers = pa.py_buffer(offsets), pa.py_buffer(content)
        return cls(pa.LargeStringArray.from_buffers(ends.size, *buffers), where)

    def positions_of_both(self, first: Any, second: Any) -> NDArray[np.int64]:
        """Return the positions that two series of ids name; -1 for none; [2, k]."""
        return np.stack([self._positions(values) for values in (first, second)])

    def _positions(self, values: Any) -> NDArray[np.int64]:
        texts = pc.fill_null(plain_ids(values).cast(pa.large_string()), "")
        hashes = self._hash(texts)
        order = np.argsort(hashes)  # ascending ones are found several times as fast
        rows = np.searchsorted(self._hashes, hashes[order]).clip(max=self._hashes.size - 1)
        positions = np.empty(len(texts), np.int64)
        positions[order] = self._places[rows]
        is_same = pc.equal(self._ids.take(pa.array(positions)), texts)
        positions[~np.asarray(is_same)] = -1
        return positions


class TextHash:
    """A hash of 64 bits: the sum of a number for every byte at its place, drawn with a seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._by_byte = self._draw(0, 256)
        self._by_place = self._draw(1, 64)

    def _draw(self, stream: int, size: int) -> NDArray[np.uint64]:
        return np.random.PCG64((self._seed, stream)).random_raw(size)

    def __call__(self, texts: pa.LargeStringArray) -> NDArray[np.uint64]:
        """Return the hash of each text; [k]."""
        hashes = np.zeros(len(texts), np.uint64)
        if not len(texts):
            return hashes
        _, ends, content = texts.buffers()
        offsets = np.frombuffer(ends, np.int64)[texts.offset : texts.offset + len(texts) + 1]
        bytes_of_all = np.frombuffer(content or b"", np.uint8)
        longest = int(np.diff(offsets).max())
        if longest > self._by_place.size:
            self._by_place = self._draw(1, 2 * longest)  # it begins with the same numbers
        steps = np.searchsorted(offsets, np.arange(offsets[0], offsets[-1], _BYTES))
        for first, last in pairwise(np.unique([0, *steps, len(texts)]).tolist()):
            starts = offsets[first:last] - offsets[first]
            lengths = np.diff(offsets[first : last + 1])
            positions = np.arange(lengths.sum()) - np.repeat(starts, lengths)
            values = self._by_byte[bytes_of_all[offsets[first] : offsets[last]]]
            values += self._by_place[positions]
            # Without this, texts with the same bytes in another order would have the same sum.
            values ^= values >> _SHIFT
            values *= _FACTOR
            values ^= values >> _SHIFT
            sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values)])
            hashes[first:last] = sums[starts + lengths] - sums[starts]
        return hashes


def plain_ids(values: Any) -> Any:
    """Return a series of ids as pyarrow's whole numbers or text."""
    values = plain_text(values)
    if pd.api.types.is_integer_dtype(values):
        return pa.array(values, from_pandas=True).cast(pa.int64())
    if not holds_text(values):
        values = as_text(values)
    return pa.array(values, pa.large_string(), from_pandas=True)


def whole_numbers(values: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the whole numbers that ids spell out, and which are such: "07" and "x" are not."""
    if pa.types.is_integer(values.type):
        is_valid = np.asarray(pc.is_valid(values))
        return np.asarray(pc.fill_null(values, 0)), is_valid
    try:
        numbers = np.asarray(pc.fill_null(values, "x").cast(pa.int64()))
    except pa.ArrowInvalid:
        spelled = pc.match_substring_regex(pc.fill_null(values, ""), r"^(0|-?[1-9][0-9]{0,17})$")
        numbers = np.asarray(pc.if_else(spelled, values, "0").cast(pa.int64()))
        return numbers, np.asarray(spelled)
    # The usual spelling has as many letters as the number has digits.
    digits = np.searchsorted(10 ** np.arange(1, 19), np.abs(numbers), side="right") + 1
    return numbers, np.asarray(pc.binary_length(values)) == digits + (numbers < 0)
