"""NetworkX graphs, GraphML, GEXF, SciPy, PyG and `.npz` give the data they hold."""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from scipy import sparse

from agnn import DataError, InputError, NodeData, from_networkx, from_pyg, from_scipy, read_graph
from agnn.data import SplitSpec, make_splits


def club(*, directed: bool = False) -> nx.Graph:
    """Six people whose ids are text, with a number, a name and a class that p5 lacks."""
    graph = nx.DiGraph() if directed else nx.Graph()
    for i in range(6):
        fields = {"age": 20 + 3 * i, "colour": ("red", "blue")[i % 2]}
        graph.add_node(f"p{i}", **fields, **({} if i == 5 else {"team": ("x", "y")[i % 2]}))
    graph.add_edges_from([("p0", "p2"), ("p2", "p4"), ("p1", "p3"), ("p3", "p0"), ("p4", "p4")])
    return graph


def notes(data: NodeData) -> str:
    assert data.reading is not None
    return "\n".join(data.reading.notes)


def check_club(data: NodeData) -> None:
    assert data.node_ids == tuple(f"p{i}" for i in range(6))
    assert data.class_names == ("x", "y")
    assert data.labels.tolist() == [0, 1, 0, 1, 0, -1]
    assert data.edges.T.tolist() == [[0, 2], [0, 3], [1, 3], [2, 4]]
    assert data.preprocessing is not None
    assert data.preprocessing.feature_names == ("age", "colour = blue", "colour = red")
    assert data.facts.self_loops == 1


@pytest.mark.parametrize("directed", [False, True])
def test_a_networkx_graph_keeps_ids_and_attributes(directed: bool) -> None:
    check_club(from_networkx(club(directed=directed), label="team"))


def test_ids_that_are_tuples_numbers_and_text_at_once_come_back() -> None:
    graph = nx.grid_2d_graph(3, 2)
    graph.add_edge((0, 0), "x")
    graph.add_edge("x", 7)
    data = from_networkx(graph)
    assert list(data.node_ids) == list(graph.nodes)
    place = {node: k for k, node in enumerate(graph.nodes)}
    expected = sorted(sorted((place[u], place[v])) for u, v in graph.edges)
    assert data.edges.T.tolist() == expected


def test_a_multigraph_counts_its_repeated_edges() -> None:
    graph = nx.MultiGraph([(0, 1), (0, 1), (1, 2)])
    assert from_networkx(graph).facts.duplicate_entries == 1


def test_a_graph_without_edges_is_a_graph() -> None:
    data = from_networkx(nx.empty_graph(3))
    assert (data.nodes, data.edges.shape) == (3, (2, 0))


@pytest.mark.parametrize(
    ("end", "write"), [(".graphml", nx.write_graphml), (".gexf", nx.write_gexf)]
)
def test_graph_files_give_what_was_written(tmp_path: Path, end: str, write: Any) -> None:
    path = tmp_path / f"club{end}"
    write(club(), path)
    data = read_graph(path, label="team", ignore=["label"] if end == ".gexf" else [])
    assert data.name == "club"
    check_club(data)


def test_weights_of_a_graph_are_refused_unless_named_or_ignored() -> None:
    graph = club()
    nx.set_edge_attributes(graph, {edge: k + 1 for k, edge in enumerate(graph.edges)}, "weight")
    with pytest.raises(DataError, match=r"the graph \(edges\), column 'weight': numbers"):
        from_networkx(graph, label="team")
    check_club(from_networkx(graph, label="team", ignore_weights=True))
    data = from_networkx(graph, label="team", edge_weight="weight")
    place = {node: k for k, node in enumerate(graph.nodes)}
    given = {frozenset((place[i], place[j])): graph.edges[i, j]["weight"] for i, j in graph.edges}
    assert [given[frozenset(pair)] for pair in data.edges.T.tolist()] == data.edge_weights.tolist()


@pytest.mark.parametrize(
    ("end", "write"), [(".graphml", nx.write_graphml), (".gexf", nx.write_gexf)]
)
def test_weights_in_a_graph_file_are_named(tmp_path: Path, end: str, write: Any) -> None:
    graph = club()
    nx.set_edge_attributes(graph, {edge: k + 0.5 for k, edge in enumerate(graph.edges)}, "weight")
    write(graph, tmp_path / f"club{end}")
    data = read_graph(
        tmp_path / f"club{end}", label="team", edge_weight="weight",
        ignore=["label"] if end == ".gexf" else [],
    )  # fmt: skip
    same = from_networkx(graph, label="team", edge_weight="weight")
    assert data.edge_weights.tolist() == same.edge_weights.tolist()


