"""A split is three disjoint lists that survive a file, and damage to the file is noticed."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from agnn.data import NodeData, Split
from agnn.errors import DataError, InputError

SPLIT = Split("mine", train=[3, 1], validation=[], test=[2, 0], seed=7)


def test_parts_keep_the_order_given() -> None:
    assert [part.tolist() for part in SPLIT.parts.values()] == [[3, 1], [], [2, 0]]
    assert all(part.dtype == np.int64 for part in SPLIT.parts.values())


def test_equality_and_hash_are_by_content() -> None:
    twin = Split("mine", np.array([3, 1], np.int32), np.empty(0), (2, 0), 7)
    assert twin == SPLIT
    assert hash(twin) == hash(SPLIT)
    copied = pickle.loads(pickle.dumps(SPLIT))  # noqa: S301 our own
    assert copied == SPLIT
    assert not any(part.flags.writeable for part in copied.parts.values())
    others = [
        Split("other", [3, 1], [], [2, 0], 7),
        Split("mine", [1, 3], [], [2, 0], 7),
        Split("mine", [3, 1], [2], [0], 7),
        Split("mine", [3, 1], [], [2, 0], 8),
    ]
    assert all(other != SPLIT for other in others)
    assert SPLIT != "mine"


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([0, 1], [1], []), "node 1 is in both `train` and `validation`"),
        (([0, 1], [], [0, 1]), r"node 0 is in both `train` and `test` \(2 in all\)"),
        (([0], [1], [2, 1]), "node 1 is in both `validation` and `test`"),
        (([0, 1, 0], [], []), "`train` names node 0 more than once"),
        (([], [1], [2]), "`train` must name at least one node"),
        (([0], [-1], []), "`validation` names node -1; node indices start at 0"),
        (([0], [], [1.0]), "`test` must hold node indices as integers; got float64"),
        (([True], [], []), "`train` must hold node indices as integers; got bool"),
        (([[0, 1]], [], []), r"`train` must be a list of node indices; got shape \[1, 2\]"),
    ],
)
def test_parts_that_overlap_repeat_or_are_no_indices_are_refused(parts: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Split("bad", *parts)


def test_check_wants_nodes_that_exist_and_have_labels(tiny: NodeData) -> None:
    Split("good", [0], [1], [6]).check(tiny)
    with pytest.raises(InputError, match="`validation` names node 7, which does not exist"):
        Split("far", [0], [7], []).check(tiny)
    with pytest.raises(InputError, match="`test` names node 5, which has no label in 'tiny'"):
        Split("blank", [0], [], [5]).check(tiny)


@given(
    st.permutations(range(12)), st.integers(1, 12), st.integers(0, 12), st.none() | st.integers(0)
)
def test_a_split_is_the_same_after_json(
    order: list[int], first: int, second: int, seed: int | None
) -> None:
    ends = sorted((first, max(first, second)))
    split = Split("any", order[: ends[0]], order[ends[0] : ends[1]], order[ends[1] :], seed)
    assert Split.from_dict(json.loads(json.dumps(split.to_dict()))) == split


def test_a_split_is_the_same_after_a_file_and_nothing_else_is_left(tmp_path: Path) -> None:
    SPLIT.save(tmp_path / "split.json")
    assert Split.load(tmp_path / "split.json") == SPLIT
    assert [path.name for path in tmp_path.iterdir()] == ["split.json"]


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "split.json"
    path.write_text("precious")
    with pytest.raises(InputError, match=r"split\.json' exists already"):
        SPLIT.save(path)
    assert path.read_text() == "precious"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be created: there is no folder '.*nowhere'"):
        SPLIT.save(tmp_path / "nowhere" / "split.json")


GOOD = SPLIT.to_dict()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        (json.dumps(GOOD)[:-20], "is damaged or is not a saved split"),
        ("[" * 100_000, "is damaged or is not a saved split"),
        ("\ufeff{}", "is damaged or is not a saved split"),
        ("[1, 2]", "this is not a saved split: it must have 'format'"),
        ('{"train": [1]}', "this is not a saved split: it must have 'format'"),
        (json.dumps(GOOD | {"extra": 1}), "a saved split has name, seed, train"),
        (json.dumps(GOOD | {"train": [1.5]}), "whole numbers in its lists"),
        (json.dumps(GOOD | {"train": [True]}), "whole numbers in its lists"),
        (json.dumps(GOOD | {"train": 3}), "is damaged or is not a saved split"),
        (json.dumps(GOOD | {"train": [10**30]}), "integers; got object"),
        (json.dumps(GOOD | {"train": [2**63]}), "names node 9223372036854775808"),
        (json.dumps(GOOD | {"name": 3}), "text as its name"),
        (json.dumps(GOOD | {"seed": "7"}), "whole numbers"),
        (json.dumps(GOOD | {"test": [3]}), "node 3 is in both `train` and `test`"),
    ],
)
def test_a_damaged_or_foreign_file_is_refused_by_name(
    tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "split.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=rf"split\.json'.*{message}"):
        Split.load(path)


def test_bytes_that_are_no_text_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match=r"bytes\.json' is damaged"):
        Split.load(tmp_path / "bytes.json")
    with pytest.raises(DataError, match=r"cannot read '.*none\.json': No such file"):
        Split.load(tmp_path / "none.json")
