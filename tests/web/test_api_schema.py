"""The served API against its own OpenAPI schema, by schemathesis: every phase and every check."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import from_schema
from schemathesis.engine.events import FatalError, NonFatalError, ScenarioFinished

from agnn.web.api import ServedModel, ServeOptions, served_application
from agnn.web.guards import hosts_of

TOKEN = "a-token-of-many-letters"  # noqa: S105
OPERATIONS = {
    "POST /predict", "POST /predict/new", "GET /explain", "GET /health", "GET /model",
    "GET /metrics",
}  # fmt: skip


def complaints(app: Any, examples: int) -> tuple[list[str], Counter[str]]:
    """What schemathesis finds wrong, and how many requests it made of each operation."""
    config = SchemathesisConfig.from_dict(
        {
            "seed": 1,
            "generation": {"max-examples": examples, "database": "none"},
            "headers": {"Authorization": f"Bearer {TOKEN}"},
        }
    )
    token = {"Authorization": f"Bearer {TOKEN}"}
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, config=config, headers=token)
    found, asked = [], Counter[str]()
    for event in from_schema(schema).execute():
        if isinstance(event, NonFatalError | FatalError):
            found.append(repr(event))
        elif isinstance(event, ScenarioFinished) and event.label is not None:
            asked[event.label] += len(event.recorder.cases)
            for case, checks in event.recorder.checks.items():
                request = event.recorder.cases[case].value.as_curl_command()
                found += [f"{c.name}: {c.failure_info.failure} {request}" for c in checks
                          if c.failure_info]  # fmt: skip
    return found, asked


@pytest.mark.parametrize(("name", "examples"), [("tables", 25), ("spread", 5)])
def test_the_api_keeps_its_schema(served: dict[str, ServedModel], name: str, examples: int) -> None:
    # The client of these tests calls every server "testserver".
    hosts = hosts_of("127.0.0.1", ["testserver"])
    app = served_application(served[name], ServeOptions(hosts=hosts, token=TOKEN))
    found, asked = complaints(app, examples)
    assert found == []
    assert set(asked) == OPERATIONS
    assert asked["POST /predict/new"] > 30


def test_the_check_can_fail(served: dict[str, ServedModel], monkeypatch: Any) -> None:
    def wrong(*_: Any) -> Any:
        raise RuntimeError("planted")

    monkeypatch.setattr(ServedModel, "explanation", wrong)
    hosts = hosts_of("127.0.0.1", ["testserver"])
    app = served_application(served["tables"], ServeOptions(hosts=hosts, token=TOKEN))
    found, _ = complaints(app, 1)
    assert any("GET" in each and "/explain" in each for each in found)
