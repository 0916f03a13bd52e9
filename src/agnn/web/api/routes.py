"""The operations: predict, predict for new nodes, explain, and what the server says of itself."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer

from agnn import __version__
from agnn.web.api.column_schema import new_nodes_schema
from agnn.web.api.facts import model_facts, model_numbers, model_words
from agnn.web.api.metrics import CONTENT_TYPE, Metrics
from agnn.web.api.problems import problem
from agnn.web.api.schema import (
    LONGEST_ID,
    MOST_REASONS,
    Explained,
    Health,
    KnownNodes,
    ModelFacts,
    Predictions,
    Problem,
)
from agnn.web.api.served_model import ServedModel
from agnn.web.api.workload import Workload

_WORDS = {
    400: "The request is malformed, or was sent to another name than the server's.",
    401: "The token is missing or wrong.",
    403: "The request comes from a page of another site.",
    404: "No node has this id.",
    408: "The body did not arrive in time.",
    409: "This model or this graph cannot serve the request.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    422: "The request is not as this page says.",
    501: "The server lacks a package.",
    503: "The server is busy.",
}
_ALWAYS = (400, 403, 408, 413)
_ASKED = (*_ALWAYS, 404, 409, 422, 503)


class JsonRoute(APIRoute):
    """A route whose body must be called JSON, or it is not looked at."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler behind the check."""
        handle = super().get_route_handler()

        async def checked(request: Request) -> Response:
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if request.method == "POST" and kind != "application/json":
                return problem(415, "send the body as 'Content-Type: application/json'.")
            return await handle(request)

        return checked


def add_routes(
    app: FastAPI, model: ServedModel, metrics: Metrics, work: Workload, *, has_token: bool
) -> None:
    """Add every operation to `app`."""
    guard = [Depends(HTTPBearer(auto_error=False))] if has_token else []  # for the schema alone
    asked = APIRouter(dependencies=guard, route_class=JsonRoute)
    token = (401,) if has_token else ()
    _add_questions(asked, model, work, token)
    _add_facts(asked, model, metrics, token)
    app.include_router(asked)

    @app.get("/health", responses=_described(_ALWAYS))
    async def health() -> Health:
        """Whether the server answers."""
        return Health(status="ok", version=__version__)


def _described(*statuses: tuple[int, ...]) -> dict[int | str, dict[str, Any]]:
    """What the page says of these statuses."""
    every = sorted(code for some in statuses for code in some)
    return {code: {"model": Problem, "description": _WORDS[code]} for code in every}


def _add_questions(
    router: APIRouter, model: ServedModel, work: Workload, token: tuple[int, ...]
) -> None:
    new_nodes = new_nodes_schema(model.preprocessing)
    first = model.opened.data.node_ids[0]

    @router.post("/predict", responses=_described(_ASKED, token, (415,)))
    async def predict(question: KnownNodes) -> Predictions:
        """The class of nodes that the graph has, with its confidence."""
        return Predictions(predictions=await work.run(lambda: model.known(question.ids)))

    @router.post("/predict/new", responses=_described(_ASKED, token, (415, 501)))
    async def predict_new(question: new_nodes) -> Predictions:  # type: ignore[valid-type]
        """The class of nodes that come now, with edges into the graph; it is not changed."""
        given: Any = question
        nodes = [(each.id, _cells(each.columns)) for each in given.nodes]
        found = await work.run(lambda: model.new(nodes, given.edges))
        return Predictions(predictions=found)

    @router.get("/explain", responses=_described(_ASKED, token))
    async def explain(
        node: Annotated[str, Query(max_length=LONGEST_ID, examples=[str(first)])],
        limit: Annotated[int, Query(ge=1, le=MOST_REASONS)] = 10,
    ) -> Explained:
        """Why a node of the graph gets its class: the neighbours and features that speak for it."""
        return await work.run(lambda: model.explanation(node, limit))


def _add_facts(
    router: APIRouter, model: ServedModel, metrics: Metrics, token: tuple[int, ...]
) -> None:
    facts = model_facts(model)
    errors = _described(_ALWAYS, token)
    measures = {**errors, 200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}

    @router.get("/model", responses=errors)
    async def served() -> ModelFacts:
        """What is served, and what it can be asked."""
        return facts

    @router.get("/metrics", responses=measures, response_class=Response)
    async def measured() -> Response:
        """Requests by route and status, seconds, and facts about the model, for Prometheus."""
        found = metrics.text(model_numbers(facts), model_words(facts))
        return Response(found, headers={"content-type": CONTENT_TYPE})


def _cells(columns: Any) -> dict[str, Any]:
    """The columns of a new node by their own names."""
    cells: dict[str, Any] = (
        columns if isinstance(columns, dict) else columns.model_dump(by_alias=True)
    )
    return cells
