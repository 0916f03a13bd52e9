"""The guards: names, origins, sizes and headers, each refusing what it should and nothing else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agnn.web._asgi import Application, BodyLimit, Message
from agnn.web.guards import Hosts, guarded, hosts_of, is_loopback

OWN = "localhost"


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:8000", "[::1]", "[::1]:65535"]
)
def test_by_default_this_machine_is_asked_by_its_names_for_itself(
    echo: Application, ask: Any, host: str
) -> None:
    assert ask(guarded(echo), headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "192.168.0.7", "",
        "localhost:80:80", "localhost:", "user@localhost", "localhost/", "localhost evil.example",
        "[::1", "[::1].evil", "127.0.0.2",
    ],
)  # fmt: skip
def test_any_other_name_is_refused(echo: Application, ask: Any, host: str) -> None:
    answer = ask(guarded(echo), headers={"host": host})
    assert answer.status_code == 400
    assert answer.json() == {"error": "the Host header is not a name of this server."}


def test_two_names_or_none_are_refused(echo: Application) -> None:
    for names in ([], [b"localhost", b"localhost"]):
        sent: list[Message] = []

        async def send(message: Message, sent: list[Message] = sent) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "GET", "headers": [(b"host", name) for name in names]}
        asyncio.run(guarded(echo)(scope, None, send))  # type: ignore[arg-type, func-returns-value]
        assert sent[0]["status"] == 400


@pytest.mark.parametrize(
    ("listening_at", "included", "refused"),
    [
        ("127.0.0.1", ["localhost", "127.0.0.1:1"], ["10.0.0.1", "evil.example"]),
        ("127.0.0.9", ["127.0.0.9"], ["127.0.0.8"]),
        ("::1", ["[::1]:8000"], ["::1", "[::2]"]),
        ("0.0.0.0", ["10.0.0.1", "[fe80::1]:8000", "localhost"], ["evil.example"]),  # noqa: S104
        ("Models.Example", ["models.example:8000", "10.0.0.1"], ["evil.example"]),
    ],
)
def test_a_server_is_asked_by_the_names_of_where_it_listens(
    listening_at: str, included: list[str], refused: list[str]
) -> None:
    hosts = hosts_of(listening_at)
    assert all(hosts.includes(name) for name in included)
    assert not any(hosts.includes(name) for name in refused)


def test_further_names_can_be_said() -> None:
    assert hosts_of("127.0.0.1", ["Models.Example"]).includes("models.example:443")


@given(st.text())
def test_no_text_gets_past_unless_it_is_a_loopback_name(text: str) -> None:
    name = text.lower().partition(":")[0] if not text.startswith("[") else text[:5]
    if Hosts().includes(text):
        assert name in ("localhost", "127.0.0.1", "[::1]")


def test_loopback_is_what_only_this_machine_reaches() -> None:
    assert all(map(is_loopback, ["localhost", "127.0.0.1", "127.8.0.1", "::1"]))
    assert not any(map(is_loopback, ["0.0.0.0", "::", "10.0.0.1", "example.org"]))  # noqa: S104


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://localhost"},
        {"origin": "https://localhost"},
        {"sec-fetch-site": "same-origin", "origin": "http://localhost"},
        {"sec-fetch-site": "none"},
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_our_own_page_and_programs_may_ask(
    echo: Application, ask: Any, method: str, headers: dict[str, str]
) -> None:
    assert ask(guarded(echo), method, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "http://localhost:8001"},  # another program of this machine
        {"origin": "null"},
        {"origin": "http://localhost.evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site", "origin": "http://localhost"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"},
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_pages_of_other_sites_may_not_ask(
    echo: Application, ask: Any, method: str, headers: dict[str, str]
) -> None:
    answer = ask(guarded(echo), method, headers=headers)
    assert answer.status_code == 403
    assert answer.json() == {"error": "this request comes from a page of another site."}


def test_a_link_elsewhere_may_be_followed_but_not_posted(echo: Application, ask: Any) -> None:
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    link["sec-fetch-dest"] = "document"
    assert ask(guarded(echo), "GET", headers=link).status_code == 200
    assert ask(guarded(echo), "POST", headers=link).status_code == 403


async def pieces(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


@pytest.mark.parametrize("parts", [[b"x" * 10], [b"x" * 4] * 2 + [b"xx"], [b""], [b"", b"x"]])
def test_a_body_up_to_the_limit_arrives_whole(
    echo: Application, ask: Any, parts: list[bytes]
) -> None:
    whole = b"".join(parts)
    assert ask(guarded(echo, max_body=10), "POST", content=whole).content == whole
    assert ask(guarded(echo, max_body=10), "POST", content=pieces(*parts)).content == whole


@pytest.mark.parametrize("parts", [[b"x" * 11], [b"x" * 4] * 3, [b"x"] * 11])
def test_a_body_over_the_limit_is_refused_whether_announced_or_in_chunks(
    echo: Application, ask: Any, parts: list[bytes]
) -> None:
    for content in (b"".join(parts), pieces(*parts)):
        answer = ask(guarded(echo, max_body=10), "POST", content=content)
        assert answer.status_code == 413
        assert answer.json() == {"error": "the body is larger than the limit of 10 bytes."}
        assert answer.headers["connection"] == "close"


def test_an_infinite_body_is_not_read_to_its_end(echo: Application, ask: Any) -> None:
    read = 0

    async def infinite() -> AsyncIterator[bytes]:
        nonlocal read
        while True:
            read += 1
            yield b"x" * 5

    assert ask(guarded(echo, max_body=10), "POST", content=infinite()).status_code == 413
    assert read <= 14


def test_a_body_announced_too_large_is_refused_before_it_comes(
    echo: Application, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing() -> AsyncIterator[bytes]:
        await asyncio.sleep(60)
        yield b""

    monkeypatch.setattr("agnn.web._asgi._LINGER", 0.05)
    headers = {"content-length": "11"}
    app = BodyLimit(echo, 10, seconds=1)
    assert ask(app, "POST", content=nothing(), headers=headers).status_code == 413


def test_a_body_that_does_not_come_is_not_waited_for(echo: Application, ask: Any) -> None:
    async def slow() -> AsyncIterator[bytes]:
        yield b"x"
        await asyncio.sleep(60)

    start = time.perf_counter()
    answer = ask(BodyLimit(echo, 10, seconds=0.05), "POST", content=slow())
    assert time.perf_counter() - start < 5
    assert answer.status_code == 408
    assert answer.json() == {"error": "the body did not arrive within 0.05 seconds."}


def test_a_client_that_leaves_is_not_answered(echo: Application) -> None:
    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        raise AssertionError(message)

    scope = {"type": "http", "method": "POST", "headers": [(b"host", b"localhost")]}
    asyncio.run(guarded(echo)(scope, receive, send))  # type: ignore[arg-type, func-returns-value]


def test_every_answer_carries_the_headers_also_a_refusal(echo: Application, ask: Any) -> None:
    for host in ("localhost", "evil.example"):
        found = ask(guarded(echo), headers={"host": host}).headers
        policy = dict(part.split(" ", 1) for part in found["content-security-policy"].split("; "))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["connect-src"] == "'self'"
        assert policy["frame-ancestors"] == "'none'"
        assert "unsafe" not in found["content-security-policy"]
        assert found["x-content-type-options"] == "nosniff"
        assert found["x-frame-options"] == "DENY"
        assert found["cross-origin-opener-policy"] == "same-origin"
        assert found["cache-control"] == "no-store"
    assert ask(guarded(echo)).headers["x-own"] == "yes"


def test_an_application_may_say_how_long_its_files_keep_but_not_loosen_the_rest(ask: Any) -> None:
    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        headers = [(b"cache-control", b"max-age=9"), (b"x-frame-options", b"ALLOW")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    found = ask(guarded(app, policy="default-src 'none'")).headers
    assert found["cache-control"] == "max-age=9"
    assert found.get_list("x-frame-options") == ["DENY"]
    assert found["content-security-policy"] == "default-src 'none'"


def test_web_sockets_are_closed_and_the_lifespan_passes() -> None:
    sent: list[Message] = []
    seen = []

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        seen.append(scope["type"])

    async def send(message: Message) -> None:
        sent.append(message)

    for kind in ("lifespan", "websocket"):
        asyncio.run(guarded(app)({"type": kind}, None, send))  # type: ignore[arg-type, func-returns-value]
    assert seen == ["lifespan"]
    assert sent == [{"type": "websocket.close", "code": 1008}]
