"""Nodes that come later stand behind the old ones, with features made as theirs were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from agnn import DataError, InputError, NodeData, from_pandas, read_tables
from agnn.data import Split, _edges
from agnn.data._features import position_columns, structure_columns
from agnn.data.tables import with_new_nodes
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
    assert "1 repeated entry" in "\n".join(data.reading.notes)


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
    measures = (structure_columns, position_columns)
    raw = np.concatenate([measure(more.edges, 4) for measure in measures], axis=1)
    old = np.concatenate([measure(data.edges, 3) for measure in measures], axis=1)
    scale = old.std(axis=0)
    scale[scale == 0] = 1
    expected = (raw - old.mean(axis=0)) / scale
    assert more.features.toarray() == pytest.approx(expected, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    ("old", "new"),
    [([1, 2, 3], ["4", "5"]), (["1", "2", "3"], [4, 5]), ([1.0, 2.0, 3.0], ["4", "5"])],
)
def test_ids_that_are_numbers_in_one_table_and_text_in_another_match(
    old: list[object], new: list[object], tmp_path: Path
) -> None:
    frames = pd.DataFrame({"id": old, "x": [0.5, 1.5, 4]}), pd.DataFrame({"a": [1, 2], "b": [2, 3]})
    data = from_pandas(*frames)
    assert data.edges.T.tolist() == [[0, 1], [1, 2]]
    links = pd.DataFrame({"a": ["4", "5"], "b": ["1", "4"]})
    nodes = pd.DataFrame({"id": new, "x": [1.0, 2.0]})
    for some in (links, links.astype(int), links.astype("category")):
        grown = with_new_nodes(data, nodes, some)
        assert grown.node_ids == (*data.node_ids, *new)
        assert grown.edges.T.tolist() == [[0, 1], [0, 3], [1, 2], [3, 4]]
    nodes.to_csv(tmp_path / "n.csv", index=False)
    links.to_csv(tmp_path / "e.csv", index=False)
    read = with_new_nodes(data, tmp_path / "n.csv", tmp_path / "e.csv")
    assert read.edges.tolist() == grown.edges.tolist()
    with pytest.raises(DataError, match=r"row 1: the id '?3'? is in 'frames' already"):
        with_new_nodes(data, nodes.assign(id=[type(new[0])(3), new[1]]), links)


def test_ids_with_the_same_text_match_only_as_they_are() -> None:
    ids = pd.Series([7, "7", "8"], dtype=object)
    nodes = pd.DataFrame({"id": ids, "x": [0.5, 1.5, 4]})
    data = from_pandas(nodes, pd.DataFrame({"a": ids[:2], "b": ids[1:].tolist()}, dtype=object))
    assert data.edges.T.tolist() == [[0, 1], [1, 2]]
    assert (data.index_of(7), data.index_of("7"), data.index_of(8)) == (0, 1, None)
    with pytest.raises(DataError, match=r"1 of 1 edges name an id that is not in .*: row 1 8 in"):
        from_pandas(nodes, pd.DataFrame({"a": pd.Series([8], dtype=object), "b": [7]}))


def test_an_id_is_found_by_value_or_by_text_and_what_is_no_id_is_not(people: NodeData) -> None:
    assert people.index_of("p3") == 3
    nodes, links = pd.DataFrame({"id": [5, 6], "x": [0.5, 1]}), pd.DataFrame({"a": [5], "b": [6]})
    numbered = from_pandas(nodes, links)
    assert [numbered.index_of(each) for each in (6, "6", 6.0)] == [1, 1, 1]
    assert [numbered.index_of(each) for each in ("06", [6], None)] == [None, None, None]


def test_an_id_that_is_there_already_is_refused(people: NodeData) -> None:
    with pytest.raises(DataError, match="`nodes`, column 'id', row 2: the id 'p3' is in 'nodes'"):
        with_new_nodes(people, newcomers(id=["q1", "p3"]), LINKS)


def test_an_edge_to_nobody_is_refused_unless_dropped(people: NodeData) -> None:
    links = pd.DataFrame({"source": ["q1", "q1"], "target": ["p0", "x"]})
    with pytest.raises(DataError, match=r"`edges`: 1 of 2 edges name an id .* row 2 'x'"):
        with_new_nodes(people, newcomers(), links)
    data = with_new_nodes(people, newcomers(), links, drop_unknown=True)
    assert data.report.dropped_edges == 1


def test_one_new_node_does_not_sort_the_edges_of_the_old_graph_again(
    people: NodeData, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []

    def watched(keys: Any) -> Any:
        sizes.append(keys.size)
        return distinct(keys)

    distinct = _edges._distinct
    monkeypatch.setattr(_edges, "_distinct", watched)
    grown = with_new_nodes(people, newcomers(), LINKS)
    assert max(sizes) <= len(LINKS)
    monkeypatch.undo()
    again = NodeData.build(
        name=people.name, features=grown.features, labels=grown.labels, edges=grown.edges[:, ::-1],
        class_names=grown.class_names, node_ids=grown.node_ids,
    )  # fmt: skip
    assert again.fingerprint == grown.fingerprint


def test_features_edges_and_ids_can_be_given_as_arrays(cora: NodeData) -> None:
    row = sparse.csr_array(cora.features[[0]])
    grown = cora.with_new_nodes(row, np.array([[2708, 5], [5, 2708]]), ["new"])
    assert grown.edges.shape[1] == cora.edges.shape[1] + 1
    assert (grown.features[[2708]] != row).nnz == 0
    assert (grown.labels[-1], grown.node_ids[-1]) == (-1, "new")
    assert grown.split("fixed") is cora.split("fixed")
    with pytest.raises(DataError, match="the id '1131150' is in 'cora' already"):
        cora.with_new_nodes(row, np.empty((2, 0), dtype=int), ["1131150"])
    with pytest.raises(DataError, match="ends at a node that does not exist"):
        cora.with_new_nodes(row, np.array([[2709], [0]]), ["new"])


def test_data_that_came_from_no_table_takes_no_new_nodes(cora: NodeData) -> None:
    with pytest.raises(InputError, match="'cora' was not made from a table"):
        with_new_nodes(cora, newcomers(), LINKS)
