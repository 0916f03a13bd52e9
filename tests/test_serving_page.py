"""Every command and every request in docs/serving.md works."""

from __future__ import annotations

import asyncio
import runpy
import shlex
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from agnn.cli import main
from agnn.runs import load_run
from agnn.web.api import ServedModel, ServeOptions, served_application
from code_blocks import ROOT, commands

PAGE = ROOT / "docs" / "serving.md"
COMMANDS = commands(PAGE)
TOKEN = "a-token-of-many-letters"  # noqa: S105


def asked(app: Any, line: str) -> httpx.Response:
    """What a curl command of the page gets, asked in this process."""
    address, headers, body = "", {}, None
    words = iter(shlex.split(line)[1:])
    for word in words:
        if word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value.replace("TOKEN", TOKEN)
        elif word == "-d":
            body = next(words)
        elif word != "-s":
            address = word

    async def request() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
            method = "GET" if body is None else "POST"
            return await client.request(method, address, headers=headers, content=body)

    return asyncio.run(request())


def test_the_commands_and_requests_work_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert [shlex.split(line)[0] for line in COMMANDS] == [
        "python", "agnn", "agnn", *["curl"] * 7
    ]  # fmt: skip
    script, training, serving, *requests = COMMANDS
    monkeypatch.setattr(sys, "argv", shlex.split(script)[1:])
    runpy.run_path(str(ROOT / "scripts" / "example_tables.py"), run_name="__main__")
    assert main(shlex.split(training)[1:]) == 0
    assert shlex.split(serving)[1:] == ["serve", "runs/papers", "--port", "8000"]
    model = ServedModel(load_run("runs/papers"))
    plain = served_application(model)
    locked = served_application(model, ServeOptions(token=TOKEN))
    for line in requests:
        answer = asked(locked if "TOKEN" in line else plain, line)
        assert answer.status_code == 200, (line, answer.text)
    known = asked(plain, requests[0]).json()["predictions"]
    assert [each["id"] for each in known] == ["1110563", "1107062"]
    assert asked(locked, requests[3]).status_code == 401
    capsys.readouterr()


def test_the_limits_on_the_page_are_those_of_the_program() -> None:
    from agnn.web import _connections
    from agnn.web._asgi import MAX_BODY
    from agnn.web.api import _schema as schema

    for words in (
        f"| ids in a request | {schema.MOST_IDS:,} |",
        f"| new nodes, edges | {schema.MOST_NEW_NODES:,} and {schema.MOST_EDGES:,} |",
        f"| an id | {schema.LONGEST_ID:,} characters;",
        f"| a cell of text | {schema.LONGEST_TEXT:,} characters |",
        f"| neighbours in an explanation | {schema.MOST_REASONS} |",
        f"| body | {MAX_BODY // 2**20} MiB",
        f"| open connections | {_connections.MOST_CONNECTIONS},",
        f"| time for the headers of a request | {_connections.HEAD_SECONDS:g} seconds |",
        f"part of its answer | {_connections.READ_SECONDS:g} seconds |",
    ):
        assert words in PAGE.read_text(encoding="utf-8")
