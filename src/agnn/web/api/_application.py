"""The served application: the operations, and everything around them."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agnn import __version__
from agnn.errors import InputError
from agnn.web._asgi import Application, Receive, Scope, Send
from agnn.web._errors import new_application
from agnn.web.api._page import add_page
from agnn.web.api._routes import Metrics, Observer, Workload, add_routes
from agnn.web.api._served_model import ServedModel
from agnn.web.guards import MAX_BODY, Hosts, TokenGuard, guarded

_TOKEN_FORM: Final = re.compile(r"[A-Za-z0-9._~+/=-]{16,500}")
_REFUSAL: Final = "the token is missing or wrong: send the header 'Authorization: Bearer TOKEN'."


def _is_open(path: str) -> bool:
    # Not the API page and its schema: they name columns, an id and the range of values.
    return path == "/health"


def _discard(_line: str) -> None:
    """Log nothing."""


@dataclass(frozen=True)
class ServeOptions:
    """The settings of a server: its names, its token, the largest body, where the log goes."""

    hosts: Hosts = field(default_factory=Hosts)
    token: str | None = None
    max_body: int = MAX_BODY
    log: Callable[[str], None] = _discard


def served_application(model: ServedModel, options: ServeOptions | None = None) -> Application:
    """The model as an ASGI application, behind all guards."""
    options = options or ServeOptions()
    facts = model.facts()
    numbers = {
        "nodes": facts.nodes,
        "edges": facts.edges,
        "classes": len(facts.classes),
        "replicas": facts.replicas,
        "test_accuracy_ratio": facts.test_accuracy / 100,
    }
    labels = {"method": facts.method, "data": facts.data, "version": __version__}
    metrics = Metrics(numbers, labels)
    app = new_application(
        title="agnn", version=__version__, description=f"{facts.title} on {facts.data}"
    )
    add_routes(app, model, metrics, Workload(), has_token=options.token is not None)
    add_page(app, model)
    inside: Application = app
    if options.token is not None:
        inside = TokenGuard(app, options.token, _is_open, _REFUSAL)
    inside = guarded(inside, options.hosts, max_body=options.max_body)
    return Observer(_in_turn(inside), metrics, options.log)


def _in_turn(app: Application) -> Application:
    """`app` with one new request per turn of the event loop; /health does not wait for its turn.

    A crowd of requests that are read at the same moment would else be answered in one go, and a
    request for /health would wait for all of them.
    """
    lock = asyncio.Lock()

    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] != "/health":
            async with lock:
                await asyncio.sleep(0)
        await app(scope, receive, send)

    return ask


def find_token(path: Path | None, variable: str) -> str | None:
    """Return the token in a file, else in a variable of the environment; None without either.

    It has no spaces around it. Raises unless a header can carry it.
    """
    if path is None:
        token = os.environ.get(variable)
        origin = f"the environment's {variable}"
    else:
        origin = f"'{path}'"
        try:
            with path.open(encoding="utf-8") as stream:
                token = stream.read(10_000)
        except UnicodeDecodeError as error:
            raise InputError(f"the token file '{path}' is not text.") from error
    if token is None:
        return None
    if not _TOKEN_FORM.fullmatch(token.strip()):
        raise InputError(
            f"the token in {origin} must be 16 to 500 letters, digits or . _ ~ + / = - signs; such "
            f"as python -c 'import secrets; print(secrets.token_urlsafe())' prints."
        )
    return token.strip()
