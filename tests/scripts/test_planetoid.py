"""Raw Planetoid folders give the data they were written from, and damage is named by file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from planetoid import load_planetoid, write_graph
from scipy import sparse

from agnn.data import NodeData, RawCounts, load_dataset
from agnn.data.sources import read_graph
from agnn.errors import DataError

PARTS = ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index")


@pytest.mark.parametrize("python", [2, 3])
@pytest.mark.parametrize("name", ["cora", "citeseer"])
def test_a_raw_folder_gives_the_bundled_data(planetoid, name: str, python: int) -> None:
    data = load_dataset(name)
    raw = load_planetoid(planetoid.write(data, python), name)
    assert raw.fingerprint == data.fingerprint
    assert raw.class_names == data.class_names


def test_test_rows_land_on_their_ids_and_gaps_stay_empty(planetoid, tiny: NodeData) -> None:
    raw = load_planetoid(planetoid.write(tiny), "tiny")
    assert raw.features.toarray().tolist() == tiny.features.toarray().tolist()
    assert raw.labels.tolist() == [0, 1, 0, 1, 0, -1, 1]
    assert raw.edges.tolist() == tiny.edges.tolist()
    assert raw.split("fixed") == tiny.split("fixed")
    assert raw.class_names == ("class 0", "class 1")


def test_repeated_entries_and_loops_are_counted(planetoid, tiny: NodeData) -> None:
    planetoid.write(tiny)
    graph = {0: [1, 1, 0, 0], 1: [0], 2: [2], 3: [], 4: [5], 5: [], 6: [6]}
    planetoid.put("tiny", "graph", graph)
    raw = load_planetoid(planetoid.folder, "tiny")
    assert raw.edges.tolist() == [[0, 4], [1, 5]]
    assert raw.facts == RawCounts(raw_edge_entries=8, duplicate_entries=2, self_loops=3)


def test_validation_is_the_five_hundred_nodes_after_train(planetoid) -> None:
    fixed = load_planetoid(planetoid.write(load_dataset("cora")), "cora").split("fixed")
    assert fixed.train.tolist() == list(range(140))
    assert fixed.validation.tolist() == list(range(140, 640))
    assert fixed.test.tolist() == list(range(1708, 2708))


@pytest.mark.parametrize("part", PARTS)
def test_a_missing_file_is_named(planetoid, tiny: NodeData, part: str) -> None:
    (planetoid.write(tiny) / f"ind.tiny.{part}").unlink()
    with pytest.raises(DataError, match=rf"cannot read '.*ind\.tiny\.{part}': No such file"):
        load_planetoid(planetoid.folder, "tiny")


@pytest.mark.parametrize("part", PARTS[:-1])
@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b[:-1], lambda _: b"x"])
def test_a_file_cut_short_or_of_garbage_is_named(planetoid, tiny, part: str, damage) -> None:
    path = planetoid.write(tiny) / f"ind.tiny.{part}"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match=rf"tiny\.{part}' is damaged or is not a Planetoid file"):
        load_planetoid(planetoid.folder, "tiny")


def test_a_pickle_cut_at_any_byte_is_refused(planetoid, tiny: NodeData) -> None:
    for part in ("x", "y", "graph"):
        path = planetoid.write(tiny) / f"ind.tiny.{part}"
        whole = path.read_bytes()
        for end in range(len(whole)):
            path.write_bytes(whole[:end])
            with pytest.raises(DataError, match=rf"ind\.tiny\.{part}'"):
                load_planetoid(planetoid.folder, "tiny")
        path.write_bytes(whole)


def test_a_converted_file_is_read_as_the_same_graph(planetoid, tiny: NodeData, tmp_path) -> None:
    write_graph(load_planetoid(planetoid.write(tiny), "tiny"), tmp_path / "tiny.npz")
    back = read_graph(tmp_path / "tiny.npz")
    assert back.class_names == ("class 0", "class 1")
    assert dict(back.splits) == dict(tiny.splits)
    assert back.fingerprint == tiny.fingerprint


def csr(*rows: list[float]) -> sparse.csr_matrix:
    return sparse.csr_matrix(np.array(rows, dtype=np.float32))


DISAGREEING: dict[str, tuple[str, Any, str]] = {
    "rows": ("tx", csr([1, 0, 0, 0]), "tx has 1 rows, its labels 2"),
    "width": ("tx", csr([1, 0, 0], [0, 1, 0]), "differ in their number of columns"),
    "classes": ("ty", np.eye(2, 3, dtype=int), "differ in their number of columns"),
    "x": ("x", csr([9, 0, 0, 3], [0, 2, 0, 0]), "x and y must be the first rows of allx and ally"),
    "y": ("y", np.eye(2, dtype=int)[::-1], "x and y must be the first rows of allx and ally"),
    "known test": ("test.index", b"4\n3\n", "must name a node from 4 to 6 for each of the 2 rows"),
    "far test": ("test.index", b"4\n7\n", "must name a node from 4 to 6"),
    "few tests": ("test.index", b"4\n", "must name a node from 4 to 6"),
    "same test": ("test.index", b"4\n4\n", "`test` names node 4 more than once"),
    "test words": ("test.index", b"4\nfour\n", r"test\.index' must hold one node number per line"),
    "hole": ("graph", {0: [1], 2: [], 3: []}, "graph must list every node from 0 on; it lists 3"),
    "small graph": ("graph", {0: [1], 1: []}, "graph must list every node from 0 on; it lists 2"),
    "far edge": (
        "graph",
        {i: [9] for i in range(7)},
        r"edge 0, \(0, 9\), ends at a node that does",
    ),
    "huge edge": ("graph", {i: [2**70] for i in range(7)}, "beyond 64 bits"),
    "text edge": ("graph", {i: ["1"] for i in range(7)}, "must map node indices to lists of them"),
    "two labels": ("ty", np.ones((2, 2), dtype=int), r"ind\.tiny\.ty' must hold one-hot rows"),
    "array for csr": (
        "x",
        np.eye(2),
        r"ind\.tiny\.x' must hold a SciPy CSR matrix; it holds array",
    ),
    "csr for array": ("y", csr([1, 0]), r"ind\.tiny\.y' must hold a NumPy array; it holds csr"),
    "list for graph": ("graph", [[1], [0]], "must hold a mapping from node to neighbours"),
    "nan": ("tx", csr([np.nan, 0, 0, 0], [0, 1, 0, 0]), r"must be finite in float32; row \d, col"),
}


@pytest.mark.parametrize("case", DISAGREEING)
def test_files_that_disagree_are_refused_in_one_line(planetoid, tiny: NodeData, case: str) -> None:
    part, value, message = DISAGREEING[case]
    planetoid.write(tiny)
    planetoid.put("tiny", part, value)
    with pytest.raises(DataError, match=message) as caught:
        load_planetoid(planetoid.folder, "tiny")
    assert "\n" not in str(caught.value)
    assert "ind.tiny." in str(caught.value)
