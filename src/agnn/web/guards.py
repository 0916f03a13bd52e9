"""All that stands between a network and an application of ours, in its order."""

from __future__ import annotations

from agnn.web.asgi import Application, Receive, Scope, Send
from agnn.web.body_limit import MAX_BODY, BodyLimit
from agnn.web.headers import POLICY, SecurityHeaders
from agnn.web.hosts import HostGuard, Hosts
from agnn.web.origins import OriginGuard


def guarded(
    app: Application, hosts: Hosts | None = None, *, max_body: int = MAX_BODY, policy: str = POLICY
) -> Application:
    """`app` behind the guards: headers on every answer, then Host, then Origin, then the body.

    Args:
        app: any ASGI application, such as FastAPI's.
        hosts: the names under which it may be asked; without them this machine's own to itself.
        max_body: bytes.
        policy: the Content-Security-Policy of every answer.
    """
    limited = BodyLimit(app, max_body)
    asked = HostGuard(OriginGuard(limited), hosts or Hosts())
    outer = SecurityHeaders(asked, policy)

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await outer(scope, receive, send)
        elif scope["type"] == "lifespan":
            await app(scope, receive, send)
        else:  # a web socket: nothing here has one
            await send({"type": "websocket.close", "code": 1008})

    return guard
