"""One rule for missing values and one encoder of labels, whichever way data comes in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from scipy import sparse

from agnn import NodeClassifier, from_networkx, from_pandas, from_scipy, read_tables
from agnn.data import NodeData, encoded_labels
from agnn.data._labels import (
    MISSING,
    class_values,
    is_missing,
    missing_spellings,
)
from agnn.errors import DataError, InputError
from agnn.estimator._inputs import class_labels

NONE = float("nan")
SAME = {
    "integers": ([10, 9, -1, 10], ("9", "10"), [1, 0, -1, 1]),
    "negative integers": ([-2, -2, 0, -1], ("-2", "0"), [0, 0, 1, -1]),
    "whole floats": ([2.0, 1.0, NONE, -1.0], ("1", "2"), [1, 0, -1, -1]),
    "fractions": ([0.5, 2.0, NONE, 0.5], ("0.5", "2"), [0, 1, -1, 0]),
    "text": (["b", "a", "", "b"], ("a", "b"), [1, 0, -1, 1]),
    "missing text": (["NA", "null", "x", "?"], ("x",), [-1, -1, 0, -1]),
    "the word none": (["none", "x", "N/A", "None"], ("None", "none", "x"), [1, 2, -1, 0]),
    "numbers as text": (["10", "9", "-1", "2"], ("2", "9", "10"), [2, 1, -1, 0]),
    "negative numbers as text": (["-2", "9", "-1.0", "-2"], ("-2", "9"), [0, 1, -1, 0]),
    "floats as text": (["2.0", "1.0", "", "2.0"], ("1", "2"), [1, 0, -1, 1]),
    "truth": ([True, False, True, True], ("False", "True"), [1, 0, 1, 1]),
    "mixed": (["b", None, 3, NONE], ("3", "b"), [1, -1, 0, -1]),
}  # fmt: skip


def ways_in(labels: list[Any], folder: Path) -> dict[str, NodeData]:
    """The same labels on a ring of nodes, by every way that a user has."""
    n = len(labels)
    nodes = pd.DataFrame({"id": range(n), "y": pd.Series(labels), "x": [0.5 * k for k in range(n)]})
    edges = pd.DataFrame({"source": range(n), "target": [*range(1, n), 0]})
    ring = sparse.csr_array((np.ones(n), (edges["source"], edges["target"])), shape=(n, n))
    array = np.array(labels, dtype=object if len({type(each) for each in labels}) > 1 else None)
    graph = nx.Graph(list(zip(edges["source"], edges["target"], strict=True)))
    nx.set_node_attributes(graph, dict(enumerate(labels)), "y")
    return {
        "frame": from_pandas(nodes, edges, label="y"),
        "categories": from_pandas(nodes.assign(y=nodes["y"].astype("category")), edges, label="y"),
        "array": from_scipy(ring, labels=array),
        "list": from_scipy(ring, labels=np.array(labels, dtype=object)),
        "networkx": from_networkx(graph, label="y"),
    } | ({} if array.dtype == object else _files(nodes, edges, folder))


def _files(nodes: pd.DataFrame, edges: pd.DataFrame, folder: Path) -> dict[str, NodeData]:
    found = {}
    for end, write in ((".csv", "to_csv"), (".parquet", "to_parquet")):
        paths = [folder / f"{name}{end}" for name in ("nodes", "edges")]
        for frame, path in zip((nodes, edges), paths, strict=True):
            getattr(frame, write)(path, index=False)
        found[end] = read_tables(*paths, label="y")
    return found


@pytest.mark.parametrize("case", SAME)
def test_every_way_in_gives_the_same_classes(tmp_path: Path, case: str) -> None:
    labels, names, codes = SAME[case]
    for way, data in ways_in(labels, tmp_path).items():
        assert (data.class_names, data.labels.tolist()) == (names, codes), way


@pytest.mark.parametrize("case", [case for case in SAME if case not in ("fractions", "mixed")])
def test_the_estimator_has_the_same_classes_as_the_caller_wrote_them(case: str) -> None:
    labels, names, codes = SAME[case]
    found = class_labels(labels)
    assert found.codes.tolist() == codes
    assert [str(each).removesuffix(".0") for each in found.classes.tolist()] == list(names)


def test_numbers_written_as_text_sort_by_value_in_the_estimator() -> None:
    rng = np.random.default_rng(0)
    y = np.array(["10", "9", "NA", "10"] * 10)
    edges = [list(range(40)), [*range(1, 40), 0]]
    model = NodeClassifier("label_propagation", replicas=1)
    model.fit(rng.random((40, 3)), y, edges=edges)
    assert model.classes_.tolist() == ["9", "10"]
    assert model.run_.data.labels[:4].tolist() == [1, 0, -1, 1]


@given(st.sampled_from(sorted(MISSING)), st.data())
def test_a_missing_value_is_written_in_any_case(word: str, data: st.DataObject) -> None:
    written = "".join(data.draw(st.sampled_from([c, c.upper()])) for c in word)
    assert is_missing(written)
    assert is_missing(f" {written} ")
    assert written in missing_spellings()


@pytest.mark.parametrize("value", ["none", "0", "nano", -1, 0, False, "-1", (), "nan?"])
def test_everything_else_is_a_value(value: object) -> None:
    assert not is_missing(value)


def test_missing_features_follow_the_same_rule(tmp_path: Path) -> None:
    values = ["1.5", "NaN", "n/a", "<NA>", "NULL", "?", "", "None", "4"]
    lines = [f"n{k},{value},{value}" for k, value in enumerate(values)]
    lines = [line.replace("1.5,1.5", "1.5,a").replace("4,4", "4,b") for line in lines]
    (tmp_path / "n.csv").write_text("id,number,kind\n" + "\n".join(lines) + "\n")
    (tmp_path / "e.csv").write_text("a,b\nn0,n1\n")
    data = read_tables(tmp_path / "n.csv", tmp_path / "e.csv")
    assert data.preprocessing is not None
    names = data.preprocessing.feature_names
    assert names == ("number", "number is missing", "kind = None", "kind = a", "kind = b")
    marked = data.features[:, [1]].toarray()[:, 0].tolist()
    assert marked == [0, 1, 1, 1, 1, 1, 1, 1, 0]


@pytest.mark.parametrize(
    ("labels", "kind", "said"),
    [
        (np.array([[1], [2]]), InputError, r"`labels` must have shape \[n\]; got \[2, 1\]"),
        (np.array([1.0, np.inf]), DataError, "`labels`: a label is infinite"),
        (
            np.array([b"a", b"b"]),
            DataError,
            "`labels`: a label must be text or a number; got bytes",
        ),
    ],
)
def test_what_is_not_a_label_is_refused(labels: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        encoded_labels(labels)


def test_lists_are_not_labels() -> None:
    values = np.empty(2, dtype=object)
    values[:] = [[1], [2]]
    with pytest.raises(DataError, match="a label must be text or a number; unhashable type"):
        encoded_labels(values)


def test_numbers_to_predict_are_not_classes() -> None:
    ring = sparse.csr_array((np.ones(50), (range(50), [*range(1, 50), 0])), shape=(50, 50))
    with pytest.raises(DataError, match="50 distinct values in 50 rows do not look like classes"):
        from_scipy(ring, labels=np.linspace(0.1, 0.9, 50))


def test_how_no_label_is_written_is_counted() -> None:
    labels = encoded_labels(np.array(["a", "NA", "", " ", "-1", None, "NA", "b"], dtype=object))
    assert labels.unlabelled_as == {"NA": 2, "empty": 3, "-1": 1}
    assert labels.examples.tolist() == [0, 7]


@pytest.mark.parametrize(
    ("labels", "is_refused"),
    [
        (np.arange(900) % 300, True),  # a measurement: three nodes a value
        (np.arange(900) % 90, False),  # codes of 90 classes
        (np.arange(900) % 30 / 7, True),  # fractions are no classes
        (np.arange(900) % 20 / 7, False),
        ([f"c{k % 300}" for k in range(900)], False),
    ],
)
def test_numbers_that_hardly_repeat_are_no_classes(labels: Any, is_refused: bool) -> None:
    nodes = pd.DataFrame({"id": range(900), "days": labels})
    edges = pd.DataFrame({"source": range(899), "target": range(1, 900)})
    if not is_refused:
        assert from_pandas(nodes, edges, label="days").labelled.size == 900
        return
    with pytest.raises(
        DataError,
        match=r"distinct values in 900 rows do not look like classes; agnn predicts classes: cut "
        r"numbers into a few ranges, write codes as text .* another column as `label` \(--label\)",
    ):
        from_pandas(nodes, edges, label="days")


def test_the_gaps_of_pandas_are_missing() -> None:
    assert is_missing(pd.NA)
    assert is_missing(pd.NaT)
    labels = encoded_labels(pd.Series([True, None, False], dtype="boolean"))
    assert (labels.class_names, labels.codes.tolist()) == (("False", "True"), [1, -1, 0])
    assert labels.unlabelled_as == {"empty": 1}


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (pd.Series([True, False, None], dtype=object), np.array([False, True])),
        (pd.Series([True, False, None], dtype="boolean"), np.array([False, True])),
        (pd.Series([10, 9, 9]), np.array([9, 10])),
        (pd.Series([10, 9, None]), np.array([9.0, 10.0])),
        (pd.Series(["10", "9", None]), np.array(["9", "10"], dtype=object)),
        (pd.Series([True, "x", None]), np.array(["True", "x"], dtype=object)),
    ],
)
def test_the_classes_of_a_frame_are_the_values_it_had(labels: Any, expected: Any) -> None:
    nodes = pd.DataFrame({"id": range(3), "y": labels})
    edges = pd.DataFrame({"source": [0, 1], "target": [1, 2]})
    values = from_pandas(nodes, edges, label="y").class_values
    assert values.dtype == expected.dtype
    assert values.tolist() == expected.tolist()


def test_class_names_that_took_the_place_of_others_stay_text() -> None:
    assert class_values(("a", "b"), "int").tolist() == ["a", "b"]
    assert class_values(("0.5", "1"), "int").tolist() == ["0.5", "1"]
    assert class_values(("a", "b"), "bool").tolist() == ["a", "b"]
