"""What-if in the explorer's answers: every number is that of the run on the changed graph."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from agnn.data import NodeData
from agnn.explanation import Margin, Removal, own_features
from agnn.methods import get_method
from agnn.runs import KnownResults, Run, evaluate
from agnn.web._asgi import Application
from agnn.web.explore import Explorer, explore_app
from explore_runs import ALONE, explored_data
from path_definitions import path_attention

TARGET = 100


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    data = explored_data()
    methods = [get_method("agnn")(epochs=20, layers=3), get_method("gcn")(epochs=20)]
    return [evaluate(method, data, "fixed", seeds=range(2)) for method in methods]


@pytest.fixture(scope="module")
def app(runs: list[Run]) -> Application:
    explorer = Explorer(runs)
    explorer.prepare()
    return explore_app(explorer)


@pytest.fixture
def get(app: Application, ask: Any) -> Any:
    def got(name: str, status: int = 200, **parameters: Any) -> Any:
        parameters = {key.rstrip("_"): value for key, value in parameters.items()}
        response = ask(app, "GET", f"/api/{name}", params=parameters)
        assert response.status_code == status, response.text
        return json.loads(response.text, parse_constant=lambda word: pytest.fail(word))

    return got


def beside(data: NodeData, node: int) -> list[int]:
    return [int(i + j - node) for i, j in data.edges.T if node in (i, j)]


def changed(run: Run, gone: int, column: int) -> Run:
    """The run on data that was built anew: one edge less, one to ALONE more, one feature less."""
    data, features = run.data, run.data.features.toarray()
    features[TARGET, column] = 0
    kept = [set(pair) != {TARGET, gone} for pair in data.edges.T.tolist()]
    edges = np.hstack([data.edges[:, kept], [[TARGET], [ALONE]]])
    other = NodeData.build(
        name="other", features=features, labels=data.labels, edges=edges,
        class_names=data.class_names, node_ids=data.node_ids,
    )  # fmt: skip
    return Run(
        data=other, method=run.method, splits=run.splits, seeds=run.seeds, accuracy=run.accuracy,
        model=run.model, known=KnownResults(temperature=run.temperature),
    )  # fmt: skip


@pytest.fixture
def question(runs: list[Run]) -> dict[str, str]:
    gone = beside(runs[0].data, TARGET)[0]
    column = int(runs[0].data.features[[TARGET]].indices[0])
    return {"without": f"{TARGET}-{gone}", "with_": f"{TARGET}-{ALONE}",
            "drop": f"{TARGET}-{column}"}  # fmt: skip


@pytest.mark.parametrize("replica", [None, 1])
def test_attention_contributions_and_prediction_follow_all_changes(
    get: Any, runs: list[Run], question: dict[str, str], replica: int | None
) -> None:
    more = {} if replica is None else {"replica": replica}
    found = get("around", node=f"paper {TARGET}", hops=2, limit=600, **question, **more)
    gone, column = (int(question[key].split("-")[1]) for key in ("without", "drop"))
    for side, run in zip(found["sides"], runs, strict=True):
        other = changed(run, gone, column)
        chosen = slice(None) if replica is None else replica
        expected = other.scores[replica, TARGET].numpy() if replica is not None else None
        chances = other.probabilities[TARGET] if expected is None else expected
        assert side["probabilities"] == pytest.approx(chances.tolist(), abs=2e-6)
        before = run.probabilities if replica is None else run.scores[replica].numpy()
        assert side["before"] == pytest.approx(before[TARGET].tolist(), abs=2e-6)
        nodes, weights = path_attention(other, TARGET)
        share = (weights / weights.sum(1, keepdim=True))[chosen].numpy()
        share = dict(zip(nodes.tolist(), share.mean(0) if replica is None else share, strict=True))
        lead = Margin.of(other, TARGET, replica=replica)
        added = dict(zip(lead.nodes.tolist(), lead.added, strict=True))
        for dot in side["nodes"]:
            assert dot["share"][0] == pytest.approx(share.get(dot["index"], 0), abs=6e-6)
            assert dot["contribution"] == pytest.approx(added.get(dot["index"], 0), abs=6e-5)
        drawn = {dot["index"]: dot for dot in side["nodes"]}
        assert drawn[ALONE]["hop"] == 1, "joined to the target by the new edge"
        pairs = [{side["nodes"][end]["index"] for end in link["ends"]} for link in side["links"]]
        assert {TARGET, ALONE} in pairs
        assert pairs.count({TARGET, gone}) == 1, "drawn, as a removed one"
    assert found["names"]["nodes"][str(ALONE)] == f"paper {ALONE}"
    assert found["names"]["features"] == {str(column): f"feature {column}"}


def test_without_changes_nothing_is_said_of_before(get: Any) -> None:
    side = get("around", node=f"paper {TARGET}")["sides"][0]
    assert "before" not in side
    assert not any(dot.get("is_gone") for dot in side["nodes"])


def test_a_node_that_only_a_removed_edge_held_stays_where_it_was(get: Any, runs: list[Run]) -> None:
    leaf = next(
        node for node in range(1, runs[0].data.nodes)
        if len(beside(runs[0].data, node)) == 1 and runs[0].data.labels[node] >= 0
    )  # fmt: skip
    (hub,) = beside(runs[0].data, leaf)
    node = str(runs[0].data.node_ids[hub])
    whole = get("around", node=node, hops=1, limit=600)["sides"][0]
    found = get("around", node=node, hops=1, limit=600, without=f"{leaf}-{hub}")["sides"][0]
    (ghost,) = [dot for dot in found["nodes"] if dot.get("is_gone")]
    was = next(dot for dot in whole["nodes"] if dot["index"] == leaf)
    assert ghost["index"] == leaf
    assert (ghost["share"][0], ghost["contribution"], ghost["parent"]) == (0, 0, 0)
    assert ghost["place"] == pytest.approx(was["place"], abs=1e-3)
    assert {"index", "id", "label", "answer", "radius"} <= ghost.keys()
    assert len(ghost["radius"]) == len(was["radius"])


def test_removals_counterfactuals_and_features_are_those_of_the_changed_graph(
    get: Any, runs: list[Run], question: dict[str, str]
) -> None:
    gone, column = (int(question[key].split("-")[1]) for key in ("without", "drop"))
    other = changed(runs[0], gone, column)
    pairs = [(TARGET, node) for node in beside(other.data, TARGET)[:3]]
    words = ",".join(f"{i}-{j}" for i, j in pairs)
    found = get("removals", node=f"paper {TARGET}", edges=words, **question)["effects"][0]
    assert found == pytest.approx(Removal(other, TARGET).effects(pairs).tolist(), abs=2e-6)
    edges = get("change", node=f"paper {TARGET}", **question)["edges"]
    assert all([TARGET, gone] != edge for edge in edges)
    own = get("features", node=f"paper {TARGET}", **question)
    expected = own_features(other, TARGET, TARGET)
    assert own["count"] == len(expected)
    assert column not in [each["column"] for each in own["features"]]
    assert [each["value"] for each in own["features"]] == pytest.approx(
        [each.value for each in expected], abs=1e-5
    )
    beside_it = get("features", node=f"paper {TARGET}", of=gone)
    assert beside_it["count"] == runs[0].data.features[[gone]].nnz


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("around", {"with_": "1"}, "`with` must look like 12-40,12-77; got '1'"),
        ("around", {"drop": "a-b"}, "`drop` must look like 12-40,12-77"),
        ("around", {"with_": f"{TARGET}-{TARGET}"}, f"`added` joins node {TARGET} to itself"),
        ("around", {"with_": f"{TARGET}-9999999"}, "`added` names node 9999999; the graph has 0"),
        ("around", {"drop": f"{TARGET}-99"}, "`dropped` names feature 99 of node"),
        ("around", {"drop": "9999999999-1"}, "`dropped` names feature 1 of node 9999999999"),
        ("around", {"without": f"0-{TARGET}"}, "is named, which the graph does not have"),
        ("change", {"without": "1-1"}, "`removed` joins node 1 to itself"),
        ("features", {"of": 999}, "`node` must be an index from 0 to"),
        ("features", {"drop": "x"}, "`drop` must look like"),
        ("removals", {"with_": "5-5"}, "`added` joins node 5 to itself"),
        ("around", {"betas": "1e999,0,0"}, "`betas` must be from -1000 to 1000"),
    ],
)
def test_changes_that_cannot_be_made_are_refused_in_a_sentence(
    get: Any, name: str, parameters: dict[str, Any], words: str
) -> None:
    found = get(name, 422, node=f"paper {TARGET}", **parameters)["error"]
    assert words in found
    assert "\n" not in found
