"""Checks that every request passes before an application sees it, and headers on every answer.

A request must name this server in its Host header, must not come from another site's page, and
must bring a body of limited size in limited time. Starlette's TrustedHostMiddleware is not used:
it takes the first of several Host headers, has no rule for "any IP address", and answers in plain
text or with a redirect.

>>> is_loopback("localhost"), is_loopback("0.0.0.0")
(True, False)
"""

from __future__ import annotations

import hmac
import re
import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from agnn.web._asgi import (
    MAX_BODY,
    Application,
    BodyLimit,
    Message,
    Receive,
    Scope,
    Send,
    header,
    header_values,
    refuse,
)

__all__ = [
    "FIXED_HEADERS",
    "MAX_BODY",
    "POLICY",
    "Hosts",
    "TokenGuard",
    "guarded",
    "hosts_of",
    "is_loopback",
]

# Scripts and styles only from files of this server; nothing from elsewhere.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_OTHERS: Final = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_DEFAULTS: Final = {b"cache-control": b"no-store"}  # an application may set another value
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")
_OWN_SITE: Final = ("same-origin", "none")  # our own page; an address that the user typed


def guarded(
    app: Application, hosts: Hosts | None = None, *, max_body: int = MAX_BODY, policy: str = POLICY
) -> Application:
    """`app` behind all guards: headers on every answer, then Host, then Origin, then the body.

    Args:
        app: any ASGI application, such as FastAPI's.
        hosts: the names of this server; by default those of the loopback interface.
        max_body: bytes.
        policy: the Content-Security-Policy of every answer.
    """
    limited = BodyLimit(app, max_body)
    checked = HostGuard(OriginGuard(limited), hosts or Hosts())
    outer = SecurityHeaders(checked, policy)

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await outer(scope, receive, send)
        elif scope["type"] == "lifespan":
            await app(scope, receive, send)
        else:  # a web socket, which no application here has
            await send({"type": "websocket.close", "code": 1008})

    return guard


@dataclass(frozen=True)
class Hosts:
    """The names that a request's Host header may hold, in lower case and without a port."""

    names: frozenset[str] = _LOOPBACK

    any_address: bool = False
    """Whether any IP address is accepted too: unlike a name, it cannot be pointed elsewhere."""

    def includes(self, host: str) -> bool:
        """Whether the value of a Host header, with or without a port, is allowed."""
        match = _HOST.fullmatch(host.lower())
        if match is None:
            return False
        name = match[1]
        return name in self.names or (self.any_address and _is_address(name))


def hosts_of(listening_at: str, others: Iterable[str] = ()) -> Hosts:
    """The names of a server that listens at an address or name, and further names for it."""
    address = f"[{listening_at}]" if ":" in listening_at else listening_at
    names = {address.lower(), *(name.lower() for name in others)}
    if is_loopback(listening_at):
        return Hosts(_LOOPBACK | names)
    return Hosts(_LOOPBACK | names | {socket.gethostname().lower()}, any_address=True)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens there."""
    return host.lower() == "localhost" or (_is_address(host) and ip_address(host).is_loopback)


def _is_address(name: str) -> bool:
    """Whether a host is an IP address; in a Host header those of version 6 have brackets."""
    try:
        ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


class HostGuard:
    """Refuses requests to other names than the server's.

    Another site's page can have its own name point at 127.0.0.1 once it is loaded (DNS
    rebinding). The browser then treats our answers as that site's, but the request still carries
    its name.
    """

    def __init__(self, app: Application, hosts: Hosts) -> None:
        self.app = app
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 400."""
        values = header_values(scope, "host")
        if len(values) == 1 and self.hosts.includes(values[0]):
            await self.app(scope, receive, send)
        else:
            await refuse(send, 400, "the Host header is not a name of this server.")


class OriginGuard:
    """Refuses what a browser sends on behalf of another site's page.

    Programs such as curl send neither of the two headers and pass. A link on another page may be
    followed: it opens our page in a window of its own, which the other page cannot read.
    """

    def __init__(self, app: Application) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 403."""
        if _is_own_origin(scope) and (_is_own_fetch(scope) or _is_followed_link(scope)):
            await self.app(scope, receive, send)
        else:
            await refuse(send, 403, "this request comes from a page of another site.")


def _is_own_origin(scope: Scope) -> bool:
    host = header(scope, "host")
    own_origins = (f"http://{host}", f"https://{host}")  # https: behind a proxy that encrypts
    return all(origin in own_origins for origin in header_values(scope, "origin"))


def _is_own_fetch(scope: Scope) -> bool:
    return all(site in _OWN_SITE for site in header_values(scope, "sec-fetch-site"))


def _is_followed_link(scope: Scope) -> bool:
    return (
        scope["method"] in ("GET", "HEAD")
        and header(scope, "sec-fetch-mode") == "navigate"
        and header(scope, "sec-fetch-dest") == "document"
    )


class TokenGuard:
    """Refuses requests without `Authorization: Bearer TOKEN`, but for paths that are open."""

    def __init__(
        self, app: Application, token: str, is_open: Callable[[str], bool], message: str
    ) -> None:
        self.app = app
        self.token = token
        self.is_open = is_open
        self.message = message

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 401."""
        if self.is_open(scope["path"]) or self._is_given(header_values(scope, "authorization")):
            await self.app(scope, receive, send)
        else:
            await refuse(send, 401, self.message, {"www-authenticate": "Bearer"})

    def _is_given(self, values: list[str]) -> bool:
        if len(values) != 1:
            return False
        scheme, _, token = values[0].partition(" ")
        is_same = hmac.compare_digest(token.strip().encode(), self.token.encode())
        return is_same and scheme.lower() == "bearer"


def _pairs(headers: Mapping[str, str]) -> dict[bytes, bytes]:
    return {key.encode(): value.encode() for key, value in headers.items()}


FIXED_HEADERS: Final = _pairs({"content-security-policy": POLICY, **_OTHERS}) | _DEFAULTS
"""The headers of an answer that no application made."""


class SecurityHeaders:
    """Adds headers that limit what a browser may do with an answer, also to refusals."""

    def __init__(self, app: Application, policy: str = POLICY) -> None:
        self.app = app
        self.fixed = _pairs({"content-security-policy": policy, **_OTHERS})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; the answer goes out with more headers."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = dict(message.get("headers", ()))
                added = self.fixed | {k: v for k, v in _DEFAULTS.items() if k not in headers}
                passed = [(k, v) for k, v in message.get("headers", ()) if k not in added]
                message["headers"] = [*passed, *added.items()]
            await send(message)

        await self.app(scope, receive, send_with_headers)
