"""NodeData holds one canonical form of what it is given, and refuses what it cannot hold."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import sparse

from agnn.data import NodeData, RawCounts, Split
from agnn.data._edges import is_simple, merged_edges, simple_edges
from agnn.errors import AgnnError, DataError, InputError

NAN, INF = float("nan"), float("inf")


def built(**changes: Any) -> NodeData:
    fields = {
        "name": "three",
        "features": [[1, 0], [0, 2], [3, 3]],
        "labels": [0, 1, -1],
        "edges": [[0, 1], [1, 2]],
        "class_names": ("a", "b"),
    }
    return NodeData.build(**(fields | changes))


def test_the_fingerprint_of_names_depends_on_ids_and_class_names_alone(tiny: NodeData) -> None:
    def renamed(**changes: Any) -> NodeData:
        return replace(tiny, **changes)

    ids = (1, 2, 3, 4, 5, 6, "7")
    same = renamed(node_ids=(*map(np.int64, ids[:6]), "7"))
    assert renamed(node_ids=ids).names_fingerprint == same.names_fingerprint
    others = [
        tiny, renamed(node_ids=ids), renamed(node_ids=(*ids[:6], 7)),
        renamed(node_ids=(2, 1, *ids[2:])), renamed(class_names=("odd", "even")),
    ]  # fmt: skip
    assert len({each.names_fingerprint for each in others}) == len(others)
    assert len({each.fingerprint for each in others}) == 1
    assert renamed(labels=-tiny.labels).names_fingerprint == tiny.names_fingerprint


PAIRS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=40)


@given(PAIRS, PAIRS)
def test_merged_edges_are_those_of_both_lists_sorted_once(
    first: list[tuple[int, int]], second: list[tuple[int, int]]
) -> None:
    def simple(pairs: list[tuple[int, int]]) -> Any:
        return simple_edges(np.array(pairs, dtype=np.int64).reshape(-1, 2).T, 9)[0]

    merged, _ = merged_edges(simple(first), simple(second), 9)
    assert merged.tolist() == simple(first + second).tolist()
    assert is_simple(merged)


@given(PAIRS)
def test_edges_are_simple_exactly_if_making_them_simple_changes_nothing(
    pairs: list[tuple[int, int]],
) -> None:
    entries = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    expected = sorted({(min(p), max(p)) for p in pairs if p[0] != p[1]})
    simple, counts = simple_edges(entries, 9)
    assert simple.T.tolist() == [list(pair) for pair in expected]
    assert is_simple(entries) == (entries.tolist() == simple.tolist())
    assert counts.raw_edge_entries == len(pairs)
    assert counts.duplicate_entries == len(pairs) - len(set(pairs))


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=40))
def test_edges_are_the_set_of_unordered_pairs_and_the_counts_say_what_went(
    pairs: list[tuple[int, int]],
) -> None:
    data = built(
        features=np.ones((9, 1)),
        labels=[-1] * 9,
        edges=np.array(pairs, dtype=np.int32).reshape(-1, 2).T,
    )
    expected = sorted({(min(i, j), max(i, j)) for i, j in pairs if i != j})
    assert list(map(tuple, data.edges.T.tolist())) == expected
    loops = {i for i, j in pairs if i == j}
    assert data.facts == RawCounts(len(pairs), len(pairs) - len(set(pairs)), len(loops))


@pytest.mark.parametrize(
    "form",
    [
        np.asarray,
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=0)[::2],
        lambda x: x.astype(np.float64),
        lambda x: x.astype(int).tolist(),
        sparse.csr_matrix,
        sparse.csc_array,
        sparse.lil_matrix,
        lambda x: sparse.csr_array(x).astype(np.float64),
    ],
)
def test_dense_and_sparse_features_of_any_kind_give_the_same_data(form) -> None:
    dense = np.array([[1, 0, 2], [0, 0, 0], [0, 4, 0]], dtype=np.float32)
    data = built(features=form(dense))
    assert data.fingerprint == built(features=dense).fingerprint
    assert data.features.dtype == np.float32
    assert data.features.toarray().tolist() == dense.tolist()


def test_features_are_canonical_unsorted_duplicate_and_zero_entries_are_cleaned() -> None:
    indices = np.array([1, 0, 1, 0, 1], dtype=np.int64)
    parts = (np.array([1.0, 2, 3, 0, 5]), indices, np.array([0, 3, 4, 5], dtype=np.int64))
    features = built(features=sparse.csr_array(parts, shape=(3, 2))).features
    assert (features.indices.tolist(), features.data.tolist()) == ([0, 1, 1], [2, 4, 5])
    assert features.indptr.tolist() == [0, 2, 2, 3]
    assert features.has_canonical_format
    assert features.indices.dtype == features.indptr.dtype == np.int32


def test_counts_and_labelled_nodes_follow_from_the_arrays(tiny: NodeData) -> None:
    assert (tiny.nodes, tiny.feature_count, tiny.classes) == (7, 4, 2)
    assert tiny.labelled.tolist() == [0, 1, 2, 3, 4, 6]
    assert tiny.node_ids == ("0", "1", "2", "3", "4", "5", "6")


def test_normalised_features_are_rows_over_their_sums_and_zero_rows_stay(tiny: NodeData) -> None:
    dense = tiny.features.toarray()
    total = dense.sum(axis=1, keepdims=True)
    expected = np.divide(dense, total, out=np.zeros_like(dense), where=total != 0)
    normal = tiny.scaled_features("sum")
    assert normal.dtype == np.float32
    np.testing.assert_array_equal(normal.toarray(), expected)
    assert tiny.features.toarray().tolist() == dense.tolist()


def test_features_with_negative_numbers_are_not_normalised(tiny: NodeData) -> None:
    signed = replace(tiny, features=-tiny.features)
    assert signed.scaled_features("sum") is signed.features


def test_nothing_inside_can_be_written_to(tiny: NodeData) -> None:
    x, normal = tiny.features, tiny.scaled_features("sum")
    arrays = [x.data, x.indices, x.indptr, tiny.labels, tiny.edges, tiny.labelled, normal.data]
    for array in [*arrays, *tiny.split("fixed").parts.values()]:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(TypeError, match="does not support item assignment"):
        tiny.splits["fixed"] = None
    with pytest.raises(AttributeError, match="cannot assign to field 'labels'"):
        tiny.labels = None


def test_the_callers_arrays_are_copied() -> None:
    features, labels, edges = (
        np.ones((3, 2), np.float32),
        np.zeros(3, np.int64),
        np.array([[0], [1]]),
    )
    csr = sparse.csr_array(features)
    data = built(features=csr, labels=labels, edges=edges)
    before = data.fingerprint
    csr.data[:], labels[:], edges[:] = 7, 1, 2
    assert built(features=data.features, labels=data.labels, edges=data.edges).fingerprint == before


def through_a_pickle(data: NodeData) -> NodeData:
    return pickle.loads(pickle.dumps(data))  # noqa: S301 our own, a line ago


@pytest.mark.parametrize("twin", [copy.deepcopy, through_a_pickle])
def test_a_copy_is_the_same_and_as_frozen(tiny: NodeData, twin) -> None:
    other = twin(tiny)
    assert (other.fingerprint, other.facts) == (tiny.fingerprint, tiny.facts)
    assert not other.labels.flags.writeable
    assert not other.split("fixed").train.flags.writeable


@pytest.mark.parametrize(
    "change",
    [
        {"features": [[1, 0], [0, 2], [3, 4]]},
        {"features": [[1, 0, 0], [0, 2, 0], [3, 3, 0]]},
        {"labels": [0, 1, 1]},
        {"edges": [[0, 0], [1, 2]]},
        {"class_names": ("a", "b", "c")},
        {"splits": {"fixed": Split("fixed", [0], [], [1])}},
    ],
)
def test_the_fingerprint_sees_every_change_that_a_result_depends_on(change: dict[str, Any]) -> None:
    assert built(**change).fingerprint != built().fingerprint


def test_the_fingerprint_does_not_see_names() -> None:
    other = built(name="other", node_ids=("x", "y", "z"), class_names=("c", "d"))
    assert other.fingerprint == built().fingerprint


BROKEN_CSR = sparse.csr_array(np.ones((3, 2)))
BROKEN_CSR.indices[3] = 9

REFUSED: dict[str, tuple[dict[str, Any], type[AgnnError], str]] = {
    "nan": ({"features": [[1, 0], [0, NAN], [3, 3]]}, DataError, "row 1, column 1 is nan"),
    "inf": ({"features": [[1, 0], [0, 2], [-INF, 3]]}, DataError, "row 2, column 0 is -inf"),
    "too big": ({"features": [[1, 1e39], [0, 2], [3, 3]]}, DataError, "row 0, column 1 is inf"),
    "text": ({"features": [["a"], ["b"], ["c"]]}, InputError, "must hold real numbers"),
    "flat": (
        {"features": [1, 2, 3]},
        InputError,
        r"`features` must have shape \[n, d_x\]; got \[3",
    ),
    "broken csr": ({"features": BROKEN_CSR}, DataError, "not a valid sparse matrix"),
    "far edge": ({"edges": [[0, 1], [1, 3]]}, DataError, r"edge 1, \(1, 3\).*3 nodes, 0 to 2"),
    "minus edge": ({"edges": [[0, -1], [1, 2]]}, DataError, r"edge 1, \(-1, 2\)"),
    "edge rows": (
        {"edges": [[0, 1], [1, 2], [0, 2]]},
        InputError,
        r"\[2, k\].*\[3, 2\]. Transpose",
    ),
    "float edge": ({"edges": [[0.0], [1.0]]}, InputError, "integers; got float64"),
    "label high": ({"labels": [0, 2, 1]}, DataError, "node 1 has label 2; with 2 classes"),
    "label low": ({"labels": [0, 1, -2]}, DataError, "node 2 has label -2"),
    "label count": ({"labels": [0, 1]}, InputError, r"`labels` must have shape \[3\].*got \[2\]"),
    "float label": ({"labels": [0.0, 1, 1]}, InputError, "`labels` must be integers"),
    "same id": (
        {"node_ids": ("p", "q", "p")},
        DataError,
        "`node_ids` must differ; 'p' is there tw",
    ),
    "ids missing": ({"node_ids": ("p", "q")}, InputError, "must name all 3 nodes; got 2"),
    "list as id": ({"node_ids": ("p", "q", [3])}, InputError, "`node_ids` must be hashable: "),
    "number class": ({"class_names": ("a", 1)}, InputError, "`class_names` must be text; got 1"),
    "same class": ({"class_names": ("a", "a")}, DataError, "`class_names` must differ"),
    "split away": (
        {"splits": {"s": Split("s", [0], [], [5])}},
        InputError,
        "split 's': `test` names node 5, which does not exist: 'three' has 3 nodes",
    ),
    "split blank": (
        {"splits": {"s": Split("s", [2], [], [1])}},
        InputError,
        "split 's': `train` names node 2, which has no label in 'three'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_held_is_refused_in_one_line_that_names_it(case: str) -> None:
    change, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message) as caught:
        built(**change)
    assert "\n" not in str(caught.value)


def test_a_graph_without_edges_or_of_one_node_is_fine() -> None:
    one = built(features=[[1.0]], labels=[0], edges=np.empty((2, 0), int), class_names=("a",))
    assert one.edges.shape == (2, 0)
    assert one.facts == RawCounts(0, 0, 0)


def test_asking_for_a_split_that_is_not_there_names_those_that_are(tiny: NodeData) -> None:
    with pytest.raises(InputError, match=r"unknown split 'fixd'; did you mean 'fixed'\?"):
        tiny.split("fixd")
    with pytest.raises(InputError, match="'three' came without splits"):
        built().split("fixed")


def test_a_split_is_added_to_a_copy_under_its_own_name_and_checked(tiny: NodeData) -> None:
    split = Split("mine", [0], [1], [2])
    assert tiny.with_split(split).split("mine") == split
    assert "mine" not in tiny.splits
    with pytest.raises(InputError, match="99"):
        tiny.with_split(Split("far", [0], [1], [99]))
