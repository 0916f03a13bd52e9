"""Two tables become one NodeData: ids, labels, columns, edges and splits as the user wrote them."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pandas as pd
import pytest

import agnn
from agnn import NodeData, from_pandas, read_tables
from agnn.data import ReadKeywords, ReadOptions
from agnn.errors import DataError
from own_tables import PEOPLE, edge_lines, node_lines, text, write_tables


def typed_frames(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The tables as pandas reads them."""
    nodes, edges = write_tables(folder)
    return pd.read_csv(nodes), pd.read_csv(edges)


def uses(data: NodeData) -> dict[str, str]:
    assert data.reading is not None
    return {f"{each.table} {each.name}": each.use for each in data.reading.columns}


def notes(data: NodeData) -> str:
    assert data.reading is not None
    return "\n".join(data.reading.notes)


def details(data: NodeData) -> dict[str, str]:
    assert data.reading is not None
    return {f"{each.table} {each.name}": each.detail for each in data.reading.columns}


@pytest.fixture
def people(tmp_path: Path) -> NodeData:
    return read_tables(*write_tables(tmp_path), label="topic", text="motto")


def test_ids_labels_and_edges_are_those_of_the_files(people: NodeData) -> None:
    assert people.node_ids == tuple(f"p{i}" for i in range(PEOPLE))
    assert people.class_names == ("art", "sport")
    assert people.labels.tolist() == [-1 if i % 6 == 5 else i % 2 for i in range(PEOPLE)]
    expected = set()
    for line in edge_lines()[1:]:
        i, j = (int(name[1:]) for name in line.split(","))
        if i != j:
            expected.add((min(i, j), max(i, j)))
    assert {tuple(pair) for pair in people.edges.T.tolist()} == expected


def test_every_column_has_one_use_and_what_was_guessed_is_said(people: NodeData) -> None:
    assert uses(people) == {
        "nodes id": "id", "nodes topic": "label", "nodes age": "number", "nodes colour": "category",
        "nodes motto": "text", "edges source": "source", "edges target": "target",
    }  # fmt: skip
    said = notes(people)
    assert details(people)["nodes id"] == "by its name"
    filled = "1 missing (row 4), filled with the mean and marked by the feature 'age is missing'"
    assert filled in details(people)["nodes age"]
    assert "in one direction only; all are taken as undirected" in said
    assert "1 repeated entry, such as 'p4' to 'p6' in rows 5, 60; each edge is kept once" in said
    assert "1 self-loop dropped (every method adds its own), such as 'p7' in row 61" in said
    assert people.reading is not None
    assert people.reading.unlabelled_as == {"empty": 10}


def test_features_are_standardised_numbers_a_gap_mark_one_hot_values_and_words(
    people: NodeData,
) -> None:
    assert people.preprocessing is not None
    names = people.preprocessing.feature_names
    x = dict(zip(names, people.features.toarray().T, strict=True))
    age = np.array([20.0 + i for i in range(PEOPLE) if i != 3])
    np.testing.assert_allclose(np.delete(x["age"], 3), (age - age.mean()) / age.std(), rtol=1e-6)
    assert x["age"][3] == 0
    assert x["age is missing"].tolist() == [float(i == 3) for i in range(PEOPLE)]
    assert x["colour = green"].tolist() == [float(i % 3 == 1) for i in range(PEOPLE)]
    assert (x["motto: paint"] > 0).tolist() == [i % 2 == 0 for i in range(PEOPLE)]
    words = np.array([x[name] for name in names if name.startswith("motto")])
    np.testing.assert_allclose((words**2).sum(axis=0), 1, rtol=1e-6)
    assert people.scaled_features("sum") is people.features


@pytest.mark.parametrize("end", [".tsv", ".parquet", ".csv with semicolons", "frames"])
def test_every_kind_of_table_gives_the_same_data(
    tmp_path: Path, people: NodeData, end: str
) -> None:
    options: Any = {"label": "topic", "text": ["motto"]}
    frames = typed_frames(tmp_path)
    if end == "frames":
        other = from_pandas(*frames, **options)
    elif end == ".parquet":
        paths = [tmp_path / f"{name}.parquet" for name in ("nodes", "edges")]
        for frame, path in zip(frames, paths, strict=True):
            frame.to_parquet(path)
        other = read_tables(*paths, **options)
    else:
        separator, suffix = (";", ".csv") if "semi" in end else ("\t", ".tsv")
        paths = [tmp_path / f"other_{name}{suffix}" for name in ("nodes", "edges")]
        for frame, path in zip(frames, paths, strict=True):
            frame.to_csv(path, sep=separator, index=False)
        other = read_tables(*paths, **options)
    assert other.fingerprint == people.fingerprint
    assert other.node_ids == people.node_ids
    assert other.preprocessing == people.preprocessing


