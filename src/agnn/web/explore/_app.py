"""The explorer's page and the requests it makes, as an application behind the guards."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

from fastapi import Depends, FastAPI, Query
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles

from agnn.errors import InputError
from agnn.explanation import Changes
from agnn.palette import page_style
from agnn.web._asgi import Application
from agnn.web._errors import new_application
from agnn.web.explore._explorer import Explorer
from agnn.web.explore._labelling import Labelling, add_labelling
from agnn.web.explore._picture import plain_numbers
from agnn.web.explore._shared_answers import COVERAGE
from agnn.web.guards import TokenGuard, guarded

_MOST_NODES: Final = 600  # in a picture
_MOST_HOPS: Final = 8
_MOST_FOUND: Final = 20  # by a search
_MOST_EDGES: Final = 50  # in the list of a cell of the class map
_STATIC: Final = Path(__file__).parent / "static"
_REFUSAL: Final = "open the link that `agnn explore` printed: it carries the token of this page."
_PAIR: Final = re.compile(r"(\d{1,10})-(\d{1,10})")

Node = Annotated[str, Query(max_length=500)]
Edges = Annotated[str, Query(max_length=16_000)]
Replica = Annotated[int | None, Query(ge=0)]
Count = Annotated[int, Query(ge=0, le=2**31)]


def _changes(
    without: Edges = "",
    added: Annotated[str, Query(alias="with", max_length=16_000)] = "",
    drop: Edges = "",
    betas: Annotated[str, Query(max_length=400)] = "",
) -> Changes:
    """What is to be seen otherwise than trained: edges, features of nodes, betas."""
    return Changes(
        added=_pairs(added, "with"),
        removed=_pairs(without, "without"),
        dropped=_pairs(drop, "drop"),
        betas=_numbers(betas),
    )


WhatIf = Annotated[Changes, Depends(_changes)]


def explore_app(explorer: Explorer, labelling: Labelling | None = None) -> Application:
    """The application: the page, its files, and the answers under /api.

    All are asked by GET, but for what changes something in label mode. In label mode answers and
    changes take the token of `labelling`; the page itself holds no data.
    """
    app = new_application(title="agnn explore", openapi_url=None)
    app.mount("/static", StaticFiles(directory=_STATIC), name="static")

    def shown() -> Explorer:
        return explorer if labelling is None else labelling.explorer

    _add_nodes(app, shown, is_labelling=labelling is not None)
    if labelling is not None:
        add_labelling(app, labelling)
    _add_classes(app, shown)

    @app.get("/")
    def page() -> FileResponse:
        return FileResponse(_STATIC / "index.html")

    @app.get("/palette.css")
    def palette() -> Response:
        return Response(page_style(), media_type="text/css")

    return guarded(
        app if labelling is None else TokenGuard(app, labelling.token, _is_page, _REFUSAL)
    )


def _is_page(path: str) -> bool:
    return path in ("/", "/palette.css") or path.startswith("/static/")


def _add_nodes(app: FastAPI, current: Callable[[], Explorer], *, is_labelling: bool) -> None:
    @contextmanager
    def node_turn() -> Iterator[Explorer]:
        explorer = current()
        with explorer.node_lock:
            yield explorer

    @app.get("/api/about")
    def about() -> JSONResponse:
        with node_turn() as explorer:
            return JSONResponse(explorer.about() | {"is_labelling": is_labelling})

    @app.get("/api/search")
    def search(q: Node = "") -> JSONResponse:
        with node_turn() as explorer:
            matches = explorer.search.find(q, _MOST_FOUND)
            nodes = [explorer.node_record(node) for node in matches.nodes]
        return JSONResponse({"nodes": nodes, "is_all": matches.is_all})

    @app.get("/api/around")
    def around(
        node: Node,
        changes: WhatIf,
        hops: Annotated[int, Query(ge=1, le=_MOST_HOPS)] = 2,
        limit: Annotated[int, Query(ge=1, le=_MOST_NODES)] = 60,
        replica: Replica = None,
    ) -> JSONResponse:
        with node_turn() as explorer:
            index = explorer.runs[0].node(node)
            facts = explorer.around(index, hops=hops, limit=limit, replica=replica, changes=changes)
            return JSONResponse(facts)

    @app.get("/api/change")
    def change(node: Node, changes: WhatIf) -> JSONResponse:
        """The fewest edges whose removal changes the prediction."""
        with node_turn() as explorer:
            return JSONResponse(explorer.change(explorer.runs[0].node(node), changes))

    @app.get("/api/features")
    def features(
        node: Node, changes: WhatIf, of: Count | None = None, replica: Replica = None
    ) -> JSONResponse:
        """The features of the node with index `of`, and what they add at the node `node`."""
        with node_turn() as explorer:
            target = explorer.runs[0].node(node)
            source = target if of is None else of
            return JSONResponse(explorer.features(target, source, replica, changes))

    @app.get("/api/removals")
    def removals(
        node: Node, changes: WhatIf, edges: Edges = "", replica: Replica = None
    ) -> JSONResponse:
        with node_turn() as explorer:
            index = explorer.runs[0].node(node)
            pairs = _pairs(edges, "edges")
            return JSONResponse(explorer.removals(index, pairs, replica, changes))

    @app.get("/api/cohort")
    def cohort(key: Node) -> JSONResponse:
        with node_turn() as explorer:
            return JSONResponse(explorer.cohort(key))

    @app.get("/api/set")
    def prediction_set(
        node: Node, coverage: Annotated[float, Query(gt=0.0, lt=1.0)] = COVERAGE
    ) -> JSONResponse:
        """The classes that fit a node."""
        with node_turn() as explorer:
            return JSONResponse(explorer.sets(explorer.runs[0].node(node), coverage))

    @app.get("/api/map")
    def points() -> JSONResponse:
        with node_turn() as explorer:
            return JSONResponse(explorer.map)


def _add_classes(app: FastAPI, current: Callable[[], Explorer]) -> None:
    @contextmanager
    def class_turn() -> Iterator[Explorer]:
        explorer = current()
        with explorer.class_lock:
            yield explorer

    @app.get("/api/relevance")
    def relevance(run: Count = 0) -> JSONResponse:
        with class_turn() as explorer:
            return JSONResponse({"layers": plain_numbers(explorer.class_map(run).relevance)})

    @app.get("/api/cell")
    def cell(receiver: Count, sender: Count, layer: Count, run: Count = 0) -> JSONResponse:
        """The most relevant edges of a cell; layers count from 1."""
        with class_turn() as explorer:
            return JSONResponse(explorer.cell_edges(run, layer, receiver, sender, _MOST_EDGES))


def _numbers(text: str) -> tuple[float, ...] | None:
    """Numbers from text such as 0,6.3; None from an empty one."""
    if not text:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"`betas` must look like 0,6.3; got '{text[:80]}'.") from None


def _pairs(text: str, name: str) -> tuple[tuple[int, int], ...]:
    """Pairs of indices from text such as 12-40,12-77."""
    matches = [_PAIR.fullmatch(part) for part in text.split(",") if part]
    if not all(matches):
        raise InputError(f"`{name}` must look like 12-40,12-77; got '{text[:80]}'.")
    return tuple((int(match[1]), int(match[2])) for match in matches if match)
