"""Ids of tables larger than memory: texts that are found by a hash."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from agnn.data.tables import _large_ids
from agnn.data.tables._large_ids import TextHash, TextIndex
from agnn.errors import DataError

TEXTS = ["", "a", "b", "ab", "ba", "aab", "aba", "ä", "user-1@x", "user-2@x", "u" * 500, "u" * 501]


def index_of(ids: list[str]) -> TextIndex:
    return TextIndex(pa.array(ids, pa.large_string()), "'nodes', column 'id'")


def test_every_id_is_found_at_its_place():
    ids = [f"user {k}" for k in np.random.default_rng(0).permutation(1000)]
    ends = pd.Series([ids[7], "nobody", ids[999], None, "", ids[0]])
    positions = index_of(ids).positions_of_both(ends, ends[::-1])
    assert positions.tolist() == [[7, -1, 999, -1, -1, 0], [0, -1, -1, 999, -1, 7]]


def test_ids_that_are_numbers_in_the_edges_are_found_by_their_text():
    ends = pd.Series([7, 8])
    assert index_of(["x", "8", "7"]).positions_of_both(ends, ends).tolist() == [[2, 1], [2, 1]]


def test_texts_of_the_same_bytes_in_another_order_have_other_hashes():
    hashes = TextHash(0)(pa.array(TEXTS, pa.large_string()))
    assert np.unique(hashes).size == len(TEXTS)


def test_a_hash_depends_on_the_text_alone(monkeypatch: pytest.MonkeyPatch):
    expected = TextHash(3)(pa.array(TEXTS, pa.large_string()))
    monkeypatch.setattr(_large_ids, "_BYTES", 2)
    some = pa.array(["before", *TEXTS[:-2], "behind"], pa.large_string())[1:-1]
    np.testing.assert_array_equal(TextHash(3)(some), expected[:-2])
    np.testing.assert_array_equal(TextHash(3)(pa.array(TEXTS, pa.large_string())), expected)


class PoorHash(TextHash):
    """The length of a text for the first seed, and a good hash for every other one."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.is_poor = seed == 0

    def __call__(self, texts: pa.LargeStringArray) -> np.ndarray:
        lengths = np.array([len(text) for text in texts.to_pylist()], np.uint64)
        return lengths if self.is_poor else super().__call__(texts)


def test_ids_with_one_hash_get_another(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_large_ids, "TextHash", PoorHash)
    ends = pd.Series(["two", "one", "six"])
    expected = [1, 0, -1]
    assert index_of(["one", "two", "three"]).positions_of_both(ends, ends)[0].tolist() == expected


def test_a_text_with_the_hash_of_an_id_is_not_the_id(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_large_ids, "TextHash", PoorHash)
    ends = pd.Series(["xx", "bb", "x"])
    assert index_of(["a", "bb", "ccc"]).positions_of_both(ends, ends)[0].tolist() == [-1, 1, -1]


def test_an_id_that_occurs_twice_is_refused():
    with pytest.raises(DataError, match="the id 'b' is in rows 2, 4"):
        index_of(["a", "b", "c", "b"])