def test_an_edge_list_is_a_table_of_edges(tmp_path: Path, people: NodeData) -> None:
    path = tmp_path / "links.edgelist"
    path.write_text("# who knows whom\n" + text(edge_lines()[1:]).replace(",", " "))
    data = read_tables(tmp_path / "nodes.csv", path, label="topic", text="motto")
    assert data.fingerprint == people.fingerprint


@pytest.mark.parametrize("is_text", [True, False])
def test_an_id_in_two_rows_that_differ_is_refused_with_these_rows(is_text: bool) -> None:
    ids: list[Any] = [f"p{k}" if is_text else k for k in range(12)]
    nodes = pd.DataFrame({"id": ids, "y": ["a", "b"] * 6, "age": range(12)})
    edges = pd.DataFrame({"source": ids[:-1], "target": ids[1:]})
    assert from_pandas(nodes, edges, label="y").node_ids == tuple(ids)
    nodes.loc[7, "id"] = ids[2]
    edges = edges[~edges.isin([ids[7]]).any(axis=1)]
    with pytest.raises(DataError, match=rf"column 'id': the id {ids[2]!r} is in rows 3, 8\."):
        from_pandas(nodes, edges, label="y")
    nodes.loc[9, "id"] = ids[4]
    edges = edges[~edges.isin([ids[9]]).any(axis=1)]
    with pytest.raises(DataError, match=r"is in rows 3, 8 \(1 more rows repeat other ids\)"):
        from_pandas(nodes, edges, label="y")


def test_ids_of_a_csv_stay_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("code,x\n007,1\n7,2\nNA,4\n1e3,3\n")
    (tmp_path / "e.csv").write_text("a,b\n007,7\nNA,1e3\n")
    data = read_tables(tmp_path / "n.csv", tmp_path / "e.csv")
    assert data.node_ids == ("007", "7", "NA", "1e3")
    assert data.edges.T.tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize("ids", [[10, 7, 3], ["a", "b", "c"], [(0, 1), (1, 0), "x"], [1.5, 2, 3]])
def test_ids_of_a_frame_are_anything_hashable_and_come_back(ids: list[Any]) -> None:
    nodes = pd.DataFrame({"id": pd.Series(ids, dtype=object), "x": [1.0, 2, 4]})
    ends = {"source": ids[:2], "target": ids[1:]}
    edges = pd.DataFrame({end: pd.Series(some, dtype=object) for end, some in ends.items()})
    data = from_pandas(nodes.infer_objects(), edges.infer_objects())
    assert list(data.node_ids) == ids
    assert data.edges.T.tolist() == [[0, 1], [1, 2]]


