"""What the API refuses, each with one sentence in one form, and what gets past nobody."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agnn.errors import InputError
from agnn.web._asgi import Application
from agnn.web._errors import BusyError
from agnn.web.api import (
    ServedModel,
    ServeOptions,
    find_token,
    served_application,
)
from agnn.web.api._routes import Workload
from own_tables import without_pandas

COLUMNS = {"age": 50, "colour": "red", "motto": "paint"}
TOKEN = "a-token-of-many-letters"  # noqa: S105


def node(name: Any = "q1", **changes: Any) -> dict[str, Any]:
    return {"id": name, "columns": {**COLUMNS, **changes}}


def refused(answer: Any, status: int) -> str:
    """The sentence of a refusal."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert list(answer.json()) == ["error"]
    message: str = answer.json()["error"]
    assert message.endswith(".")
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"ids": ["p1", "p1x"]}, 404, "'nodes' has no node 'p1x'; near it: 'p1'"),
        ({"ids": []}, 422, "`ids` needs at least 1."),
        ({"ids": ["p1"] * 10_001}, 422, "`ids` has more than 10000 entries."),
        ({"ids": ["p" * 1001]}, 422, "`ids[0]` has more than 1000 characters."),
        ({"ids": ["p1", True]}, 422, "`ids[1]` must be text or a whole number."),
        ({"ids": [1.5]}, 422, "`ids[0]` must be text or a whole number."),
        ({"ids": [2**53]}, 422, "`ids[0]` must be at most 9007199254740991."),
        ({"ids": [""]}, 422, "`ids[0]` must not be empty."),
        ({"ids": "p1"}, 422, "`ids` must be an array."),
        ({"ids": ["p1"], "limit": 3}, 422, "`limit` is not a field of this request."),
        ({}, 422, "`ids` is missing."),
        ([], 422, "the body must be an object."),
        (None, 422, "the body must be an object."),
    ],
)
def test_known_nodes_are_asked_for_as_the_schema_says(
    app: Application, ask: Any, body: Any, status: int, words: str
) -> None:
    answer = ask(app, "POST", "/predict", json=body, content=None)
    if body is None:
        answer = ask(app, "POST", "/predict", content="null", headers=JSON)
    assert refused(answer, status).startswith(words.rstrip("."))


JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"nodes": [node("p1")]}, 409, "the graph has a node 'p1' already; ask for it by its id."),
        ({"nodes": [node(), node()]}, 409, "the id 'q1' is given twice in `nodes`."),
        ({"nodes": [node("7"), node(7)]}, 409, "the id 7 is given twice in `nodes`."),
        ({"nodes": [node()], "edges": [["q1", "zz"]]}, 404, "'nodes' has no node 'zz'"),
        ({"nodes": [node()], "edges": [["q1"]]}, 422, "`edges[0][1]` is missing."),
        ({"nodes": [node()], "edges": [["q1", "p1", 3]]}, 422, "`edges[0]` has more than 2"),
        ({"nodes": [node()], "edges": ["q1"]}, 422, "`edges[0]` must be an array of two ids."),
        ({"nodes": [node()], "edges": [["q1", "p1"]] * 100_001}, 422, "`edges` has more than 100"),
        ({"nodes": []}, 422, "`nodes` needs at least 1."),
        ({"nodes": [node()] * 1001}, 422, "`nodes` has more than 1000 entries."),
        ({"nodes": [node(age="old")]}, 422, "`nodes[0].columns.age` must be a number."),
        ({"nodes": [node(age=True)]}, 422, "`nodes[0].columns.age` must be a number."),
        ({"nodes": [node(age=1e30)]}, 422, "`nodes[0].columns.age` must be at most 17114"),
        ({"nodes": [node(age=10**400)]}, 422, "`nodes[0].columns.age` must be a"),
        ({"nodes": [node(colour=1.5)]}, 422, "`nodes[0].columns.colour` must be text or a whole"),
        ({"nodes": [node(motto=3)]}, 422, "`nodes[0].columns.motto` must be text."),
        ({"nodes": [node(motto="x" * 1_000_001)]}, 422, "`nodes[0].columns.motto` has more than"),
        (
            {"nodes": [{"id": "q", "columns": {"age": 1, "color": "red", "motto": ""}}]},
            422,
            "`nodes[0].columns.colour` is missing; `nodes[0].columns.color` is not a field of "
            "this request.",
        ),
        ({"nodes": [{"id": "q1"}]}, 422, "`nodes[0].columns` is missing."),
        ({"nodes": [{"columns": COLUMNS}]}, 422, "`nodes[0].id` is missing."),
    ],
)
def test_new_nodes_are_asked_for_as_the_schema_says(
    app: Application, ask: Any, body: Any, status: int, words: str
) -> None:
    answer = ask(app, "POST", "/predict/new", json=body)
    assert refused(answer, status).startswith(words)


