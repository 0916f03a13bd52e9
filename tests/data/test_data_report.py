"""The report says what is in the data, what is odd and what is hopeless."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from agnn import DataError, NodeData, from_pandas, read_tables
from own_tables import write_tables


@pytest.fixture
def people(tmp_path: Path) -> NodeData:
    return read_tables(*write_tables(tmp_path), label="topic")


def test_the_figures_follow_from_the_tables(people: NodeData) -> None:
    report = people.report
    assert (report.name, report.nodes, report.edges) == ("nodes", 60, people.edges.shape[1])
    assert report.classes == {"art": 30, "sport": 20}
    assert report.unlabelled == 10
    assert (report.raw_edge_entries, report.duplicate_edges, report.self_loops) == (61, 1, 1)
    assert report.homophily == 1.0
    isolated = next(each for each in report.oddities if each.what == "nodes without an edge")
    assert (isolated.count, isolated.examples) == (1, ("p59",))


def test_it_is_json_with_the_ids_in_it(people: NodeData) -> None:
    values = json.loads(json.dumps(people.report.to_dict()))
    assert values["oddities"][0]["examples"] == ["p59"]
    assert values["reading"]["columns"][0] == {
        "table": "nodes", "name": "id", "use": "id", "detail": "by its name"
    }  # fmt: skip
    assert values["obstacle"] is None


def test_ids_that_json_does_not_know_are_text() -> None:
    data = NodeData.build(
        name="t", features=np.ones((2, 1)), labels=[0, 1], edges=np.empty((2, 0), int),
        class_names=("a", "b"), node_ids=((0, 1), 5),
    )  # fmt: skip
    values = json.loads(json.dumps(data.report.to_dict()))
    assert values["oddities"][0]["examples"] == ["(0, 1)", 5]


def test_bundled_data_has_a_report_too(cora: NodeData) -> None:
    report = cora.report
    assert report.homophily == pytest.approx(0.81, abs=0.005)
    assert report.splits["fixed"] == {"train": 140, "validation": 500, "test": 1000}
    assert report.reading is None


def own(labels: list[str]) -> NodeData:
    n = len(labels)
    nodes = pd.DataFrame({"id": range(n), "y": labels, "x": [0.0, *range(1, n)]})
    edges = pd.DataFrame({"source": range(n - 1), "target": range(1, n)})
    return from_pandas(nodes, edges, label="y")


def test_rare_classes_and_empty_rows_are_named() -> None:
    data = own(["a"] * 5 + ["b"] * 2 + ["c"])
    odd = {each.what: each.examples for each in data.report.oddities}
    assert odd["classes with fewer than 10 labelled nodes"] == ("c 1", "b 2", "a 5")
    assert "classes with fewer than 10 labelled nodes" not in {
        each.what for each in own(["a"] * 10 + ["b"] * 10).report.oddities
    }
    blank = NodeData.build(
        name="t", features=[[1], [0]], labels=[0, -1], edges=[[0], [1]], class_names=("a", "b")
    )
    odd = {each.what: each.examples for each in blank.report.oddities}
    assert odd["nodes whose features are all zero"] == ("1",)
    assert odd["classes without a labelled node"] == ("b",)
    assert blank.report.homophily is None


def test_no_labels_and_one_class_are_hopeless() -> None:
    one = own(["a", "a", "", "a"])
    assert "has one class, 'a', in all 3 labelled nodes" in str(one.report.obstacle)
    with pytest.raises(DataError, match="there is nothing to distinguish"):
        one.check_learnable()
    none = from_pandas(pd.DataFrame({"id": [1, 2]}), pd.DataFrame({"source": [1], "target": [2]}))
    with pytest.raises(DataError, match="'frames' has no labels: name the column"):
        none.check_learnable()
    own(["a", "b", "", "a"]).check_learnable()


def test_hundreds_of_columns_do_not_fill_the_screen() -> None:
    draw = np.random.default_rng(0)
    columns = {f"c{k}": draw.normal(size=30) for k in range(500)}
    for k in range(100):
        columns[f"c{k}"][3] = 1e9 * (k + 1)  # a note each: far from all others
    nodes = pd.DataFrame({"id": range(30), "y": ["a", "b"] * 15, **columns})
    edges = pd.DataFrame({"source": range(29), "target": range(1, 30)})
    report = from_pandas(nodes, edges, label="y").report
    numbers = [words for name, words in report.column_lines() if name == "nodes: number"]
    assert len(numbers) == 13
    assert numbers[-1] == "and 488 more columns; `agnn inspect --json` lists all"
    notes = [words for name, words in report.warning_lines() if name == "note"]
    assert len(notes) == 21
    assert "more notes; `agnn inspect --json` lists all" in notes[-1]
    assert len(report.to_dict()["reading"]["columns"]) == 504