def nodes_and_ring(**columns: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    n = len(next(iter(columns.values())))
    nodes = pd.DataFrame({"id": range(n), **columns})
    return nodes, pd.DataFrame({"source": range(n), "target": [*range(1, n), 0]})


@pytest.mark.parametrize(
    ("labels", "names", "codes"),
    [
        (["b", "a", "", "b"], ("a", "b"), [1, 0, -1, 1]),
        (["b", "a", None, "b"], ("a", "b"), [1, 0, -1, 1]),
        ([10, 9, -1, 10], ("9", "10"), [1, 0, -1, 1]),
        ([2.0, 1.0, np.nan, 2.0], ("1", "2"), [1, 0, -1, 1]),
        (["2.0", "1.0", "", "2.0"], ("1", "2"), [1, 0, -1, 1]),
        (["0.5", "2", "-1", "NaN"], ("0.5", "2"), [0, 1, -1, -1]),
        ([True, False, True, True], ("False", "True"), [1, 0, 1, 1]),
        (["none", "some", "NA", "null"], ("none", "some"), [0, 1, -1, -1]),
    ],
)
def test_labels_are_text_or_numbers_and_blanks_are_none(
    labels: list[Any], names: tuple[str, ...], codes: list[int]
) -> None:
    data = from_pandas(*nodes_and_ring(y=labels, x=[1, 2, 3, 5]), label="y")
    assert (data.class_names, data.labels.tolist()) == (names, codes)


def test_known_classes_fix_the_order_and_what_is_allowed() -> None:
    frames = nodes_and_ring(y=["b", "a", "", "b"], x=[1, 2, 3, 5])
    data = from_pandas(*frames, label="y", class_names=("b", "c", "a"))
    assert data.labels.tolist() == [0, 2, -1, 0]
    with pytest.raises(agnn.DataError, match=r"column 'y', rows 1, 4: unknown class 'b'"):
        from_pandas(*frames, label="y", class_names=("a", "c"))


def test_many_sparse_counts_are_a_bag_of_words_and_stay_as_they_are() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 4, (40, 30)) * (rng.random((40, 30)) < 0.2)
    data = from_pandas(*nodes_and_ring(**{f"w{k}": counts[:, k] for k in range(30)}))
    assert data.features.toarray().tolist() == counts.tolist()
    few = from_pandas(*nodes_and_ring(**{f"w{k}": counts[:, k] for k in range(5)}))
    np.testing.assert_allclose(few.features.toarray().std(axis=0), 1, rtol=1e-5)


def test_columns_that_teach_nothing_are_left_out_and_said() -> None:
    n = 120
    frames = nodes_and_ring(
        x=np.arange(n) / 2, same=[7] * n, also=["z"] * n, empty=[None] * n,
        name=[f"n{i}" for i in range(n)], born=pd.date_range("2020-01-01", periods=n),
        parts=[[1, 2]] * n,
    )  # fmt: skip
    data = from_pandas(*frames)
    out = {name.removeprefix("nodes ") for name, use in uses(data).items() if use == "left out"}
    assert out == {"same", "also", "empty", "name", "born", "parts"}
    many = "120 distinct values in 120 rows do not look like categories"
    assert details(data)["nodes name"].startswith(many)
    assert data.feature_count == 1
    asked = from_pandas(*frames, category="name", ignore=["x", "born"])
    assert asked.feature_count == n
    assert uses(asked)["nodes x"] == "left out"


def test_a_value_that_some_rows_have_tells_them_from_the_others() -> None:
    columns: dict[str, Any] = {"x": np.arange(120) / 2, "reason": [None, "moved"] * 60}
    columns["seven"] = [np.nan, 7, 7] * 40
    labels = ["stay", "gone"] * 60
    frames = nodes_and_ring(**columns, label=labels)
    data = from_pandas(*frames, label="label")
    assert details(data)["nodes reason"] == "1 value; 60 missing, all zero"
    assert "Column 'reason' alone gives the label" in str(data.report)
    assert "every row that has a value; to use which rows" in details(data)["nodes seven"]
    asked = from_pandas(*frames, label="label", category="seven")
    assert details(asked)["nodes seven"] == "1 value; 40 missing, all zero"


def test_a_frame_may_stand_beside_a_file(tmp_path: Path) -> None:
    nodes, edges = nodes_and_ring(x=[1.0, 2.0, 3.0])
    edges.to_csv(tmp_path / "edges.csv", index=False)
    data = read_tables(nodes, tmp_path / "edges.csv")
    assert data.name == "frames"
    assert data.fingerprint == from_pandas(nodes, edges).fingerprint