def ring(weights: list[float] | None = None) -> sparse.csr_array:
    entries = (weights or [1.0] * 4, ([0, 1, 2, 3], [1, 2, 3, 0]))
    return sparse.csr_array(entries, shape=(4, 4))


def test_scipy_and_numpy_arrays_are_taken_as_they_are() -> None:
    x = np.array([[1.0, 0], [0, 2], [3, 0], [0, 0]])
    data = from_scipy(ring(), x, ["b", "a", "", "b"], node_ids=("w", 1, (2,), "z"))
    assert data.features.toarray().tolist() == x.tolist()
    assert (data.class_names, data.labels.tolist()) == (("a", "b"), [1, 0, -1, 1])
    assert data.node_ids == ("w", 1, (2,), "z")
    assert data.edges.T.tolist() == [[0, 1], [0, 3], [1, 2], [2, 3]]
    assert "4 of 4 edges in one direction only" in notes(data)
    both = from_scipy(ring() + ring().T, x)
    assert "direction" not in notes(both)
    assert both.edges.tolist() == data.edges.tolist()


def test_negative_features_are_kept_as_they_are() -> None:
    x = np.array([[1.0, -1], [0, 2], [3, 0], [0, 0]])
    data = from_scipy(ring(), x, [5, 3, -1, 3])
    assert (data.class_names, data.labels.tolist()) == (("3", "5"), [1, 0, -1, 0])
    assert data.features.toarray().tolist() == x.tolist()


def test_stored_zeros_are_no_edges_and_values_that_differ_are_weights() -> None:
    assert from_scipy(ring([1, 0, 1, 1])).edges.shape[1] == 3
    assert from_scipy(ring([2, 2, 2, 2])).edge_weights is None
    data = from_scipy(ring([1, 2, 3, 4]))
    assert data.edges.T.tolist() == [[0, 1], [0, 3], [1, 2], [2, 3]]
    assert data.edge_weights.tolist() == [1, 4, 2, 3]
    plain = from_scipy(ring([1, 2, 1, 1]), ignore_weights=True)
    assert plain.edge_weights is None
    assert "the weights are ignored" in notes(plain)


def test_values_that_differ_between_the_directions_are_averaged_and_said() -> None:
    data = from_scipy(ring([1, 2, 3, 4]) + 3 * ring([1, 1, 1, 1]).T)
    assert data.edge_weights.tolist() == [2, 3.5, 2.5, 3]
    assert "3 edges with different weights in several entries, such as '0' to '1'" in notes(data)


def test_repeated_entries_of_a_coo_adjacency_add_up_as_scipy_has_it() -> None:
    entries = ([1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 2]))
    assert from_scipy(sparse.coo_array(entries, shape=(3, 3))).edge_weights.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (-2.0, "the weight is -2; it must be above 0"),
        (np.nan, r"the weight is missing \(NaN\)"),
        (np.inf, "the weight is infinite"),
    ],
)
def test_an_unusable_value_of_an_adjacency_is_refused(value: float, words: str) -> None:
    with pytest.raises(DataError, match=f"`adjacency`, edge '1' to '2': {words}"):
        from_scipy(ring([1, value, 1, 1]))
    assert from_scipy(ring([1, value, 1, 1]), ignore_weights=True).edges.shape[1] == 4


def pyg(**changes: Any) -> SimpleNamespace:
    fields = {
        "x": torch.tensor([[1.0, 0], [0, 2], [3, 0], [0, 1]]),
        "edge_index": torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]),
        "y": torch.tensor([[1], [0], [1], [0]]),
        "train_mask": torch.tensor([True, True, False, False]),
        "val_mask": torch.tensor([False, False, True, False]),
        "test_mask": torch.tensor([False, False, False, True]),
        "num_nodes": 4,
    }
    return SimpleNamespace(**(fields | changes))


def test_whatever_looks_like_a_pyg_object_is_read_with_its_masks() -> None:
    data = from_pyg(pyg())
    assert data.features.toarray().tolist() == pyg().x.tolist()
    assert data.labels.tolist() == [1, 0, 1, 0]
    assert data.edges.T.tolist() == [[0, 1], [1, 2]]
    parts = {name: nodes.tolist() for name, nodes in data.split("fixed").parts.items()}
    assert parts == {"train": [0, 1], "validation": [2], "test": [3]}


