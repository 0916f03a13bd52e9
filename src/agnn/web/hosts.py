"""The names under which a server may be asked: a page elsewhere must not reach it by its own name.

A stranger's page can have its own name point at 127.0.0.1 after it was loaded, and the browser
then takes our answers for its own. The request still carries the stranger's name.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from agnn.web.asgi import Application, Receive, Scope, Send, header_values, refuse

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")


@dataclass(frozen=True)
class Hosts:
    """The names that a request's Host header may hold, in lower case and without a port."""

    names: frozenset[str] = _LOOPBACK

    any_address: bool = False
    """Whether every IP address will do as well: none can be made to point elsewhere."""

    def includes(self, host: str) -> bool:
        """Whether the value of a Host header, with or without a port, is one of ours."""
        found = _HOST.fullmatch(host.lower())
        if found is None:
            return False
        name = found[1]
        return name in self.names or (self.any_address and is_address(name))


def hosts_of(listening_at: str, others: Iterable[str] = ()) -> Hosts:
    """The names of a server that listens at an address or name, and `others` that lead to it."""
    own = f"[{listening_at}]" if ":" in listening_at else listening_at
    names = {own.lower(), *(name.lower() for name in others)}
    if is_loopback(listening_at):
        return Hosts(_LOOPBACK | names)
    return Hosts(_LOOPBACK | names | {socket.gethostname().lower()}, any_address=True)


def is_address(name: str) -> bool:
    """Whether a host is written as an IP address, with brackets around the newer kind."""
    try:
        ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server that listens there."""
    return host.lower() == "localhost" or (is_address(host) and ip_address(host).is_loopback)


class HostGuard:
    """Refuses requests that were sent to another name than ours."""

    def __init__(self, app: Application, hosts: Hosts) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 400."""
        given = header_values(scope, "host")
        if len(given) == 1 and self.hosts.includes(given[0]):
            await self.app(scope, receive, send)
        else:
            await refuse(send, 400, "the Host header names no address at which this is served.")
