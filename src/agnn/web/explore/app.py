"""The explorer's page and the questions it asks, as an application behind the guards."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import FastAPI, Query
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles

from agnn.errors import AgnnError, InputError
from agnn.web.explore.records import plain_numbers
from agnn.web.guards import guarded

if TYPE_CHECKING:
    from fastapi import Request

    from agnn.web.asgi import Application
    from agnn.web.explore.explorer import Explorer

MOST_NODES: Final = 600  # that a picture shows
MOST_FOUND: Final = 20  # that a search lists
MOST_EDGES: Final = 50  # that a cell of the heat map lists
_STATIC: Final = Path(__file__).parent / "static"
_PAIR: Final = re.compile(r"(\d{1,10})-(\d{1,10})")

Node = Annotated[str, Query(max_length=500)]
Count = Annotated[int, Query(ge=0, le=2**31)]


class UnknownNodeError(InputError):
    """The data has no such node."""


def explore_app(explorer: Explorer) -> Application:
    """The application: the page, its files, and the answers under /api, all by GET."""
    app = FastAPI(title="agnn explore", docs_url=None, redoc_url=None, openapi_url=None)
    app.mount("/static", StaticFiles(directory=_STATIC), name="static")
    _add_errors(app)
    _add_nodes(app, explorer)
    _add_classes(app, explorer)

    @app.get("/")
    def page() -> FileResponse:
        return FileResponse(_STATIC / "index.html")

    return guarded(app)


def _add_nodes(app: FastAPI, explorer: Explorer) -> None:
    @app.get("/api/about")
    def about() -> JSONResponse:
        with explorer.node_lock:
            return JSONResponse(explorer.about())

    @app.get("/api/search")
    def search(q: Node = "") -> JSONResponse:
        with explorer.node_lock:
            found = explorer.search.find(q, MOST_FOUND)
            nodes = [explorer.node_record(node) for node in found.nodes]
        return JSONResponse({"nodes": nodes, "is_all": found.is_all})

    @app.get("/api/around")
    def around(
        node: Node,
        hops: Annotated[int, Query(ge=1, le=3)] = 2,
        limit: Annotated[int, Query(ge=1, le=MOST_NODES)] = 60,
        replica: Annotated[int | None, Query(ge=0)] = None,
    ) -> JSONResponse:
        with explorer.node_lock:
            index = _index(explorer, node)
            return JSONResponse(explorer.around(index, hops=hops, limit=limit, replica=replica))

    @app.get("/api/without")
    def without(node: Node, edges: Annotated[str, Query(max_length=2000)] = "") -> JSONResponse:
        with explorer.node_lock:
            return JSONResponse(explorer.without(_index(explorer, node), _pairs(edges)))

    @app.get("/api/differences")
    def differing() -> JSONResponse:
        with explorer.node_lock:
            found = explorer.differing
            ids = [str(explorer.data.node_ids[node]) for node in found.nodes]
        return JSONResponse({"ids": ids, "right": found.right.tolist(), "count": found.total})


def _add_classes(app: FastAPI, explorer: Explorer) -> None:
    @app.get("/api/relevance")
    def relevance(run: Count = 0) -> JSONResponse:
        with explorer.class_lock:
            return JSONResponse({"layers": plain_numbers(explorer.cells(run).relevance)})

    @app.get("/api/cell")
    def cell(receiver: Count, sender: Count, layer: Count, run: Count = 0) -> JSONResponse:
        """The most relevant edges of a cell; layers count from 1."""
        with explorer.class_lock:
            return JSONResponse(explorer.cell_edges(run, layer, receiver, sender, MOST_EDGES))


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(AgnnError)
    def refused(_: Request, error: AgnnError) -> JSONResponse:
        status = 404 if isinstance(error, UnknownNodeError) else 400
        return JSONResponse({"error": str(error)}, status)

    @app.exception_handler(RequestValidationError)
    def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first: dict[str, Any] = error.errors()[0]
        return JSONResponse({"error": f"`{first['loc'][-1]}`: {first['msg']}."}, 400)


def _index(explorer: Explorer, node: str) -> int:
    try:
        return explorer.runs[0].node(node)
    except InputError as error:
        raise UnknownNodeError(str(error)) from error


def _pairs(text: str) -> list[tuple[int, int]]:
    """Edges written as 12-40,12-77: indices of their ends."""
    found = [_PAIR.fullmatch(part) for part in text.split(",") if part]
    if not all(found):
        raise InputError(f"`edges` must look like 12-40,12-77; got '{text[:80]}'.")
    return [(int(each[1]), int(each[2])) for each in found if each]