def test_pyg_s_own_object_is_one_of_them() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what importing a peer warns of is not our concern
        from torch_geometric.data import Data

    fields = {name: value for name, value in vars(pyg()).items() if name != "num_nodes"}
    assert from_pyg(Data(**fields)).fingerprint == from_pyg(pyg()).fingerprint


def test_a_pyg_object_may_lack_features_labels_and_masks() -> None:
    data = from_pyg(pyg(x=None, y=None))
    assert (data.nodes, data.feature_count, data.classes, len(data.splits)) == (4, 67, 0, 0)


def test_masks_with_several_columns_are_the_data_s_own_splits() -> None:
    both = torch.tensor([[True, False], [True, False], [False, True], [False, True]])
    none = torch.zeros(4, dtype=torch.bool)
    data = from_pyg(pyg(train_mask=both, val_mask=none, test_mask=~both))
    assert {name: split.train.tolist() for name, split in data.splits.items()} == {
        "own-1": [0, 1],
        "own-2": [2, 3],
    }
    assert SplitSpec.default(data) == "own"


@pytest.mark.parametrize("part", ["edge_weight", "edge_attr"])
def test_weights_of_a_pyg_object_are_read_or_ignored(part: str) -> None:
    weighted = pyg(**{part: torch.tensor([[1.0], [2], [3], [4]])})
    data = from_pyg(weighted, edge_weight=part)
    assert data.edge_weights.tolist() == [1.5, 3.5]
    assert from_pyg(weighted, ignore_weights=True).fingerprint == from_pyg(pyg()).fingerprint
    assert data.fingerprint != from_pyg(pyg()).fingerprint


def test_attributes_of_a_pyg_object_are_weights_only_if_named() -> None:
    with pytest.raises(DataError, match=r"`data.edge_attr` may hold weights. Use it with"):
        from_pyg(pyg(edge_attr=torch.tensor([1.0, 2, 3, 4])))
    with pytest.raises(InputError, match="`data` has no `strength` to take edge weights from"):
        from_pyg(pyg(), edge_weight="strength")
    with pytest.raises(DataError, match=r"one number per edge, shape \[4\]; got float32 \[4, 2\]"):
        from_pyg(pyg(edge_weight=torch.ones(4, 2)))


def npz_arrays(**changes: Any) -> dict[str, Any]:
    x = sparse.csr_matrix([[1.0, 0], [0, 2], [3, 0], [0, 0]])
    parts = {
        f"{name}_{part}": getattr(matrix, part)
        for name, matrix in (("adj", sparse.csr_matrix(ring())), ("attr", x))
        for part in ("data", "indices", "indptr", "shape")
    }
    return {**parts, "labels": np.array([0, 1, 1, 0]), **changes}


def test_an_npz_of_the_benchmark_kind_is_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **npz_arrays(class_names=np.array(["no", "yes"])))
    data = read_graph(tmp_path / "a.npz")
    assert (data.name, data.class_names) == ("a", ("no", "yes"))
    assert data.labels.tolist() == [0, 1, 1, 0]
    assert data.features.toarray().tolist() == [[1, 0], [0, 2], [3, 0], [0, 0]]
    assert data.edges.T.tolist() == [[0, 1], [0, 3], [1, 2], [2, 3]]


def mask(*rows: str) -> Any:
    """[k, n] from lines such as "1100"."""
    return np.array([[letter == "1" for letter in row] for row in rows])


def test_masks_of_an_npz_are_its_own_splits_and_seed_s_has_number_s(tmp_path: Path) -> None:
    masks = {
        "train_masks": mask("1000", "0100", "0010"),
        "val_masks": mask("0100", "0010", "0001"),
        "test_masks": mask("0011", "1001", "1100").astype(np.uint8),
    }
    np.savez(tmp_path / "a.npz", **npz_arrays(**masks))
    data = read_graph(tmp_path / "a.npz")
    assert list(data.splits) == ["own-1", "own-2", "own-3"]
    assert SplitSpec.default(data) == "own"
    drawn = make_splits(data, "own", range(7))
    assert [split.train.tolist() for split in drawn] == [[0], [1], [2], [0], [1], [2], [0]]
    assert drawn[1].parts["validation"].tolist() == [2]
    assert drawn[1].parts["test"].tolist() == [0, 3]
    assert make_splits(data, "own", [5])[0] is drawn[5]
    assert make_splits(data, "own-2", [0])[0] is drawn[1]
    lines = dict(data.report.count_lines())
    assert lines["3 splits"] == "'own-1' to 'own-3', each train 1, validation 1, test 2"


