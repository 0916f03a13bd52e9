"""What the API answers: the model's own predictions and reasons, for known nodes and new ones."""

from __future__ import annotations

import asyncio
import html
import json
import re
import shlex
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest

from agnn import (
    NodeClassifier,
    __version__,
    evaluate,
    from_pandas,
    get_method,
    read_tables,
    save_run,
)
from agnn.data.tables import with_new_nodes
from agnn.explanation import explain
from agnn.runs import load_run
from agnn.web._asgi import Application
from agnn.web.api import ServedModel, ServeOptions, served_application
from own_tables import write_tables

NEW = {
    "nodes": [
        {"id": "q1", "columns": {"age": 50, "colour": "red", "motto": "paint"}},
        {"id": "q2", "columns": {"age": 51.5, "colour": "blue", "motto": "run and jump"}},
        {"id": 7, "columns": {"age": None, "colour": None, "motto": None}},
    ],
    "edges": [["q1", "p0"], ["q2", "q1"], ["p3", "q2"], [7, "p1"], [7, "7"], ["q1", "p0"]],
}


@pytest.fixture(scope="module")
def model(runs: Any) -> NodeClassifier:
    return NodeClassifier.load(runs / "tables")


def check(found: list[dict[str, Any]], ids: list[Any], model: NodeClassifier, data: Any) -> None:
    """That predictions are those of the classifier for the nodes with these ids."""
    places = [data.node_ids.index(each) for each in ids]
    probabilities = model.predict_proba(data)[places]
    assert [each["id"] for each in found] == ids
    assert [each["prediction"] for each in found] == model.predict(data)[places].tolist()
    assert [list(each["probabilities"]) for each in found] == [["art", "sport"]] * len(ids)
    rows = [list(each["probabilities"].values()) for each in found]
    np.testing.assert_allclose(rows, probabilities, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose([each["probability"] for each in found], probabilities.max(1))
    differ = model.disagreement(data)[places].tolist()
    assert [each["disagreement"] for each in found] == differ


def served_frames(folder: Path, nodes: Any, edges: Any, **options: Any) -> Application:
    """A small model of these tables, as it is served."""
    data = from_pandas(nodes, edges, label="y", **options)
    save_run(evaluate(get_method("gcn")(epochs=5), data, "stratified", [0]), folder / "run")
    return served_application(ServedModel(load_run(folder / "run")))


def test_known_nodes_get_the_models_predictions_in_their_order(
    app: Application, ask: Any, model: NodeClassifier
) -> None:
    ids = ["p7", "p59", "p0", "p7"]
    answer = ask(app, "POST", "/predict", json={"ids": ids})
    assert answer.status_code == 200
    check(answer.json()["predictions"], ids, model, model.run_.data)


def test_new_nodes_get_what_predict_says_in_the_larger_graph(
    app: Application, ask: Any, model: NodeClassifier
) -> None:
    answer = ask(app, "POST", "/predict/new", json=NEW)
    assert answer.status_code == 200, answer.text
    ids = [node["id"] for node in NEW["nodes"]]
    table = pd.DataFrame([{"id": node["id"], **node["columns"]} for node in NEW["nodes"]])
    edges = [[7 if end == "7" else end for end in edge] for edge in NEW["edges"]]
    links = pd.DataFrame(edges, columns=["source", "target"])
    data = with_new_nodes(model.run_.data, table, links)
    check(answer.json()["predictions"], ids, model, data)


def test_new_nodes_need_no_edges_and_change_nothing(app: Application, ask: Any) -> None:
    before = ask(app, "POST", "/predict", json={"ids": ["p0", "p1"]}).json()
    alone = ask(app, "POST", "/predict/new", json={"nodes": NEW["nodes"][:1]})
    linked = ask(app, "POST", "/predict/new", json=NEW)
    assert alone.status_code == linked.status_code == 200
    assert alone.json()["predictions"][0] != linked.json()["predictions"][0]
    assert ask(app, "POST", "/predict", json={"ids": ["p0", "p1"]}).json() == before
    assert ask(app, "POST", "/predict", json={"ids": ["q1"]}).status_code == 404


def test_whole_numbers_among_names_are_names(tmp_path: Any, ask: Any) -> None:
    nodes = pd.DataFrame(
        {"id": range(30), "y": ["a", "b"] * 15, "kind": [1, 2] * 15, "x": np.arange(30) % 7}
    )
    edges = pd.DataFrame({"source": range(28), "target": range(2, 30)})
    app = served_frames(tmp_path, nodes, edges, category=["kind"])
    bodies = [
        {"nodes": [{"id": 99, "columns": {"kind": kind, "x": 3}}], "edges": [[99, end]]}
        for kind, end in ((1, 4), ("1", "4"), (2, 4))
    ]
    # Beside a node whose kind is not known: pandas makes 1.0 of the 1 there.
    bodies[0]["nodes"].append({"id": 98, "columns": {"kind": None, "x": 3}})
    found = [ask(app, "POST", "/predict/new", json=body).json()["predictions"] for body in bodies]
    found[0].pop()
    assert found[0] == found[1]
    assert found[0] != found[2]
    assert found[0][0]["id"] == 99
    # Known ids are found as numbers and as text, and come back as they are.
    answers = ask(app, "POST", "/predict", json={"ids": [4, "4"]}).json()["predictions"]
    assert answers[0] == answers[1]
    assert answers[0]["id"] == 4


def test_counts_that_are_left_out_are_none(tmp_path: Any, ask: Any) -> None:
    words = {f"w{k}": [int(i % 25 == k) for i in range(50)] for k in range(25)}
    nodes = pd.DataFrame({"id": [f"n{i}" for i in range(50)], "y": ["a", "b"] * 25, **words})
    edges = pd.DataFrame({"source": nodes["id"][:-1].tolist(), "target": nodes["id"][1:].tolist()})
    app = served_frames(tmp_path, nodes, edges)
    few, all_of_them = {"w3": 2}, {name: 2 * int(name == "w3") for name in words}
    found = [
        ask(app, "POST", "/predict/new", json={"nodes": [{"id": "q", "columns": columns}]}).json()
        for columns in (few, all_of_them, {"w4": 2})
    ]
    assert found[0] == found[1] != found[2]


def test_reasons_are_those_of_the_explanation(app: Application, ask: Any, runs: Any) -> None:
    answer = ask(app, "GET", "/explain", params={"node": "p4", "limit": 3})
    assert answer.status_code == 200
    opened = load_run(runs / "tables")
    expected = explain(opened, opened.node("p4"), limit=3).to_dict()
    assert answer.json() == json.loads(json.dumps(expected))


def test_a_method_without_a_network_predicts_and_says_what_it_cannot(
    served: dict[str, ServedModel], runs: Any, ask: Any
) -> None:
    app = served_application(served["spread"])
    model = NodeClassifier.load(runs / "spread")
    found = ask(app, "POST", "/predict", json={"ids": ["p1", "p2"]}).json()["predictions"]
    check(found, ["p1", "p2"], model, model.run_.data)
    reasons = ask(app, "GET", "/explain?node=p1")
    assert (reasons.status_code, list(reasons.json())) == (409, ["error"])
    assert "has no trained network" in reasons.json()["error"]
    new = ask(app, "POST", "/predict/new", json=NEW)
    assert new.status_code == 409
    assert "has no model that could predict new nodes" in new.json()["error"]
    facts = ask(app, path="/model").json()
    assert (facts["explains"], facts["takes_new_nodes"], facts["columns"]) == (False, False, [])


def test_a_graph_that_came_from_arrays_takes_no_new_nodes(
    served: dict[str, ServedModel], ask: Any
) -> None:
    app = served_application(served["arrays"])
    answer = ask(app, "POST", "/predict/new", json={"nodes": [{"id": "x", "columns": {}}]})
    assert answer.status_code == 409
    assert answer.json() == {"error": "'toy' was not made from a table: new nodes cannot be added."}
    assert ask(app, "POST", "/predict", json={"ids": ["3"]}).status_code == 200


def test_the_model_says_what_it_is(app: Application, ask: Any) -> None:
    facts = ask(app, path="/model").json()
    assert facts["method"] == "agnn"
    assert (facts["nodes"], facts["edges"], facts["classes"]) == (60, 58, ["art", "sport"])
    assert facts["columns"] == ["age", "colour", "motto"]
    assert (facts["explains"], facts["takes_new_nodes"], facts["replicas"]) == (True, True, 3)


def test_concurrent_requests_get_the_same_answers(served: dict[str, ServedModel]) -> None:
    app = served_application(served["tables"])  # an application belongs to one event loop

    async def together() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            some = [client.post("/predict/new", json=NEW) for _ in range(6)]
            some += [client.get("/explain", params={"node": "p4"}) for _ in range(6)]
            return list(await asyncio.gather(*some))

    answers = asyncio.run(together())
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers[:6]}) == 1
    assert len({answer.content for answer in answers[6:]}) == 1


