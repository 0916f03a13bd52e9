"""Stored data comes back as it was; anything else is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agnn.data import NodeData, Split
from agnn.data.store import read_data, write_data
from agnn.data.tables import read_tables
from agnn.errors import DataError, InputError
from own_tables import write_tables


def check_same(back: NodeData, data: NodeData) -> None:
    assert back.name == data.name
    assert back.fingerprint == data.fingerprint
    assert back.names_fingerprint == data.names_fingerprint
    assert dict(back.splits) == dict(data.splits)
    assert back.facts == data.facts
    assert back.reading == data.reading


def test_data_comes_back_as_it_was_and_equal_data_gives_equal_files(
    tiny: NodeData, tmp_path: Path
) -> None:
    more = tiny.with_split(Split("mine", [4, 1], [], [0], seed=7))
    ids = replace(more, node_ids=(1, 2.5, "x", 4, 5, 6, "7"))
    for data in (tiny, more, ids):
        first, second = tmp_path / "a.npz", tmp_path / "b.npz"
        assert write_data(data, first) == write_data(data, second)
        assert first.read_bytes() == second.read_bytes()
        check_same(read_data(first), data)


def test_what_was_read_from_tables_keeps_its_reading(tmp_path: Path) -> None:
    data = read_tables(*write_tables(tmp_path), label="topic", text="motto")
    write_data(data, tmp_path / "a.npz")
    back = read_data(tmp_path / "a.npz", preprocessing=data.preprocessing)
    check_same(back, data)
    assert back.preprocessing == data.preprocessing


def test_damaged_files_are_refused_in_one_line(tiny: NodeData, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_data(tiny, path)
    content = path.read_bytes()
    with np.load(path) as archive:
        arrays = dict(archive)
    for keep in (0, 10, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:keep])
        with pytest.raises(DataError, match=r"a\.npz' is damaged or is not stored data"):
            read_data(path)
    for name in arrays:
        np.savez(path, **{key: value for key, value in arrays.items() if key != name})
        with pytest.raises(DataError, match=r"a\.npz' is damaged or is not stored data"):
            read_data(path)


def test_ids_that_json_has_no_form_for_cannot_be_saved(tiny: NodeData, tmp_path: Path) -> None:
    odd = replace(tiny, node_ids=((0, 1), *tiny.node_ids[1:]))
    with pytest.raises(InputError, match=r"only ids that are text or numbers can be saved"):
        write_data(odd, tmp_path / "a.npz")
