"""Nodes that come later stand behind the old ones, with features made as theirs were."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from agnn import DataError, InputError, NodeData, from_pandas, read_tables
from agnn.data import Split, with_new_nodes
from agnn.data._features import structure_columns
from own_tables import PEOPLE, write_tables


@pytest.fixture
def people(tmp_path: Path) -> NodeData:
    return read_tables(*write_tables(tmp_path), label="topic", text="motto")


def newcomers(**changes: list[object]) -> pd.DataFrame:
    columns = {
        "id": ["q1", "q2"], "age": [50, 51], "colour": ["red", "blue"], "motto": ["paint", "run"]
    }  # fmt: skip
    return pd.DataFrame(columns | changes)


LINKS = pd.DataFrame({"source": ["q1", "q2", "q1"], "target": ["p0", "q1", "p0"]})


def test_old_nodes_stay_where_they_are_and_new_ones_follow(people: NodeData) -> None:
    split = Split("mine", [0], [1], [2])
    data = with_new_nodes(people.with_split(split), newcomers(), LINKS)
    assert data.node_ids == (*people.node_ids, "q1", "q2")
    assert data.labels.tolist() == [*people.labels, -1, -1]
    assert (data.features[:PEOPLE] != people.features).nnz == 0
    old = [tuple(pair) for pair in people.edges.T.tolist()]
    assert [tuple(pair) for pair in data.edges.T.tolist()] == sorted([*old, (0, 60), (60, 61)])
    assert data.split("mine") == split
    assert data.reading is not None
    assert "1 repeated edge dropped" in "\n".join(data.reading.notes)


def test_features_are_made_with_the_old_means_and_words(people: NodeData) -> None:
    data = with_new_nodes(people, newcomers(), LINKS)
    assert people.preprocessing is not None
    names = people.preprocessing.feature_names
    age = data.features[:, [names.index("age")]].toarray()[:, 0]
    assert age[60] == age[30], "both are 50"
    assert data.features[60, names.index("motto: paint")] == 1


def test_files_do_as_well(people: NodeData, tmp_path: Path) -> None:
    newcomers().to_csv(tmp_path / "new.csv", index=False)
    LINKS.to_csv(tmp_path / "links.csv", index=False)
    data = with_new_nodes(people, tmp_path / "new.csv", tmp_path / "links.csv")
    assert data.fingerprint == with_new_nodes(people, newcomers(), LINKS).fingerprint


def test_structural_features_follow_the_larger_graph() -> None:
    nodes = pd.DataFrame({"id": [0, 1, 2]})
    data = from_pandas(nodes, pd.DataFrame({"a": [0, 1], "b": [1, 2]}))
    more = with_new_nodes(data, pd.DataFrame({"id": [7]}), pd.DataFrame({"a": [7], "b": [1]}))
    raw = structure_columns(more.edges, 4)
    old = structure_columns(data.edges, 3)
    scale = old.std(axis=0)
    scale[scale == 0] = 1
    expected = (raw - old.mean(axis=0)) / scale
    assert more.features.toarray() == pytest.approx(expected, rel=1e-5)


def test_an_id_that_is_there_already_is_refused(people: NodeData) -> None:
    with pytest.raises(DataError, match="`nodes`, column 'id', row 2: the id 'p3' is in 'nodes'"):
        with_new_nodes(people, newcomers(id=["q1", "p3"]), LINKS)


def test_an_edge_to_nobody_is_refused_unless_dropped(people: NodeData) -> None:
    links = pd.DataFrame({"source": ["q1", "q1"], "target": ["p0", "x"]})
    with pytest.raises(DataError, match=r"`edges`: 1 of 2 edges name an id .* row 2 'x'"):
        with_new_nodes(people, newcomers(), links)
    data = with_new_nodes(people, newcomers(), links, drop_unknown=True)
    assert data.report.dropped_edges == 1


def test_data_that_came_from_no_table_takes_no_new_nodes(cora: NodeData) -> None:
    with pytest.raises(InputError, match="'cora' was not made from a table"):
        with_new_nodes(cora, newcomers(), LINKS)
