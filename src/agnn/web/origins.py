"""Requests that a page of another site makes are refused; browsers say where they come from."""

from __future__ import annotations

from agnn.web.asgi import Application, Receive, Scope, Send, header, header_values, refuse

_OWN = ("same-origin", "none")  # our own page; the user's address line


class OriginGuard:
    """Refuses what a browser sends on behalf of a page that is not ours.

    Programs such as curl send neither header and pass. A link on another page may be followed:
    it opens our page in a window of its own, and the other page sees nothing of it.
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
    # https where something in front of the server speaks it.
    own = (f"http://{host}", f"https://{host}")
    return all(origin in own for origin in header_values(scope, "origin"))


def _is_own_fetch(scope: Scope) -> bool:
    return all(site in _OWN for site in header_values(scope, "sec-fetch-site"))


def _is_followed_link(scope: Scope) -> bool:
    return (
        scope["method"] in ("GET", "HEAD")
        and header(scope, "sec-fetch-mode") == "navigate"
        and header(scope, "sec-fetch-dest") == "document"
    )