def test_one_mask_of_an_npz_is_the_fixed_split_without_unlabelled_nodes(tmp_path: Path) -> None:
    parts = {"train_mask": mask("1100")[0], "test_mask": mask("0011")[0]}
    np.savez(tmp_path / "a.npz", **npz_arrays(labels=np.array([0, 1, -1, 1]), **parts))
    data = read_graph(tmp_path / "a.npz")
    assert SplitSpec.default(data) == "fixed"
    assert {name: nodes.tolist() for name, nodes in data.split("fixed").parts.items()} == {
        "train": [0, 1], "validation": [], "test": [3],
    }  # fmt: skip
    assert make_splits(data, "own", [0, 1]) == (data.split("fixed"),) * 2


def test_masks_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path, fine = tmp_path / "a.npz", mask("1000", "0100")
    assert "must have shape [4] or [k, 4]; got [2, 3]" in refused_npz(path, train_masks=fine[:, 1:])
    assert "must hold true and false" in refused_npz(path, train_masks=fine * 2.5)
    assert "2 masks for training and 3 for `test`" in refused_npz(
        path, train_masks=fine, test_masks=mask("0010", "0010", "0010")
    )
    assert "names no labelled node" in refused_npz(path, train_masks=mask("1000", "0000"))
    assert "in both `train` and `test`" in refused_npz(path, train_masks=fine, test_masks=fine)


def test_data_without_splits_has_no_own_split() -> None:
    with pytest.raises(InputError, match="'arrays' came without splits; draw one"):
        make_splits(from_scipy(ring(), labels=[0, 1, 0, 1]), "own", [0])


def test_pickled_class_names_are_skipped_not_opened(tmp_path: Path) -> None:
    names = np.array(["no", "yes"], dtype=object)
    np.savez(tmp_path / "a.npz", **npz_arrays(class_names=names), allow_pickle=True)
    assert read_graph(tmp_path / "a.npz").class_names == ("0", "1")


def refused_npz(path: Path, **changes: Any) -> str:
    np.savez(path, **npz_arrays(**changes), allow_pickle=True)
    with pytest.raises(DataError, match=r"a\.npz") as caught:
        read_graph(path)
    return str(caught.value)


def test_a_bad_npz_is_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.npz"
    assert "holds pickled objects" in refused_npz(path, labels=np.array([{}] * 4, dtype=object))
    assert "damaged or not an .npz" in refused_npz(path, adj_indices=np.array([0, 1, 2, 9]))
    assert "`labels` must have shape" in refused_npz(path, labels=np.array([0, 1]))
    assert "the weight is -2" in refused_npz(path, adj_data=np.array([1.0, -2, 1, 1]))
    np.savez(path, other=[1])
    with pytest.raises(DataError, match="is not a graph file: it has no adj_data, only"):
        read_graph(path)
    path.write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(DataError, match=r"is damaged or not an \.npz"):
        read_graph(path)
    monkeypatch.setattr("os.sysconf", lambda _: 1)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("adj_data.npy", b"\0" * 10_000_000)
    with pytest.raises(DataError, match="it is not opened"):
        read_graph(path)


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (lambda: from_networkx([1, 2]), "`graph` must be a NetworkX graph; got list"),
        (lambda: from_networkx(club(), node_id="age"), "has its own ids"),
        (lambda: from_scipy(np.eye(3)), "`adjacency` must be a SciPy sparse matrix; got ndarray"),
        (lambda: from_scipy(sparse.csr_array((2, 3))), r"must be square; got \[2, 3\]"),
        (lambda: from_pyg(object()), "`data` must have `edge_index`; got object"),
        (lambda: read_graph("a.gml"), r"must end in .graphml, .gexf, .npz"),
        (lambda: read_graph("a.npz", label="y"), "has its own labels"),
        (lambda: from_scipy(ring(), labels=np.eye(4)), r"`labels` must have shape \[n\]"),
    ],
)
def test_what_is_no_graph_is_refused(read: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read()


def test_labels_that_are_not_among_the_given_classes_are_refused() -> None:
    with pytest.raises(DataError, match="`labels`, row 3: unknown class 'c'"):
        from_scipy(ring(), labels=["a", "b", "c", "a"], class_names=("a", "b"))
    given = from_scipy(ring(), labels=["b", "a", "", "b"], class_names=("b", "a"))
    assert given.labels.tolist() == [0, 1, -1, 0]