@pytest.mark.parametrize("written", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%d %H:%M:%S"])
def test_dates_that_are_text_are_called_dates(written: str) -> None:
    days = pd.date_range("2020-01-01", periods=120).strftime(written)
    data = from_pandas(*nodes_and_ring(x=np.arange(120) / 2, joined=list(days)))
    assert uses(data)["nodes joined"] == "left out"
    assert details(data)["nodes joined"].startswith("it holds dates; to use them, convert them")


NAMES = ("maria", "chen", "omar", "lena", "ivo")


@pytest.mark.parametrize(
    ("values", "is_text"),
    [
        ([f"{NAMES[i % 5]} {NAMES[i % 4]} studies topic{i}" for i in range(120)], True),
        ([f"{NAMES[i % 5]} {NAMES[i % 4]} studies topic{i}" for i in range(99)], False),  # few
        ([f"https://example.org/{i}" for i in range(120)], False),  # one word each
        ([f"first{i} last{i}" for i in range(120)], False),  # no word occurs twice
        ([f"{i} {i % 7}" for i in range(120)], False),  # as telephone numbers: half occur once
        ([f"{i % 9} {i % 13} {i % 11}" for i in range(120)], True),  # ids that occur again
    ],
)
def test_a_column_of_text_is_used_by_its_words_without_being_asked_for(
    values: list[str], is_text: bool
) -> None:
    data = from_pandas(*nodes_and_ring(about=values))
    assert uses(data)["nodes about"] == ("text" if is_text else "left out")
    assert ("'about' holds text, which is used by its words" in notes(data)) == is_text
    if is_text:
        asked = from_pandas(*nodes_and_ring(about=values), text="about")
        assert (data.features != asked.features).nnz == 0
        ignored = from_pandas(*nodes_and_ring(about=values), ignore="about")
        assert uses(ignored)["nodes about"] == "left out"


@pytest.mark.parametrize(
    ("column", "values", "is_left_out"),
    [
        ("facebook_id", [7, 12, 3, 99], True),
        ("pageId", [7, 12, 3, 99], True),
        ("facebook_id", [7, 12, 3, None], True),
        ("facebook_id", [7, 12, 3, 3], False),
        ("facebook_id", [7.5, 12, 3, 99], False),
        ("facebook_id", [2**60 + k for k in range(4)] + [1, 2, 3, 4], True),
        ("height", [7, 12, 3, 99], False),
        ("paid", [7, 12, 3, 99], False),
        ("row", range(1, 31), True),
        ("age", range(20, 50), False),
        ("account", [k * k for k in range(100)], True),
        ("mass", [float(k) * 1e28 for k in range(100)], False),
    ],
)
def test_whole_numbers_that_name_the_nodes_are_no_features(
    column: str, values: Any, is_left_out: bool
) -> None:
    values = list(values)
    frames = nodes_and_ring(**{"x": [k / 7 for k in range(len(values))], column: values})
    data = from_pandas(*frames)
    assert uses(data)[f"nodes {column}"] == ("left out" if is_left_out else "number")
    assert ("look like an identifier" in details(data)[f"nodes {column}"]) == is_left_out
    asked = from_pandas(*frames, number=column)
    assert uses(asked)[f"nodes {column}"] == "number"


def test_an_identifier_is_left_out_of_a_csv_too(tmp_path: Path) -> None:
    rows = [f"n{i},{10**17 + 7 * i},{i % 5}.5" for i in range(30)]
    (tmp_path / "n.csv").write_text(text(["id,facebook_id,x", *rows]))
    (tmp_path / "e.csv").write_text("a,b\nn0,n1\n")
    data = read_tables(tmp_path / "n.csv", tmp_path / "e.csv")
    assert uses(data)["nodes facebook_id"] == "left out"
    advice = "keep it as a feature with `number` (--number facebook_id)"
    assert advice in details(data)["nodes facebook_id"]


def test_a_few_numbers_that_set_the_scale_of_a_column_are_named(tmp_path: Path) -> None:
    ages = [f"{20 + i % 50}.5" for i in range(200)]
    ages[7] = "1e12"
    # Long tails and columns that are mostly zero are nothing to worry about.
    rows = [f"n{i},{ages[i]},{2.5 ** (i % 10)},{1e6 * (i % 40 == 0) + 0.5}" for i in range(200)]
    (tmp_path / "n.csv").write_text(text(["id,age,income,amount", *rows]))
    (tmp_path / "e.csv").write_text("a,b\nn0,n1\n")
    said = notes(read_tables(tmp_path / "n.csv", tmp_path / "e.csv"))
    assert "Column 'age' has numbers far from all others in row 8, such as 1e+12" in said
    assert "income" not in said
    assert "amount" not in said


def test_numbers_taken_as_names_are_one_hot() -> None:
    data = from_pandas(*nodes_and_ring(code=[3, 7, 3, 9], x=[1, 2, 3, 5]), category="code")
    assert data.preprocessing is not None
    assert data.preprocessing.feature_names == ("x", "code = 3", "code = 7", "code = 9")


def test_without_columns_the_graph_itself_gives_features_and_that_is_said() -> None:
    data = from_pandas(*nodes_and_ring(y=["a", "b", "a", "b"]), label="y")
    assert data.feature_count == 3 + 64
    assert "the features are made of the graph itself" in notes(data)


def test_the_split_column_is_the_fixed_split() -> None:
    part = ["train", "Training", "val", "dev", "TEST", "test", "", "train"]
    labels = ["a", "b", "a", "b", "a", "b", "a", ""]
    frames = nodes_and_ring(y=labels, x=range(8), part=part)
    data = from_pandas(*frames, label="y", split_column="part")
    parts = {name: nodes.tolist() for name, nodes in data.split("fixed").parts.items()}
    assert parts == {"train": [0, 1], "validation": [2, 3], "test": [4, 5]}
    assert "row 8 are for training or validation but have no label" in notes(data)
    assert uses(data)["nodes part"] == "split"


def test_without_validation_rows_a_fifth_of_the_training_rows_of_each_class_validates() -> None:
    labels = ["a"] * 12 + ["b"] * 8
    part = ["train"] * 7 + ["test"] * 5 + ["train"] * 3 + ["test"] * 5
    data = from_pandas(*nodes_and_ring(y=labels, part=part), label="y", split_column="part")
    split = data.split("fixed")
    assert split.validation.tolist() == [1, 6, 13]
    assert split.train.tolist() == [0, 2, 3, 4, 5, 12, 14]
    assert "no row is for validation" in notes(data)


def test_edges_to_unknown_ids_go_only_if_asked_and_rows_stay_those_of_the_file() -> None:
    nodes, _ = nodes_and_ring(x=[1, 2, 3, 5])
    edges = pd.DataFrame({"source": [0, 9, 1, 1, 2], "target": [1, 1, 2, 2, 8]})
    data = from_pandas(nodes, edges, drop_unknown=True)
    assert data.edges.T.tolist() == [[0, 1], [1, 2]]
    assert data.report.dropped_edges == 2
    assert "2 of 5 edges name an id that no node has and are left out: row 2 9" in notes(data)
    assert "in rows 3, 4" in notes(data)


def test_weights_go_only_if_asked_and_equal_numbers_are_no_weights() -> None:
    nodes, edges = nodes_and_ring(x=[1, 2, 3, 5])
    plain = from_pandas(nodes, edges)
    same = from_pandas(nodes, edges.assign(weight=1.0, kind="friend"))
    assert uses(same)["edges kind"] == "left out"
    told = from_pandas(nodes, edges.assign(weight=[1, 2, 3, 4]), ignore_weights=True)
    assert details(told)["edges weight"] == "a weight, ignored as requested"
    assert plain.fingerprint == same.fingerprint == told.fingerprint


def test_a_named_column_holds_the_weights_and_the_report_says_so() -> None:
    nodes, edges = nodes_and_ring(x=[1, 2, 3, 5])
    weighted = edges.assign(weight=[1, 2, 3, 4], other=[5, 6, 7, 8])
    data = from_pandas(nodes, weighted, edge_weight="weight")
    pairs = [tuple(sorted(pair)) for pair in edges.to_numpy().tolist()]
    given = dict(zip(pairs, [1, 2, 3, 4], strict=True))
    assert data.edge_weights.tolist() == [given[tuple(pair)] for pair in data.edges.T.tolist()]
    assert uses(data)["edges weight"] == "weight"
    assert uses(data)["edges other"] == "left out"
    assert ("edge weights", "1 to 4, median 2.5") in list(data.report.count_lines())
    plain = from_pandas(nodes, edges)
    assert data.fingerprint != plain.fingerprint
    assert data.unweighted.fingerprint == plain.fingerprint
    assert plain.unweighted is plain


def test_weight_1_everywhere_is_no_weights() -> None:
    nodes, edges = nodes_and_ring(x=[1, 2, 3, 5])
    data = from_pandas(nodes, edges.assign(weight=1.0), edge_weight="weight")
    assert data.edge_weights is None
    assert data.fingerprint == from_pandas(nodes, edges).fingerprint


def test_entries_of_an_edge_are_averaged_and_those_left_out_do_not_count() -> None:
    nodes, _ = nodes_and_ring(x=[1, 2, 3, 5])
    edges = pd.DataFrame({
        "source": [0, 1, 0, 1, 9, 2], "target": [1, 0, 1, 2, 1, 2],
        "w": [1.0, 2.0, 6.0, 5.0, 7.0, 8.0],
    })  # fmt: skip
    data = from_pandas(nodes, edges, edge_weight="w", drop_unknown=True)
    assert data.edges.T.tolist() == [[0, 1], [1, 2]]
    assert data.edge_weights.tolist() == [3.0, 5.0]
    assert "1 edge with different weights in several entries, such as 0 to 1; each" in notes(data)
    assert "rows 1, 3; each edge is kept with the mean of its weights" in notes(data)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, 0, 2, 3], "row 2: the weight is 0; leave the edge out"),
        ([1, 2, -3, 3], "row 3: the weight is -3; it must be above 0"),
        ([None, 2, 3, 3], "row 1: the weight is missing"),
        ([1, 2, 3, float("inf")], "row 4: the weight is infinite"),
        (["1", "2", "much", "3"], "row 3: 'much' is not a number"),
        ([1, 1e20, 3, 3], r"row 2: the weight is 1e\+20; weights must be from 1e-15 to 1e\+15"),
    ],
)
def test_an_unusable_weight_is_refused_with_its_row(values: list[object], words: str) -> None:
    nodes, edges = nodes_and_ring(x=[1, 2, 3, 5])
    with pytest.raises(agnn.DataError, match=f"`edges`, column 'w', {words}"):
        from_pandas(nodes, edges.assign(w=values), edge_weight="w")


