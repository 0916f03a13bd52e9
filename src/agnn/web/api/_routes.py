"""The operations: predict, new nodes, explain, facts on model and server; and their counts."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypeVar

from fastapi import APIRouter, Depends, FastAPI, Query, Response
from fastapi.security import HTTPBearer
from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4 as CONTENT_TYPE,
    CollectorRegistry,
    Counter,
    Gauge,
    Info,
    generate_latest,
)

from agnn import __version__
from agnn.web._asgi import Application, Message, Receive, Scope, Send
from agnn.web._errors import BusyError, JsonRoute
from agnn.web.api._schema import (
    LONGEST_ID,
    MOST_REASONS,
    Explained,
    Health,
    KnownNodes,
    ModelFacts,
    Predictions,
    Problem,
    new_nodes_schema,
)
from agnn.web.api._served_model import ServedModel

_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Metrics:
    """What was asked so far and how long it took, with facts about the model.

    `numbers` become gauges named agnn_model_NAME, `words` the labels of agnn_model_info.
    """

    def __init__(self, numbers: Mapping[str, float], info: Mapping[str, str]) -> None:
        registry = self._registry = CollectorRegistry()
        labels = ("route", "method")
        self._requests = Counter(
            "agnn_requests", "Requests answered.", (*labels, "status"), registry=registry
        )
        self._seconds = Counter(
            "agnn_request_seconds", "Time spent on requests.", labels, registry=registry
        )
        start = Gauge("agnn_start_time_seconds", "When the server started.", registry=registry)
        start.set_to_current_time()
        Info("agnn_model", "The model that is served.", registry=registry).info(dict(info))
        for name, value in numbers.items():
            Gauge(f"agnn_model_{name}", "A fact about the model.", registry=registry).set(value)

    def add(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._requests.labels(route, method, str(status)).inc()
        self._seconds.labels(route, method).inc(seconds)

    def text(self) -> bytes:
        """All metrics in Prometheus's text format."""
        return generate_latest(self._registry)


class Observer:
    """Counts every request and logs a line about it, without bodies, queries or headers."""

    def __init__(self, app: Application, metrics: Metrics, log: Callable[[str], None]) -> None:
        self.app = app
        self.metrics = metrics
        self.log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and record its status and time."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 0
        start = time.perf_counter()

        async def watch(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, watch)
        finally:
            self._finish(scope, status, time.perf_counter() - start)

    def _finish(self, scope: Scope, status: int, seconds: float) -> None:
        # Clients choose paths and methods: as labels they would grow without limit.
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self.metrics.add(route, method, status, seconds)
        when = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        who = (scope.get("client") or ("-",))[0]
        path = scope["path"][:200].encode("unicode_escape").decode()  # no line ends, no colours
        self.log(f"{when} {who} {method} {path} {status or '-'} {1000 * seconds:.0f} ms")


Result = TypeVar("Result")
_PAUSE: Final = 0.2  # seconds before a request is refused because the server is busy
_WORDS: Final = {
    400: "The body is not JSON, or the Host header is not a name of this server.",
    401: "The token is missing or wrong.",
    403: "The request comes from a page of another site.",
    404: "No node has this id.",
    408: "The body did not arrive in time.",
    409: "This model or this graph cannot serve the request.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    422: "The request does not follow this schema.",
    501: "A package is missing on the server.",
    503: "The server is busy.",
}
_ALWAYS: Final = (400, 403, 408, 413)
_ASKED: Final = (*_ALWAYS, 404, 409, 422, 503)


class Workload:
    """Runs functions in `threads` threads, outside the event loop; at most `waiting` more wait."""

    def __init__(self, threads: int = 2, waiting: int = 30) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="agnn-serve")
        self._most = threads + waiting
        self.running = 0

    async def run(self, function: Callable[[], Result]) -> Result:
        """The function's result; a `BusyError` if too many wait already."""
        if self.running >= self._most:
            # A client that asks again at once would take the time of those that wait.
            await asyncio.sleep(_PAUSE)
        if self.running >= self._most:
            raise BusyError("the server is busy; ask again in a second.")
        self.running += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, function)
        finally:
            self.running -= 1


