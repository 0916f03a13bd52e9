"""The served application: the routes, and everything around them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from fastapi import FastAPI

from agnn import __version__
from agnn.web.api.metrics import Metrics
from agnn.web.api.observer import Observer
from agnn.web.api.page import add_page
from agnn.web.api.problems import answer_problems
from agnn.web.api.routes import add_routes
from agnn.web.api.served_model import ServedModel
from agnn.web.api.token import TokenGuard
from agnn.web.api.workload import Workload
from agnn.web.asgi import Application
from agnn.web.body_limit import MAX_BODY
from agnn.web.guards import guarded
from agnn.web.hosts import Hosts


def _nobody(_line: str) -> None:
    """Nobody is told."""


@dataclass(frozen=True)
class ServeOptions:
    """What an operator may say."""

    hosts: Hosts = field(default_factory=Hosts)
    token: str | None = None
    max_body: int = MAX_BODY
    log: Callable[[str], None] = _nobody


def served_application(model: ServedModel, options: ServeOptions | None = None) -> Application:
    """The model as an ASGI application, behind all guards."""
    options = options or ServeOptions()
    metrics = Metrics()
    app = FastAPI(
        title="agnn",
        version=__version__,
        description=f"{model.opened.method.title} on {model.opened.data.name}",
        docs_url=None,  # FastAPI's pages load scripts from elsewhere
        redoc_url=None,
    )
    answer_problems(app)
    add_routes(app, model, metrics, Workload(), has_token=options.token is not None)
    add_page(app)
    asked = TokenGuard(app, options.token)
    inside = guarded(asked, options.hosts, max_body=options.max_body)
    return Observer(inside, metrics, options.log)