def test_the_weight_column_must_exist_and_be_no_end_of_an_edge() -> None:
    nodes, edges = nodes_and_ring(x=[1, 2, 3, 5])
    with pytest.raises(agnn.InputError, match="weigth"):
        from_pandas(nodes, edges.assign(weight=[1, 2, 3, 4]), edge_weight="weigth")
    with pytest.raises(agnn.DataError, match="column 'source' holds ids"):
        from_pandas(nodes, edges, edge_weight="source")
    with pytest.raises(
        agnn.InputError, match="`edge_weight` and `ignore_weights` exclude each other"
    ):
        from_pandas(nodes, edges, edge_weight="source", ignore_weights=True)


def test_weights_at_a_few_edges_are_weights_too() -> None:
    nodes, edges = nodes_and_ring(x=[1, 2, 3, 5, 7, 9])
    sparse = edges.assign(weight=[None, None, None, None, 2.0, 3.0])
    with pytest.raises(agnn.DataError, match="`edges`, column 'weight': numbers at the edges"):
        from_pandas(nodes, sparse)
    named = edges.assign(id=range(6), kind=["a", "b", "c", "1", "e", "f"])
    assert from_pandas(nodes, named).fingerprint == from_pandas(nodes, edges).fingerprint


def test_the_ends_are_found_by_name_by_place_or_as_told() -> None:
    nodes, edges = nodes_and_ring(x=[1, 2, 3, 5])
    wanted = from_pandas(nodes, edges).fingerprint
    renamed = edges.assign(kind="a")[["kind", "target", "source"]]
    assert from_pandas(nodes, renamed).fingerprint == wanted
    assert from_pandas(nodes, edges.set_axis(["one", "two"], axis=1)).fingerprint == wanted
    third = renamed.set_axis(["kind", "b", "a"], axis=1)
    assert from_pandas(nodes, third, source="a", target="b").fingerprint == wanted
    assert from_pandas(nodes, third[["b", "a", "kind"]], source="a").fingerprint == wanted