def add_routes(
    app: FastAPI, model: ServedModel, metrics: Metrics, work: Workload, *, has_token: bool
) -> None:
    """Add every operation to `app`."""
    guard = [Depends(HTTPBearer(auto_error=False))] if has_token else []  # for the schema alone
    router = APIRouter(dependencies=guard, route_class=JsonRoute)
    token = (401,) if has_token else ()
    _add_questions(router, model, work, token)
    _add_facts(router, model, metrics, token)
    app.include_router(router)

    alive = Health(status="ok", version=__version__).model_dump_json().encode()

    @app.get("/health", response_model=Health, responses=_responses(_ALWAYS))
    async def health() -> Response:
        """Check that the server answers."""
        return _json(alive)


def _responses(*statuses: tuple[int, ...]) -> dict[int | str, dict[str, Any]]:
    """Descriptions of these statuses for the schema."""
    every = sorted(code for group in statuses for code in group)
    return {code: {"model": Problem, "description": _WORDS[code]} for code in every}


def _add_questions(
    router: APIRouter, model: ServedModel, work: Workload, token: tuple[int, ...]
) -> None:
    new_nodes = new_nodes_schema(model.preprocessing, has_edge_weights=model.run.data.is_weighted)
    first_id = str(model.run.data.node_ids[0])

    @router.post(
        "/predict", response_model=Predictions, responses=_responses(_ASKED, token, (415,))
    )
    async def predict(question: KnownNodes) -> Response:
        """Predict nodes of the graph, with probabilities and, if asked for, decisions."""

        def answer() -> bytes:
            return _json_bytes(model.known(question.ids, question.decisions))

        # A thread takes longer to start than a few predictions that only have to be looked up.
        is_instant = question.decisions is None and model.is_instant(question.ids)
        return _json(answer() if is_instant else await work.run(answer))

    @router.post(
        "/predict/new", response_model=Predictions, responses=_responses(_ASKED, token, (415, 501))
    )
    async def predict_new(question: new_nodes) -> Response:  # type: ignore[valid-type]
        """Predict new nodes with edges into the graph, which is not changed."""
        body: Any = question

        def answer() -> bytes:
            nodes = [(node.id, _by_column(node.columns)) for node in body.nodes]
            return _json_bytes(model.new(nodes, body.edges, body.decisions))

        return _json(await work.run(answer))

    @router.get("/explain", response_model=Explained, responses=_responses(_ASKED, token))
    async def explain(
        node: Annotated[str, Query(max_length=LONGEST_ID, examples=[first_id])],
        limit: Annotated[int, Query(ge=1, le=MOST_REASONS)] = 10,
    ) -> Response:
        """Explain the prediction of a node by its neighbours and features."""

        def answer() -> bytes:
            return json.dumps(model.explanation(node, limit), allow_nan=False).encode()

        return _json(await work.run(answer))


def _json_bytes(predictions: Predictions) -> bytes:
    # What was not asked for is left out.
    return predictions.model_dump_json(exclude_unset=True).encode()


def _json(body: bytes) -> Response:
    """An answer that a thread has written already: the event loop is kept free for others."""
    return Response(body, media_type="application/json")


def _add_facts(
    router: APIRouter, model: ServedModel, metrics: Metrics, token: tuple[int, ...]
) -> None:
    facts = model.facts()
    errors = _responses(_ALWAYS, token)
    measures = {**errors, 200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}

    @router.get("/model", responses=errors)
    async def model_facts() -> ModelFacts:
        """Describe the model and the requests it takes."""
        return facts

    @router.get("/metrics", responses=measures, response_class=Response)
    async def metrics_text() -> Response:
        """Report requests, seconds and facts about the model, for Prometheus."""
        return Response(metrics.text(), headers={"content-type": CONTENT_TYPE})


def _by_column(columns: Any) -> dict[str, Any]:
    """The cells of a new node by the names of their columns."""
    cells: dict[str, Any] = (
        columns if isinstance(columns, dict) else columns.model_dump(by_alias=True)
    )
    return cells