@pytest.mark.parametrize(
    ("content", "status", "words"),
    [
        (b'{"ids": [', 400, "the body is not JSON: Expecting value at character 9."),
        (b"", 422, "the body is missing."),
        (b'{"ids": ["p\xff"]}', 400, "the body is not JSON in UTF-8 that can be read."),
        (b"[" * 100_000, 400, "the body is not JSON in UTF-8 that can be read."),
        (b"9" * 5000, 400, "the body is not JSON in UTF-8 that can be read."),
        (b'{"ids": ["\\ud800"]}', 422, "`ids[0]` is not text that UTF-8 can write."),
        (b'{"ids": [NaN]}', 422, "`ids[0]` must be text or a whole number."),
        (b'{"\\ud800": 1, "ids": ["p1"]}', 422, "the body is not text that UTF-8 can write."),
    ],
)
def test_a_body_that_is_not_json_is_refused(
    app: Application, ask: Any, content: bytes, status: int, words: str
) -> None:
    answer = ask(app, "POST", "/predict", content=content, headers=JSON)
    assert refused(answer, status) == words


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none_are_refused(app: Application, ask: Any, value: str) -> None:
    body = json.dumps({"nodes": [node()]}).replace("50", value)
    message = refused(ask(app, "POST", "/predict/new", content=body, headers=JSON), 422)
    assert message == "`nodes[0].columns.age` must be a finite number."


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "json"])
@pytest.mark.parametrize("path", ["/predict", "/predict/new"])
def test_a_body_that_is_not_called_json_is_not_looked_at(
    app: Application, ask: Any, path: str, kind: str | None
) -> None:
    headers = {} if kind is None else {"content-type": kind}
    answer = ask(app, "POST", path, content=b'{"ids": ["p1"]}', headers=headers)
    assert refused(answer, 415) == "send the body as 'Content-Type: application/json'."


def test_json_may_say_its_encoding(app: Application, ask: Any) -> None:
    headers = {"content-type": "application/JSON; charset=utf-8"}
    answer = ask(app, "POST", "/predict", content=b'{"ids": ["p1"]}', headers=headers)
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ({"node": "zz"}, 404, "'nodes' has no node 'zz'"),
        ({}, 422, "`node` is missing."),
        ({"node": "p1", "limit": "0"}, 422, "`limit` must be at least 1."),
        ({"node": "p1", "limit": "101"}, 422, "`limit` must be at most 100."),
        ({"node": "p1", "limit": "many"}, 422, "`limit` must be a whole number."),
        ({"node": "p" * 1001}, 422, "`node` has more than 1000 characters."),
    ],
)
def test_reasons_are_asked_for_as_the_schema_says(
    app: Application, ask: Any, query: dict[str, str], status: int, words: str
) -> None:
    answer = ask(app, "GET", "/explain", params=query)
    assert refused(answer, status).startswith(words)


def test_what_is_not_there_is_not_there(app: Application, ask: Any) -> None:
    message = "there is nothing at /docs."
    assert refused(ask(app, "GET", "/docs"), 404) == message
    assert refused(ask(app, "POST", "/predict/", json={}), 404).startswith("there is nothing at")
    answer = ask(app, "GET", "/predict")
    assert refused(answer, 405) == "GET is not a method of /predict."
    assert answer.headers["allow"] == "POST"


def test_the_guards_stand_before_the_api(served: dict[str, ServedModel], ask: Any) -> None:
    app = served_application(served["tables"], ServeOptions(max_body=100))
    refused(ask(app, headers={"host": "evil.example"}), 400)
    refused(ask(app, headers={"origin": "http://evil.example"}), 403)
    body = json.dumps({"ids": ["p1"] * 50}).encode()
    refused(ask(app, "POST", "/predict", content=body, headers=JSON), 413)

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 10):
            yield body[start : start + 10]

    refused(ask(app, "POST", "/predict", content=chunks(), headers=JSON), 413)
    answer = ask(app, path="/health")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")


