"""Whatever the tables: ids come back, the order of the edges is nothing, edges are undirected."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from agnn import DataError, from_pandas, read_tables
from agnn.data.preprocessing import Preprocessing

LETTERS = st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp"))
WORDS = st.text(LETTERS, min_size=1, max_size=6).filter(lambda word: word == word.strip())
IDS = st.one_of(
    st.lists(WORDS, min_size=2, max_size=12, unique=True),
    st.lists(st.integers(-(2**60), 2**60), min_size=2, max_size=12, unique=True),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=9, unique=True),
)


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    """Ids, labels (None where there is none), numbers and pairs of positions."""
    ids = draw(IDS)
    n = len(ids)
    labels = draw(st.lists(st.sampled_from(["a", "b", None]), min_size=n, max_size=n))
    labels[0] = "a"
    numbers = st.floats(-1e6, 1e6, allow_subnormal=False) | st.none()
    column = draw(st.lists(numbers, min_size=n, max_size=n))
    place = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(place, place), min_size=1, max_size=30))
    return {"ids": ids, "labels": labels, "column": column, "pairs": pairs}


def series(values: list[Any]) -> pd.Series:
    return pd.Series(values, dtype=object).infer_objects()


def frames(
    table: dict[str, Any], pairs: list[tuple[int, int]]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    ids = table["ids"]
    nodes = pd.DataFrame({"id": series(ids), "y": table["labels"], "x": table["column"]})
    ends = zip(*[(ids[i], ids[j]) for i, j in pairs], strict=True)
    source, target = (series(list(end)) for end in ends)
    return nodes, pd.DataFrame({"source": source, "target": target})


@given(tables(), st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_ids_come_back_and_edges_are_the_set_of_unordered_pairs_in_any_order(
    table: dict[str, Any], random: Any
) -> None:
    data = from_pandas(*frames(table, table["pairs"]), label="y")
    assert list(data.node_ids) == table["ids"]
    expected = sorted({(min(pair), max(pair)) for pair in table["pairs"] if pair[0] != pair[1]})
    assert [tuple(pair) for pair in data.edges.T.tolist()] == expected
    turned = [pair[::-1] if random.random() < 0.5 else pair for pair in table["pairs"]]
    random.shuffle(turned)
    again = from_pandas(*frames(table, turned), label="y")
    assert again.edges.tolist() == data.edges.tolist()
    assert again.labels.tolist() == data.labels.tolist()


@given(tables())
@settings(max_examples=30, deadline=None)
def test_blank_labels_are_unlabelled_and_all_others_keep_their_name(table: dict[str, Any]) -> None:
    data = from_pandas(*frames(table, table["pairs"]), label="y")
    names = [data.class_names[code] if code >= 0 else None for code in data.labels]
    assert names == table["labels"]
    assert data.report.unlabelled == table["labels"].count(None)


@given(tables())
@settings(max_examples=30, deadline=None)
def test_features_are_finite_and_saved_preprocessing_makes_the_same_ones(
    table: dict[str, Any],
) -> None:
    pair = frames(table, table["pairs"])
    data = from_pandas(*pair, label="y")
    assert np.isfinite(data.features.data).all()
    assert data.preprocessing is not None
    again = Preprocessing.from_dict(data.preprocessing.to_dict())
    twin = from_pandas(*pair, label="y", preprocessing=again)
    assert twin.fingerprint == data.fingerprint


@given(st.lists(WORDS, min_size=2, max_size=9, unique=True))
@settings(max_examples=20, deadline=None)
def test_a_csv_that_pandas_writes_gives_the_ids_it_wrote(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        nodes, edges = Path(folder) / "n.csv", Path(folder) / "e.csv"
        pd.DataFrame({"id": names, "x": range(len(names))}).to_csv(nodes, index=False)
        ends = {"source": names[:-1], "target": names[1:]}
        pd.DataFrame(ends).to_csv(edges, index=False)
        data = read_tables(nodes, edges)
    assert list(data.node_ids) == names
    assert data.edges.shape[1] == len(names) - 1


@given(tables(), st.data())
@settings(max_examples=20, deadline=None)
def test_an_id_in_two_rows_that_differ_is_always_refused(
    table: dict[str, Any], draw: st.DataObject
) -> None:
    nodes, edges = frames(table, table["pairs"])
    row = draw.draw(st.integers(0, len(nodes) - 1))
    doubled = pd.concat([nodes, nodes.iloc[[row]]], ignore_index=True)
    doubled["place"] = range(len(doubled))
    with pytest.raises(DataError, match=f"rows {row + 1}, {len(nodes) + 1}"):
        from_pandas(doubled, edges, label="y")