def test_health_does_not_wait_for_a_crowd_of_other_requests(
    served: dict[str, ServedModel],
) -> None:
    app = served_application(served["tables"])  # an application belongs to one event loop
    done: list[str] = []

    async def crowd() -> None:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:

            async def ask(method: str, path: str, body: Any = None) -> None:
                answer = await client.request(method, path, json=body)
                assert answer.status_code == 200
                done.append(path)

            some = [ask("POST", "/predict", {"ids": ["p1"]}) for _ in range(40)]
            await asyncio.gather(*some, ask("GET", "/health"))

    asyncio.run(crowd())
    assert done.index("/health") < 10
    assert len(done) == 41


def test_a_few_known_nodes_are_looked_up_and_anything_else_is_left_to_threads(
    served: dict[str, ServedModel],
) -> None:
    model = served["tables"]
    assert model.is_instant(["p1", "p2"])
    assert not model.is_instant(["p1"] * 33)
    assert not model.is_instant(["p1", "no node"])  # similar ids have to be found


def test_health_answers_and_metrics_count_what_was_asked(
    served: dict[str, ServedModel], ask: Any
) -> None:
    lines: list[str] = []
    app = served_application(served["tables"], ServeOptions(log=lines.append))
    assert ask(app, path="/health").json()["status"] == "ok"
    for body in ({"ids": ["p1"]}, {"ids": ["p1"]}, {"ids": ["secret id"]}):
        ask(app, "POST", "/predict", json=body)
    ask(app, path="/no/such%0A/place?token=hidden")
    ask(app, path="/health", headers={"host": "evil.example"})
    answer = ask(app, path="/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    text = answer.text
    for line in (
        'agnn_requests_total{method="GET",route="/health",status="200"} 1.0',
        'agnn_requests_total{method="POST",route="/predict",status="200"} 2.0',
        'agnn_requests_total{method="POST",route="/predict",status="404"} 1.0',
        'agnn_requests_total{method="GET",route="other",status="404"} 1.0',
        'agnn_requests_total{method="GET",route="other",status="400"} 1.0',
        f'agnn_model_info{{data="nodes",method="agnn",version="{__version__}"}} 1.0',
        "agnn_model_nodes 60.0",
        "# TYPE agnn_requests_total counter",
    ):
        assert line in text.splitlines()
    assert len(lines) == 7
    assert lines[1].split()[2:5] == ["POST", "/predict", "200"]
    assert "/no/such\\n/place" in lines[4]
    assert not any(word in line for line in lines for word in ("secret", "hidden", "\n"))


def test_the_page_lists_the_operations_without_scripts_or_other_servers(
    app: Application, ask: Any
) -> None:
    page = ask(app).text
    schema = ask(app, path="/openapi.json").json()
    assert set(schema["paths"]) == {
        "/predict", "/predict/new", "/explain", "/health", "/model", "/metrics"
    }  # fmt: skip
    for path in schema["paths"]:
        assert f"<code>{path}</code>" in page
    assert "<code>colour</code>" in page
    assert "<script" not in page
    assert "//" not in page.replace("<!doctype html>", "")
    assert "style=" not in page
    assert "<td>integer from 1 to 100</td><td>no, default 10</td>" in page
    assert "<td>string up to length 1,000</td><td>yes</td>" in page
    icon = re.search(r'rel="icon" href="([^"]*)"', page)
    assert icon is not None
    assert ask(app, path=icon[1]).headers["content-type"].startswith("image/svg+xml")
    style = ask(app, path="/api.css")
    assert style.headers["content-type"].startswith("text/css")
    columns = schema["components"]["schemas"]["Columns"]
    assert columns["additionalProperties"] is False
    assert set(columns["required"]) == {"age", "colour", "motto"}


def test_the_examples_of_the_page_work_as_they_stand(app: Application, ask: Any) -> None:
    page = ask(app, headers={"host": "localhost:4711"}).text
    block = re.search(r"<pre.*?<code>(.*?)</code>", page, re.DOTALL)
    assert block is not None
    post, new, get = (shlex.split(line) for line in html.unescape(block[1]).splitlines())
    assert post[:3] == ["curl", "-s", "localhost:4711/predict"]
    assert ask(app, "POST", "/predict", json=json.loads(post[-1])).status_code == 200
    assert new[2] == "localhost:4711/predict/new"
    body = json.loads(new[-1])
    assert body["nodes"][0]["columns"].keys() == {"age", "colour", "motto"}
    answer = ask(app, "POST", "/predict/new", json=body)
    assert answer.json()["predictions"][0]["id"] == body["nodes"][0]["id"]
    assert get[2].startswith("localhost:4711/explain?node=")
    assert ask(app, "GET", get[2].removeprefix("localhost:4711")).status_code == 200


def test_the_page_of_a_model_without_explanations_has_no_such_example(
    served: dict[str, ServedModel], ask: Any
) -> None:
    page = ask(served_application(served["spread"])).text
    assert "/predict -H" in page
    assert "/explain?" not in page


def test_true_and_false_are_the_texts_of_the_table(tmp_path: Any, ask: Any) -> None:
    yes_no = ["TRUE", "FALSE"]
    nodes = pd.DataFrame(
        {"id": range(40), "y": ["a", "b"] * 20, "partner": yes_no * 20, "town": ["x", "y"] * 20}
    )
    edges = pd.DataFrame({"source": range(38), "target": range(2, 40)})
    app = served_frames(tmp_path, nodes, edges)

    def probabilities(status: int = 200, **columns: Any) -> Any:
        body = {"nodes": [{"id": "new", "columns": {"town": "x", **columns}}]}
        answer = ask(app, "POST", "/predict/new", json=body)
        assert answer.status_code == status, answer.text
        return answer.json()["predictions"][0]["probabilities"] if status == 200 else None

    assert probabilities(partner=True) == probabilities(partner="TRUE")
    assert probabilities(partner=False) == probabilities(partner="FALSE")
    assert probabilities(partner=True) != probabilities(partner=False)
    probabilities(422, partner=True, town=True)


def test_names_are_text_on_the_page(tmp_path: Any, ask: Any) -> None:
    name = "<script>alert(1)</script>"
    nodes = pd.DataFrame({"id": range(30), "y": ["a", "b"] * 15, name: np.arange(30) % 7})
    edges = pd.DataFrame({"source": range(28), "target": range(2, 30)})
    app = served_frames(tmp_path, nodes, edges, name=name)
    page = ask(app).text
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert ask(app, path="/metrics").status_code == 200


def test_many_new_nodes_and_edges_take_no_longer_than_they_must(app: Application, ask: Any) -> None:
    columns = {"age": 50, "colour": "red", "motto": "paint"}
    nodes = [{"id": f"new {k}", "columns": columns} for k in range(1000)]
    edges = [[f"new {k % 1000}", f"p{k % 60}"] for k in range(100_000)]
    start = time.process_time()
    answer = ask(app, "POST", "/predict/new", json={"nodes": nodes, "edges": edges})
    assert answer.status_code == 200
    assert len(answer.json()["predictions"]) == 1000
    assert time.process_time() - start < 10  # some tenths; minutes, were each id looked for in vain


@pytest.fixture(scope="module")
def cross_fitted(tmp_path_factory: pytest.TempPathFactory) -> ServedModel:
    """A cross-fitted model of the tables, whose every label calibrates."""
    folder = tmp_path_factory.mktemp("cross-fitted")
    data = read_tables(*write_tables(folder), label="topic", text="motto")
    run = evaluate(get_method("gcn")(epochs=20), data, "5-fold-cross-fit", (0,))
    save_run(run, folder / "run")
    return ServedModel(load_run(folder / "run"))


def test_decisions_are_those_of_the_run(ask: Any, cross_fitted: ServedModel) -> None:
    app = served_application(cross_fitted)
    decisions = {"coverage": 0.8, "act_on": "art", "recall": 0.5, "novelty": 0.2}
    ids = list(cross_fitted.run.data.node_ids[:5])
    found = ask(app, "POST", "/predict", json={"ids": ids, "decisions": decisions}).json()
    run = cross_fitted.run
    sets = run.predict_set(0.8, ids)
    novelty = run.predict_novelty(0.2, ids)
    threshold = run.choose_threshold("art", recall=0.5)
    for k, answer in enumerate(found["predictions"]):
        assert answer["decisions"] == {
            "set": sets.sets[k],
            "set_size": int(sets.sizes[k]),
            "act_on_art": bool(threshold.acts_on(run.predict(ids))[k]),
            "novelty_p_value": novelty.p_values[k],
            "is_novel": bool(novelty.is_novel[k]),
        }
    assert found["rules"]["sets"]["guarantee"] == sets.rule.guarantee
    assert found["rules"]["threshold"]["probability"] == threshold.probability
    assert isinstance(found["warnings"], list)


@pytest.mark.parametrize("decisions", [{"coverage": 0.8}, {"coverage": 0.8, "novelty": 0.2}])
def test_new_nodes_get_decisions_too(
    ask: Any, cross_fitted: ServedModel, decisions: dict[str, float]
) -> None:
    """With and without scores of neighbours the sets are the same."""
    body = {**NEW, "decisions": decisions}
    found = ask(served_application(cross_fitted), "POST", "/predict/new", json=body).json()
    alone = ask(
        served_application(cross_fitted),
        "POST", "/predict/new", json={**NEW, "decisions": {"coverage": 0.8}},
    ).json()  # fmt: skip
    sets = [answer["decisions"]["set"] for answer in found["predictions"]]
    assert sets == [answer["decisions"]["set"] for answer in alone["predictions"]]
    assert all(("is_novel" in each["decisions"]) == ("novelty" in decisions)
               for each in found["predictions"])  # fmt: skip


def test_decisions_that_cannot_be_made_are_a_conflict(
    ask: Any, served: dict[str, ServedModel], cross_fitted: ServedModel
) -> None:
    body = {"ids": ["p0"], "decisions": {"coverage": 0.9}}
    refused = ask(served_application(served["tables"]), "POST", "/predict", json=body)
    assert refused.status_code == 409
    assert "--split cross-fit" in refused.json()["error"]
    body["decisions"] = {"precision": 0.9}
    refused = ask(served_application(cross_fitted), "POST", "/predict", json=body)
    assert refused.status_code == 409
    assert "go with a class to act on" in refused.json()["error"]
    body["decisions"] = {"coverage": 1.5}
    refused = ask(served_application(cross_fitted), "POST", "/predict", json=body)
    assert refused.status_code == 422


def test_without_decisions_an_answer_has_no_word_of_them(
    ask: Any, cross_fitted: ServedModel
) -> None:
    answer = ask(served_application(cross_fitted), "POST", "/predict", json={"ids": ["p0"]}).json()
    assert list(answer) == ["predictions"]
    assert "decisions" not in answer["predictions"][0]
