"""Parts on disk are what cutting the whole graph in memory gives, and damage is noticed."""

from __future__ import annotations

import gc
import json
import shutil
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import agnn.distributed._external_csr as external_csr
import agnn.distributed._partition as partition_module
from agnn.data import NodeData, ReadOptions
from agnn.data.tables import LargeTables, read_tables
from agnn.distributed import (
    GraphSource,
    PartsFolder,
    partition,
)
from agnn.distributed._external_csr import disk_graph
from agnn.distributed._order import ORDERS, chosen_order
from agnn.errors import DataError, InputError, UnavailableError
from agnn.graph import Graph, Part

ARRAYS = ("offsets", "columns", "halo", "send_rows", "send_counts", "labels")


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything in many pieces, as of a graph that is much larger than memory."""
    monkeypatch.setattr(external_csr, "_AT_ONCE", 700)
    monkeypatch.setattr(
        external_csr,
        "_bucket_bounds",
        lambda counts, _: np.append(np.r_[0 : counts.size : 541], counts.size),
    )
    monkeypatch.setattr(partition_module, "_ENTRIES", 900)
    monkeypatch.setattr("agnn.graph._part._EDGES_AT_ONCE", 500)


def assert_cut_of(data: NodeData, folder: Path, ranks: int | None = None) -> None:
    """Every part is the one that `Part.cut` gives of the whole graph."""
    manifest, positions = PartsFolder(folder).manifest, PartsFolder(folder).positions()
    numbers = np.empty(data.nodes, np.int64)
    numbers[positions] = np.arange(data.nodes)
    graph = Graph.from_edges(numbers[data.edges], data.nodes, data.edge_weights)
    assert manifest.is_weighted == data.is_weighted
    features = data.features[positions]
    split = next(iter(data.splits.values()), None)
    masks = PartsFolder(folder).masks()
    assert list(masks) == [] if split is None else list(split.parts)
    for name, mask in masks.items():
        np.testing.assert_array_equal(mask, np.isin(positions, split.parts[name]))
    for rank in range(ranks or len(manifest.parts)):
        found = PartsFolder(folder).part(rank, ranks)
        own = Part.cut(graph, found.bounds, rank, features, data.labels[positions])
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(found, name), getattr(own, name), name)
        np.testing.assert_array_equal(found.weights, own.weights)
        np.testing.assert_allclose(found.degrees, own.degrees, rtol=1e-14)
        assert found.degrees.dtype == own.degrees.dtype
        kept = found.features if manifest.is_dense else found.features.toarray()
        np.testing.assert_array_equal(kept, own.features.toarray())


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("order", ORDERS)
def test_parts_are_cuts_of_the_whole_graph(cora, tmp_path, order):
    made = partition(cora, tmp_path / "parts", 5, order=order)
    for ranks in (None, 1, 2, 3):
        assert_cut_of(cora, tmp_path / "parts", ranks)
    assert PartsFolder(tmp_path / "parts").manifest == made
    assert (made.nodes, made.edges, made.feature_count) == (2708, 5278, 1433)
    opened = [PartsFolder(tmp_path / "parts").part(rank) for rank in range(5)]
    assert [part.halo for part in made.parts] == [part.halo.size for part in opened]
    far = [int((part.columns >= part.own).sum()) for part in opened]
    assert [part.cut for part in made.parts] == far
    assert made.cut == pytest.approx(sum(far) / (2 * 5278))
    assert (made.cut > 0.5) == (order == "given"), "the others put neighbours together"
    folder = PartsFolder(tmp_path / "parts")
    for first, end in ((0, 2708), (1000, 2000), (7, 7)):
        expected = [cora.node_ids[row] for row in folder.positions()[first:end]]
        assert list(folder.ids[first:end]) == expected
    assert list(folder.ids) == list(folder.ids[:])
    positions = PartsFolder(tmp_path / "parts").positions()
    np.testing.assert_array_equal(PartsFolder(tmp_path / "parts").labels(), cora.labels[positions])


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("order", ["given", "streaming"])
def test_edge_weights_are_cut_with_the_edges(cora, tmp_path, order):
    weights = np.random.default_rng(0).uniform(0.1, 5.0, cora.edges.shape[1]).astype(np.float32)
    weights.setflags(write=False)
    data = replace(cora, edge_weights=weights)
    partition(data, tmp_path / "parts", 5, order=order)
    for ranks in (None, 1, 2):
        assert_cut_of(data, tmp_path / "parts", ranks)


@pytest.mark.usefixtures("small_pieces")
def test_weights_of_tables_in_pieces_are_those_of_reading_them_whole(tmp_path):
    write_tables(tmp_path, [f"user {k}" for k in range(300)])
    edges = pd.read_csv(tmp_path / "edges.csv")
    more = edges.iloc[:400].rename(columns={"source": "target", "target": "source"})
    edges = pd.concat([edges, more, edges.iloc[:200]])  # up to three entries of an edge
    draw = np.random.default_rng(2)
    edges["trust"] = draw.uniform(0.1, 3.0, len(edges))
    edges["target"] = edges["target"].where(draw.random(len(edges)) > 0.02, "nobody")
    edges.to_csv(tmp_path / "edges.csv", index=False)
    columns = {
        "label": "kind", "split_column": "part", "edge_weight": "trust", "drop_unknown": True,
    }  # fmt: skip
    source = GraphSource.of_tables(large(tmp_path, **columns), "t")
    manifest = partition(source, tmp_path / "parts", 3, order="streaming")
    data = read_tables(tmp_path / "nodes.csv", tmp_path / "edges.csv", **columns)
    assert data.edge_weights is not None
    assert_cut_of(data, tmp_path / "parts")
    count = next(note for note in data.reading.notes if "different weights" in note)
    (note,) = (note for note in manifest.notes if "different weights" in note)
    assert note.split()[0] in count.split(), "the same number of edges"
    edges["trust"] = 1
    edges.to_csv(tmp_path / "edges.csv", index=False)
    source = GraphSource.of_tables(large(tmp_path, **columns), "t")
    assert not partition(source, tmp_path / "ones", 3).is_weighted, "as without weights"
    edges.loc[edges.index[7], "trust"] = -1
    edges.to_csv(tmp_path / "edges.csv", index=False)
    with pytest.raises(DataError, match=r"column 'trust', row 8: the weight is -1; it must be"):
        list(large(tmp_path, **columns).edges())


@pytest.mark.usefixtures("small_pieces")
def test_statistics_of_the_features_are_those_of_the_whole(cora, tmp_path):
    from agnn.data.scaling import column_statistics

    made = partition(cora, tmp_path / "parts", 2)
    means, scales = column_statistics(cora.features)
    np.testing.assert_allclose(made.column_means, means, rtol=1e-12)
    np.testing.assert_allclose(made.column_scales, scales, rtol=1e-9)
    assert not made.is_signed


def test_a_synthetic_graph_is_the_same_each_time(tmp_path):
    one, two = (
        partition(GraphSource.synthetic(1000, 5000), tmp_path / name, 4, order="streaming")
        for name in "ab"
    )
    assert one == two
    assert one.is_dense
    assert one.is_signed
    assert one.masks == ("train", "validation", "test")


def write_tables(folder: Path, ids: list[str], end: str = "csv") -> None:
    draw = np.random.default_rng(4)
    n = len(ids)
    nodes = pd.DataFrame({
        "id": ids, "size": draw.random(n), "colour": draw.choice(["red", "blue"], n),
        "kind": draw.choice(["x", "y", ""], n), "part": draw.choice(["train", "val", "test"], n),
    })  # fmt: skip
    i, j = draw.integers(n, size=(2, 6 * n))
    edges = pd.DataFrame({"source": np.array(ids)[i], "target": np.array(ids)[j]})
    for name, frame in (("nodes", nodes), ("edges", edges)):
        path = folder / f"{name}.{end}"
        frame.to_csv(path, index=False) if end == "csv" else frame.to_parquet(path)


def large(folder: Path, end: str = "csv", **options: object) -> LargeTables:
    return LargeTables(
        folder / f"nodes.{end}", folder / f"edges.{end}", ReadOptions(**options), 2**28
    )


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("end", ["csv", "parquet"])
@pytest.mark.parametrize(
    "ids",
    [
        [f"user {k}" for k in range(300)],
        [str(k) for k in range(300)],
        [str(7 * k - 500) for k in range(300)],
        [f"{k:03d}" for k in range(300)],  # "007" is not 7
    ],
    ids=["text", "numbers", "spread", "zeros"],
)
def test_tables_in_pieces_are_what_reading_them_whole_gives(tmp_path, ids, end):
    write_tables(tmp_path, ids, end)
    columns = {"label": "kind", "split_column": "part"}
    partition(GraphSource.of_tables(large(tmp_path, end, **columns), "t"), tmp_path / "parts", 3)
    tables = tmp_path / f"nodes.{end}", tmp_path / f"edges.{end}"
    assert_cut_of(read_tables(*tables, **columns), tmp_path / "parts")
    folder = PartsFolder(tmp_path / "parts")
    assert list(map(str, folder.ids)) == [ids[row] for row in folder.positions()]
    for k, node_id in enumerate(folder.ids):
        assert folder.ids.position_of(node_id) == folder.ids.position_of(str(node_id)) == k
    assert folder.ids.position_of("no id") is None


def test_columns_are_not_in_memory_while_edges_are_read(tmp_path):
    write_tables(tmp_path, [f"u{k}" for k in range(90)])
    tables = large(tmp_path)
    assert tables.table.numbers("size").size == 90
    columns = weakref.ref(tables.table)
    gc.disable()  # references alone must do
    try:
        next(tables.edges())
        assert columns() is None
    finally:
        gc.enable()


def test_an_order_by_a_column_is_sorted_by_it(tmp_path):
    write_tables(tmp_path, [f"u{k}" for k in range(90)])
    sizes = pd.read_csv(tmp_path / "nodes.csv")["size"].to_numpy()
    np.testing.assert_array_equal(large(tmp_path).order_by("size"), np.argsort(sizes))
    colours = pd.read_csv(tmp_path / "nodes.csv")["colour"]
    assert colours[large(tmp_path).order_by("colour")].is_monotonic_increasing


@pytest.mark.parametrize("number", ["", "0"], ids=["text", "numbers"])
def test_edges_with_unknown_ids_are_dropped_if_asked_to(tmp_path, number):
    write_tables(tmp_path, [f"{number or 'u'}{k}".lstrip("0") or "0" for k in range(90)])
    with (tmp_path / "edges.csv").open("a") as stream:
        stream.write("nobody,nothing\n")
    tables = large(tmp_path, drop_unknown=True)
    assert sum(pairs.shape[1] for pairs, _ in tables.edges()) == 540
    assert tables.dropped == 1
    assert (
        "1 of 541 edges name an id that no node has and are left out: row 541 " in tables.notes[-1]
    )


UNKNOWN = {17: (0, "nobody"), 4: (1, "nothing"), 300: (0, "no one"), 301: (1, "none")}


def with_unknown_ids(_: pd.DataFrame, edges: pd.DataFrame) -> None:
    for row, (end, node) in UNKNOWN.items():
        edges.iloc[row, end] = node


def with_a_gap_at_an_edge(nodes: pd.DataFrame, edges: pd.DataFrame) -> None:
    with_unknown_ids(nodes, edges)
    edges.iloc[200, 1] = None


def with_a_gap_at_a_node(nodes: pd.DataFrame, _: pd.DataFrame) -> None:
    nodes.iloc[[7, 9], 0] = None


def with_repeated_ids(nodes: pd.DataFrame, _: pd.DataFrame) -> None:
    nodes.iloc[80:, 0] = nodes.iloc[:10, 0].to_numpy()
    nodes.iloc[50, 0] = nodes.iloc[3, 0]


@pytest.mark.parametrize("prefix", ["u", ""], ids=["text", "numbers"])
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (with_unknown_ids, r"4 of 540 edges name .*: row 5 'nothing' in column 'target', row 18 "),
        (with_a_gap_at_an_edge, r"column 'target', row 201: the id is missing"),
        (with_a_gap_at_a_node, r"column 'id': the id is missing in rows 8, 10\."),
        (with_repeated_ids, r"the id '\w+' is in rows 1, 81 \(10 more rows repeat other ids\)"),
    ],
)
def test_ids_are_refused_as_by_the_reader_of_small_tables(
    tmp_path, monkeypatch, prefix, spoil, message
):
    monkeypatch.setattr("agnn.data.tables._source._BATCH", 100)
    write_tables(tmp_path, [f"{prefix}{k}" for k in range(90)])
    nodes = pd.read_csv(tmp_path / "nodes.csv", dtype=str)
    edges = pd.read_csv(tmp_path / "edges.csv", dtype=str)
    spoil(nodes, edges)
    nodes.to_parquet(tmp_path / "nodes.parquet")
    edges.to_parquet(tmp_path / "edges.parquet")
    with pytest.raises(DataError, match=message) as whole:
        read_tables(tmp_path / "nodes.parquet", tmp_path / "edges.parquet")
    with pytest.raises(DataError, match=message) as in_pieces:
        list(large(tmp_path, "parquet").edges())
    assert str(in_pieces.value) == str(whole.value)


def test_what_looks_like_weights_is_named_or_ignored(tmp_path):
    write_tables(tmp_path, [f"u{k}" for k in range(90)])
    edges = pd.read_csv(tmp_path / "edges.csv")
    edges.assign(weight=np.arange(len(edges))).to_csv(tmp_path / "edges.csv", index=False)
    with pytest.raises(
        DataError, match=r"look like weights\. Use them with .*--edge-weight weight"
    ):
        list(large(tmp_path).edges())


def test_a_table_without_features_is_refused(tmp_path):
    write_tables(tmp_path, [f"u{k}" for k in range(90)])
    tables = large(tmp_path, label="kind", ignore=("size", "colour", "part"))
    with pytest.raises(DataError, match="has no column to learn from"):
        GraphSource.of_tables(tables, "t")


@pytest.fixture
def parts(cora, tmp_path) -> Path:
    partition(cora, tmp_path / "parts", 3)
    return tmp_path / "parts"


def test_a_missing_part_is_named(parts):
    shutil.rmtree(parts / "part-00001")
    PartsFolder(parts).part(0)
    with pytest.raises(DataError, match=r"part 1 of '.*' is missing: there is no folder"):
        PartsFolder(parts).part(1)


def test_a_changed_byte_is_noticed(parts):
    file = parts / "part-00001" / "columns.npy"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(DataError, match=r"part 1 of '.*' is damaged: columns.npy"):
        PartsFolder(parts).part(1)
    file.unlink()
    with pytest.raises(DataError, match=r"part 1 .* is incomplete: columns.npy is missing"):
        PartsFolder(parts).part(1)


def test_a_part_of_another_partition_is_noticed(cora, parts, tmp_path):
    partition(cora, tmp_path / "other", 3, order="streaming")
    shutil.rmtree(parts / "part-00002")
    shutil.copytree(tmp_path / "other" / "part-00002", parts / "part-00002")
    with pytest.raises(DataError, match=r"part-00002' is from another partition"):
        PartsFolder(parts).part(2)
    (parts / "part-00001" / "part.json").write_text("[1")
    with pytest.raises(DataError, match=r"part-00001' is from another partition"):
        PartsFolder(parts).part(1)


def test_a_changed_manifest_is_noticed(parts):
    file = parts / "manifest.json"
    file.write_text(file.read_text().replace('"nodes": 2708', '"nodes": 2709'))
    with pytest.raises(DataError, match=r"the manifest of '.*' is damaged"):
        PartsFolder(parts).part(0)


def test_ranks_and_folders_that_do_not_fit_are_refused(parts, tmp_path):
    with pytest.raises(InputError, match="has 3 parts, too few for 4 ranks"):
        PartsFolder(parts).part(0, 4)
    with pytest.raises(InputError, match="`rank` must be from 0 to 2; got 3"):
        PartsFolder(parts).part(3)
    with pytest.raises(InputError, match="is not a folder of parts"):
        PartsFolder(tmp_path)
    manifest = json.loads((parts / "manifest.json").read_text())
    del manifest["bounds"]
    (parts / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(DataError, match=r"the manifest of '.*' is damaged"):
        PartsFolder(parts)


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    write_tables(tmp_path, [f"u{k}" for k in range(90)])
    before = sorted(tmp_path.iterdir())

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for target in ("agnn.distributed._partition._save", "agnn.distributed._external_csr._buckets"):
        with monkeypatch.context() as patch:
            patch.setattr(target, full)
            with pytest.raises(OSError, match="No space left"):
                partition(GraphSource.of_tables(large(tmp_path), "t"), tmp_path / "parts", 3)
        assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("parts", "memory", "is_installed", "expected"),
    [
        (4, 2**30, True, "metis"),
        (4, 1000, True, "streaming"),
        (4, 2**30, False, "streaming"),
        (1, 2**30, True, "given"),
    ],
)
def test_the_automatic_order_is_metis_where_the_memory_allows_it(
    parts: int,
    memory: int,
    is_installed: bool,
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = object() if is_installed else None
    monkeypatch.setattr("agnn.distributed._order.find_spec", lambda _: spec)
    edges = np.array([[0, 1, 2, 3], [1, 2, 3, 4]])
    graph = disk_graph([(edges, None)], 5, tmp_path, 2**20)
    assert chosen_order(graph, parts, "auto", memory) == expected
    assert chosen_order(graph, parts, "given", memory) == "given"


def test_the_manifest_says_which_order_was_taken(cora: NodeData, tmp_path: Path) -> None:
    by_default = partition(cora, tmp_path / "default", 4, memory=10_000)
    assert by_default.order == "streaming"
    mine = partition(cora, tmp_path / "mine", 4, positions=np.arange(cora.nodes)[::-1])
    assert mine.order == "given"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parts": 0}, "`parts` must be at least 1; got 0"),
        ({"parts": 99}, "2,708 nodes is divided into 1 to 64 parts"),
        (
            {"order": "random"},
            "unknown order 'random'; known: auto, given",
        ),
        ({"positions": np.zeros(2708, int)}, "`positions` must hold every node once"),
        ({"positions": np.arange(2707)}, "`positions` must hold every node once"),
        ({"spill": "nowhere"}, "there is no folder 'nowhere' for temporary files"),
    ],
)
def test_what_cannot_be_divided_is_refused_and_leaves_nothing(cora, tmp_path, options, message):
    options = {"parts": 2, **options}
    with pytest.raises(InputError, match=message):
        partition(cora, tmp_path / "parts", **options)
    assert list(tmp_path.iterdir()) == []


def test_metis_that_is_not_installed_is_named(cora, tmp_path, monkeypatch):
    monkeypatch.setattr("agnn.distributed._order.find_spec", lambda _: None)
    with pytest.raises(UnavailableError, match=r"pymetis is not installed.*pip install pymetis"):
        partition(cora, tmp_path / "parts", 2, order="metis")


@pytest.mark.parametrize("sizes", [(99, 5, 3), (100, 0, 3), (100, 5, 0)])
def test_random_graphs_have_a_least_size(sizes):
    with pytest.raises(InputError, match="needs 100 nodes, 1 edge and 1 feature at least"):
        GraphSource.synthetic(*sizes)


def test_rows_of_features_that_are_missing_are_noticed(tmp_path):
    source = GraphSource.synthetic(200, 500)
    short = replace(source, features=lambda: [np.zeros((150, 4), np.float32)])
    with pytest.raises(DataError, match="there are 200 nodes and 150 rows of features"):
        partition(short, tmp_path / "parts", 2)
    assert list(tmp_path.iterdir()) == []


def test_an_order_of_ones_own_is_kept(cora, tmp_path):
    order = np.random.default_rng(0).permutation(cora.nodes)
    partition(cora, tmp_path / "parts", 3, positions=order)
    assert np.array_equal(PartsFolder(tmp_path / "parts").positions(), order)
    assert_cut_of(cora, tmp_path / "parts")


def test_arrays_about_all_nodes_are_checked(parts):
    folder = PartsFolder(parts)
    folder.check()
    content = bytearray((parts / "labels.npy").read_bytes())
    content[-1] ^= 1
    (parts / "labels.npy").write_bytes(content)
    with pytest.raises(DataError, match=r"labels.npy' is damaged: its content is not what was"):
        folder.labels()
    (parts / "positions.npy").unlink()
    with pytest.raises(DataError, match=r"positions.npy' is missing"):
        folder.positions()
    shutil.rmtree(parts / "part-00002")
    with pytest.raises(DataError, match=r"part 2 of '.*' is missing"):
        folder.check()


def test_a_folder_of_another_format_is_named(parts):
    manifest = json.loads((parts / "manifest.json").read_text())
    (parts / "manifest.json").write_text(json.dumps({**manifest, "format": "agnn-parts-1"}))
    with pytest.raises(DataError, match="has format 'agnn-parts-1'; expected 'agnn-parts-3'"):
        PartsFolder(parts)
    (parts / "manifest.json").write_text("{}")
    with pytest.raises(DataError, match="is damaged: KeyError"):
        PartsFolder(parts)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_consecutive_parts_go_to_the_ranks_in_order(parts, ranks):
    groups = PartsFolder(parts).groups(ranks)
    assert groups.tolist() == {1: [0, 3], 2: [0, 1, 3], 3: [0, 1, 2, 3]}[ranks]
    own = [PartsFolder(parts).part(rank, ranks).own for rank in range(ranks)]
    assert sum(own) == 2708


def test_signed_features_are_not_divided_by_their_sums(tmp_path):
    partition(GraphSource.synthetic(200, 500), tmp_path / "parts", 2)
    folder = PartsFolder(tmp_path / "parts")
    as_given = folder.part(0).features
    np.testing.assert_array_equal(folder.part(0, scaling="sum").features, as_given)
    lengths = np.linalg.norm(folder.part(0, scaling="length").features, axis=1)
    np.testing.assert_allclose(lengths, 1.0, rtol=1e-6)
