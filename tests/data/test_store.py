"""Stored data comes back as it was, also from files of version 0.1.0; anything else is refused."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agnn.data import NodeData, Split, read_tables
from agnn.data.store import read_data, write_data
from agnn.errors import DataError, InputError
from own_tables import write_tables


def check_same(back: NodeData, data: NodeData) -> None:
    assert back.name == data.name
    assert back.fingerprint == data.fingerprint
    assert back.names_fingerprint == data.names_fingerprint
    assert dict(back.splits) == dict(data.splits)
    assert (back.facts, back.row_normalised) == (data.facts, data.row_normalised)
    assert back.reading == data.reading


def test_data_comes_back_as_it_was_and_equal_data_gives_equal_files(
    tiny: NodeData, tmp_path: Path
) -> None:
    more = tiny.with_split(Split("mine", [4, 1], [], [0], seed=7))
    ids = replace(more, node_ids=(1, 2.5, "x", 4, 5, 6, "7"), row_normalised=False)
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


def test_the_data_of_a_run_folder_of_version_0_1_0_is_read(tiny: NodeData, tmp_path: Path) -> None:
    x = tiny.features
    words = {
        "name": "tiny", "class_names": tiny.class_names, "node_ids": tiny.node_ids,
        "splits": [split.to_dict() for split in tiny.splits.values()], "facts": asdict(tiny.facts),
        "row_normalised": True,
    }  # fmt: skip
    np.savez_compressed(
        tmp_path / "old.npz", values=x.data, columns=x.indices, row_starts=x.indptr,
        shape=np.array(x.shape), labels=tiny.labels, edges=tiny.edges,
        words=np.frombuffer(json.dumps(words).encode(), dtype=np.uint8),
    )  # fmt: skip
    check_same(read_data(tmp_path / "old.npz"), tiny)


def old_bundle(data: NodeData) -> dict[str, Any]:
    x, fixed, facts = data.features, data.split("fixed"), data.facts
    arrays = {
        "feature_values": x.data, "feature_columns": x.indices.astype(np.uint8),
        "feature_row_ends": x.indptr[1:].astype(np.uint8),
        "feature_count": np.array(data.feature_count), "labels": data.labels.astype(np.int8),
        "edges": data.edges.astype(np.uint8), "class_names": np.array(data.class_names),
        "node_ids": np.array([], dtype=np.str_), **fixed.parts,
        "raw_counts": np.array([facts.raw_edge_entries, facts.duplicate_entries, facts.self_loops]),
        "source": np.array("here"),
    }  # fmt: skip
    digest = hashlib.sha256()
    for key, array in arrays.items():
        digest.update(f"{key}{array.dtype.str}{array.shape}".encode())
        digest.update(array.tobytes())
    return arrays | {"sha256": np.array(digest.hexdigest())}


def test_a_bundled_file_of_version_0_1_0_is_read(tiny: NodeData, tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "tiny.npz", **old_bundle(tiny))
    with (tmp_path / "tiny.npz").open("rb") as stream:
        check_same(read_data(stream, "tiny"), tiny)
    np.savez_compressed(tmp_path / "bad.npz", **old_bundle(tiny) | {"labels": tiny.labels})
    with pytest.raises(DataError, match=r"its content has SHA-256 \w+, expected"):
        read_data(tmp_path / "bad.npz")


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