def test_row_numbers_that_pandas_wrote_are_neither_id_nor_feature(tmp_path: Path) -> None:
    nodes, edges = typed_frames(tmp_path)
    nodes.to_csv(tmp_path / "n.csv")
    edges.to_csv(tmp_path / "e.csv")
    data = read_tables(tmp_path / "n.csv", tmp_path / "e.csv", label="topic", text="motto")
    assert data.node_ids[1] == "p1"
    assert data.preprocessing is not None
    assert data.preprocessing.feature_names[:2] == ("age", "age is missing")


def test_a_copy_keeps_preprocessing_and_reading(people: NodeData) -> None:
    twin = copy.deepcopy(people)
    assert twin.fingerprint == people.fingerprint
    assert (twin.preprocessing, twin.reading) == (people.preprocessing, people.reading)


def test_the_keywords_of_the_readers_are_the_options() -> None:
    assert set(get_type_hints(ReadKeywords)) == set(ReadOptions.__dataclass_fields__)


def test_text_with_line_ends_quotes_and_spaces_is_read_as_it_is_meant(tmp_path: Path) -> None:
    lines = ["id, say", 'a,"one\ntwo"', 'b ,"he said ""three"""', "c,four"]
    (tmp_path / "n.csv").write_text("\ufeff" + text(lines), encoding="utf-8")
    (tmp_path / "e.csv").write_text("x,y\r\na,b\r\nb, c\r\n")
    data = read_tables(tmp_path / "n.csv", tmp_path / "e.csv", text="say")
    assert data.node_ids == ("a", "b", "c")
    assert data.preprocessing is not None
    words = {"say: one", "say: two", "say: he", "say: said", "say: three", "say: four"}
    assert set(data.preprocessing.feature_names) == words