@pytest.mark.parametrize(
    "header",
    [None, "", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer \xff"],
)
def test_without_the_token_only_health_answers(
    served: dict[str, ServedModel], ask: Any, header: str | None
) -> None:
    app = served_application(served["tables"], ServeOptions(token=TOKEN))
    headers = {} if header is None else {"authorization": header.encode("latin-1")}
    for method, path in (
        ("POST", "/predict"), ("POST", "/predict/new"), ("GET", "/explain?node=p1"),
        ("GET", "/model"), ("GET", "/metrics"), ("GET", "/nothing"), ("GET", "/"),
        ("GET", "/openapi.json"), ("GET", "/api.css"), ("GET", "//"), ("GET", "/health/"),
    ):  # fmt: skip
        answer = ask(app, method, path, headers=headers)
        assert "send the header 'Authorization: Bearer TOKEN'" in refused(answer, 401)
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "nodes" not in answer.text  # the name of the data
    health = ask(app, path="/health", headers=headers)
    assert health.status_code == 200
    assert set(health.json()) == {"status", "version"}


def test_with_the_token_everything_is_answered(served: dict[str, ServedModel], ask: Any) -> None:
    app = served_application(served["tables"], ServeOptions(token=TOKEN))
    for scheme in ("Bearer", "bearer"):
        headers = {"authorization": f"{scheme} {TOKEN}"}
        assert ask(app, path="/model", headers=headers).status_code == 200
    twice = [("authorization", f"Bearer {TOKEN}"), ("authorization", "Bearer other")]
    assert ask(app, path="/model", headers=twice).status_code == 401


def test_a_token_is_one_that_a_header_can_carry(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_token(None, "HERE") is None
    monkeypatch.setenv("HERE", f" {TOKEN}\n")
    assert find_token(None, "HERE") == TOKEN
    for bad in ("", "short", "with a space in it", "x" * 501, "unwritten-letters-é"):
        monkeypatch.setenv("HERE", bad)
        with pytest.raises(InputError, match="environment's HERE must be 16 to 500 letters"):
            find_token(None, "HERE")
    (tmp_path / "token").write_text(TOKEN + "\n")
    assert find_token(tmp_path / "token", "HERE") == TOKEN
    (tmp_path / "token").write_bytes(b"\xff" * 20)
    with pytest.raises(InputError, match="is not text"):
        find_token(tmp_path / "token", "HERE")


def test_a_missing_package_is_named_and_known_nodes_are_still_answered(
    app: Application, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pandas(monkeypatch)
    assert "agnn[tables]" in refused(
        ask(app, "POST", "/predict/new", json={"nodes": [node()]}), 501
    )
    assert ask(app, "POST", "/predict", json={"ids": ["p1"]}).status_code == 200


def test_an_internal_error_is_reported_without_its_traceback(
    served: dict[str, ServedModel], ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("a secret of the program")

    monkeypatch.setattr(ServedModel, "known", broken)
    app = served_application(served["tables"])

    async def quiet(scope: Any, receive: Any, send: Any) -> None:
        with pytest.raises(RuntimeError, match="a secret"):  # told to the server's log
            await app(scope, receive, send)

    answer = ask(quiet, "POST", "/predict", json={"ids": ["p1"]})
    assert refused(answer, 500) == "internal error; the log of the server has the details."


def test_more_than_is_done_at_once_is_refused_and_asked_to_come_again(
    served: dict[str, ServedModel], ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agnn.web.api._application.Workload", lambda: Workload(1, waiting=-1))
    app = served_application(served["tables"])
    answer = ask(app, path="/explain?node=p1")
    assert refused(answer, 503) == "the server is busy; ask again in a second."
    assert answer.headers["retry-after"] == "1"


def test_a_workload_takes_a_limited_number_and_frees_the_places_of_finished_ones() -> None:
    async def crowd() -> list[Any]:
        work, gate = Workload(2, waiting=1), threading.Event()
        tasks = [asyncio.create_task(work.run(lambda: gate.wait(20))) for _ in range(4)]
        await asyncio.sleep(0)
        while not any(task.done() for task in tasks):  # the one that is refused
            await asyncio.sleep(0.01)
        assert work.running == 3
        gate.set()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert work.running == 0
        assert await work.run(lambda: 7) == 7
        return found

    found = asyncio.run(crowd())
    assert found[:3] == [True] * 3
    assert isinstance(found[3], BusyError)


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
ANYTHING = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
NEARLY = st.fixed_dictionaries(
    {},
    optional={
        "ids": st.lists(st.sampled_from(["p1", "p2", 1, "zz"]) | PLAIN, max_size=3) | PLAIN,
        "nodes": st.lists(
            st.fixed_dictionaries({"id": PLAIN, "columns": st.just(COLUMNS) | ANYTHING}), max_size=2
        ),
        "edges": st.lists(st.lists(st.sampled_from(["p1", "q"]) | PLAIN, max_size=3), max_size=3),
    },
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(["/predict", "/predict/new"]), ANYTHING | NEARLY)
def test_no_body_is_a_fault_of_the_server(app: Application, ask: Any, path: str, body: Any) -> None:
    answer = ask(app, "POST", path, content=json.dumps(body), headers=JSON)
    if answer.status_code == 200:
        for each in answer.json()["predictions"]:
            assert sum(each["probabilities"].values()) == pytest.approx(1.0)
    else:
        refused(answer, answer.status_code)
        assert answer.status_code in (400, 404, 409, 422)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=40))
def test_no_bytes_are_a_fault_of_the_server(app: Application, ask: Any, body: bytes) -> None:
    answer = ask(app, "POST", "/predict", content=body, headers=JSON)
    assert answer.status_code in (400, 422)
    refused(answer, answer.status_code)
