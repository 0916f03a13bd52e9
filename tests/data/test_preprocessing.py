"""What was fitted is saved as JSON and makes the features of new nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from agnn import DataError, NodeData, from_pandas, read_tables
from agnn.data.preprocessing import Preprocessing
from own_tables import write_tables


@pytest.fixture
def people(tmp_path: Path) -> NodeData:
    return read_tables(*write_tables(tmp_path), label="topic", text="motto")


def fitted(data: NodeData) -> Preprocessing:
    assert data.preprocessing is not None
    return data.preprocessing


def test_json_and_back_is_the_same(people: NodeData) -> None:
    saved = json.loads(json.dumps(fitted(people).to_dict()))
    assert Preprocessing.from_dict(saved) == fitted(people)


def test_new_nodes_get_the_old_means_values_and_words(people: NodeData) -> None:
    nodes = pd.DataFrame(
        {"id": ["q1", "q2"], "age": [50.0, None], "colour": ["green", "pink"],
         "motto": ["paint unheard things", "run"]}
    )  # fmt: skip
    edges = pd.DataFrame({"source": ["q1"], "target": ["q2"]})
    data = from_pandas(nodes, edges, preprocessing=fitted(people), class_names=people.class_names)
    names = fitted(people).feature_names
    new, old = (dict(zip(names, each.features.toarray().T, strict=True)) for each in (data, people))
    assert new["age"].tolist() == [old["age"][30], 0.0]
    assert new["age is missing"].tolist() == [0.0, 1.0]
    assert [new[f"colour = {c}"].tolist() for c in ("blue", "green", "red")] == [
        [0, 0], [1, 0], [0, 0],
    ]  # fmt: skip
    assert new["motto: paint"].tolist() == [1.0, 0.0], "one known word is all of the row"
    assert (data.classes, data.labelled.size) == (2, 0)


def test_words_are_scikit_learn_s() -> None:
    texts = ["deep nets learn", "nets of nets of nets", "tables", ""]
    nodes = pd.DataFrame({"id": range(4), "say": texts})
    data = from_pandas(nodes, pd.DataFrame({"a": [0, 1], "b": [1, 2]}), text="say")
    expected = TfidfVectorizer(sublinear_tf=True).fit_transform(texts).toarray()
    np.testing.assert_allclose(data.features.toarray(), expected, rtol=1e-6)
    assert data.scaled_features("sum").toarray().sum(axis=1) == pytest.approx([1, 1, 1, 0])


def test_a_missing_column_is_named(people: NodeData) -> None:
    nodes = pd.DataFrame({"id": ["q1", "q2"], "colour": ["red", "red"]})
    edges = pd.DataFrame({"source": ["q1"], "target": ["q2"]})
    with pytest.raises(DataError, match="`nodes` has no column 'age', and the model needs it"):
        from_pandas(nodes, edges, preprocessing=fitted(people))


def changed(people: NodeData, block: int, **fields: Any) -> dict[str, Any]:
    saved = json.loads(json.dumps(fitted(people).to_dict()))
    saved["blocks"][block].update(fields)
    return saved


@pytest.mark.parametrize(
    ("block", "fields", "said"),
    [
        (0, {"kind": "code"}, "KeyError"),
        (0, {"means": [1.0, 2.0]}, "its lists differ in length"),
        (0, {"means": ["one"]}, "'means' must hold numbers"),
        (0, {"extra": 1}, "unexpected keyword"),
        (1, {"values": [1, 2, 3]}, "'values' must hold text"),
        (2, {"idf": [1.0]}, "its lists differ in length"),
    ],
)
def test_damaged_json_is_refused(
    people: NodeData, block: int, fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(DataError, match=f"this saved preprocessing is damaged: .*{said}"):
        Preprocessing.from_dict(changed(people, block, **fields))


def test_anything_else_is_no_preprocessing() -> None:
    with pytest.raises(DataError, match="must have 'format': 'agnn-preprocessing-1'"):
        Preprocessing.from_dict({"blocks": []})