def test_the_first_column_is_the_id_where_no_name_says_so(tmp_path: Path) -> None:
    lines = [line.replace("id,", "who,") for line in node_lines()]
    (tmp_path / "n.csv").write_text(text(lines))
    (tmp_path / "e.csv").write_text(text(edge_lines()))
    data = read_tables(tmp_path / "n.csv", tmp_path / "e.csv", label="topic")
    assert data.node_ids[0] == "p0"
    assert details(data)["nodes who"] == "the first column"


def test_decimal_commas_are_numbers_where_semicolons_separate_the_cells(tmp_path: Path) -> None:
    spend = [f"{10 + 7 * i % 90},{i % 100:02d}" for i in range(120)]
    spend[3], spend[4], spend[5] = "", "1.5", "-,5"
    rows = [f"{i};{cell};{'ab'[i % 2]}" for i, cell in enumerate(spend)]
    (tmp_path / "n.csv").write_text(text(["id;Monthly spend;y", *rows]))
    (tmp_path / "e.csv").write_text("a;b;w\n0;1;0,5\n1;2;2,5\n")
    data = read_tables(tmp_path / "n.csv", tmp_path / "e.csv", label="y", edge_weight="w")
    assert uses(data)["nodes Monthly spend"] == "number"
    assert "; decimal commas; 1 missing (row 4)" in details(data)["nodes Monthly spend"]
    assert data.edge_weights.tolist() == [0.5, 2.5]
    numbers = np.array([float(cell.replace(",", ".") or "nan") for cell in spend])
    scaled = (numbers - np.nanmean(numbers)) / np.nanstd(numbers)
    np.testing.assert_allclose(data.features.toarray()[:, 0], np.nan_to_num(scaled), atol=1e-5)


def test_a_thousands_separator_beside_a_decimal_comma_is_refused(tmp_path: Path) -> None:
    rows = [f"{i};{i},5" for i in range(30)]
    rows[7] = "7;1.234,5"
    (tmp_path / "n.csv").write_text(text(["id;x", *rows]))
    (tmp_path / "e.csv").write_text("a;b\n0;1\n")
    with pytest.raises(agnn.DataError, match=r"column 'x', row 8: '1\.234,5' is not a number"):
        read_tables(tmp_path / "n.csv", tmp_path / "e.csv")


@pytest.mark.parametrize("written", ["{},25", "1.{:03d},25", "1,{:03d}.25"])
def test_numbers_with_commas_elsewhere_are_left_out_with_the_right_advice(written: str) -> None:
    data = from_pandas(*nodes_and_ring(spend=[written.format(i) for i in range(120)]))
    why = details(data)["nodes spend"]
    assert why.startswith("its values look like numbers with commas, such as '")
    assert "write them with a decimal point" in why


def test_options_are_suggested_with_names_that_a_shell_takes_as_one() -> None:
    name = "Monthly spend €"
    data = from_pandas(*nodes_and_ring(**{name: [f"code{i}" for i in range(120)]}))
    why = details(data)[f"nodes {name}"]
    assert why.endswith(
        "`text` (--text 'Monthly spend €'), or force it with `category` (--category 'Monthly "
        "spend €')"
    )


def test_exact_copies_of_rows_are_left_out_and_rows_are_counted_as_in_the_table(
    tmp_path: Path,
) -> None:
    lines = node_lines()
    lines[3:3] = [lines[1], lines[2]]  # rows 3 and 4 repeat rows 1 and 2
    nodes, edges = write_tables(tmp_path)
    plain = read_tables(nodes, edges, label="topic", text="motto")
    nodes.write_text(text(lines))
    data = read_tables(nodes, edges, label="topic", text="motto")
    assert f"'{nodes}': 2 exact copies of other rows left out: rows 3, 4." in notes(data)
    assert data.fingerprint == plain.fingerprint
    assert "1 missing (row 6)" in details(data)["nodes age"]
    nodes.write_text(text(lines).replace("p7,sport,27", "p7,sport,old"))
    with pytest.raises(agnn.DataError, match=r"column 'age', row 10: 'old' is not a number"):
        read_tables(nodes, edges, label="topic")
    nodes.write_text(text([*lines, lines[1].replace("red", "blue")]))
    with pytest.raises(agnn.DataError, match=r"the id 'p0' is in rows 1, 3, 63"):
        read_tables(nodes, edges, label="topic")


def test_ids_of_edges_that_are_in_another_column_are_found_there() -> None:
    nodes, edges = nodes_and_ring(new_id=[100 + i for i in range(30)], x=[i / 7 for i in range(30)])
    with pytest.raises(agnn.DataError, match="No id is known: are these the right columns"):
        from_pandas(nodes, edges + 1000)
    for shifted, count in ((edges + 100, "All"), ((edges + 100).replace(100, 999), "Nearly all")):
        with pytest.raises(
            agnn.DataError,
            match=rf"{count} of them are in column 'new_id': name it as `node_id` \(--id new_id\)",
        ):
            from_pandas(nodes, shifted)
    few = edges.copy()
    few.loc[3] = [103, 104]  # one wrong edge is no reason to take another column
    with pytest.raises(agnn.DataError, match="1 of 30 edges name an id") as caught:
        from_pandas(nodes, few)
    assert "new_id" not in str(caught.value)


def test_classes_that_look_like_several_labels_or_one_written_twice_are_noted() -> None:
    labels = ["a", "b", "a|b"] * 10 + ["1", "01", "Art", "art"]
    data = from_pandas(*nodes_and_ring(x=[i / 7 for i in range(34)], y=labels), label="y")
    where = "`nodes`, column 'y'"
    assert f"{where}: the class 'a|b' looks like several labels in one cell" in notes(data)
    assert f"{where}: the classes '01' and '1' differ only in spelling" in notes(data)
    assert f"{where}: the classes 'Art' and 'art' differ only in spelling" in notes(data)


@pytest.mark.parametrize("end", ["csv", "parquet", "graphml"])
def test_an_address_is_no_file_and_keeps_its_slashes(end: str, tmp_path: Path) -> None:
    address = f"s3://bucket/nodes.{end}"
    _, edges = write_tables(tmp_path)
    with pytest.raises(agnn.InputError, match=rf"'{address}' is an address; agnn reads files of"):
        agnn.read_graph(address) if end == "graphml" else read_tables(address, edges)


def test_ids_of_one_digit_are_words_where_all_words_are_numbers_and_letters_are_not() -> None:
    games = [f"{i % 9} {10 + i % 13}" for i in range(120)]
    games[5] = ""
    data = from_pandas(*nodes_and_ring(games=games), text="games")
    assert data.preprocessing is not None
    names = data.preprocessing.feature_names
    assert len(names) == 9 + 13
    column = data.features.toarray()[:, names.index("games: 7")]
    assert np.flatnonzero(column).tolist() == [i for i in range(120) if i % 9 == 7]
    plain = from_pandas(*nodes_and_ring(say=["a dog", "a cat", "i run"]), text="say")
    assert plain.preprocessing is not None
    assert plain.preprocessing.feature_names == ("say: cat", "say: dog", "say: run")
    np.testing.assert_allclose(np.sort(plain.features.toarray()), [[0, 0, 1]] * 3)
