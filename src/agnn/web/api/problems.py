"""What went wrong, in the one form of every error: {"error": one sentence}."""

from __future__ import annotations

import json
from collections.abc import Mapping

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from agnn.errors import AgnnError, UnavailableError
from agnn.web.api.complaints import sentence


class UnknownNodeError(AgnnError):
    """No node has the id that was asked for."""


class ConflictError(AgnnError):
    """The request is well formed, but this model or this graph cannot serve it."""


class BusyError(AgnnError):
    """More is being computed than this server does at once."""


_STATUS: Mapping[type[AgnnError], int] = {
    UnknownNodeError: 404,
    ConflictError: 409,
    BusyError: 503,
    UnavailableError: 501,
}


def problem(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """An answer that says what is wrong."""
    body = json.dumps({"error": message})  # plain ASCII: whatever a client sent may be in it
    return Response(body, status, dict(headers or {}), media_type="application/json")


def answer_problems(app: FastAPI) -> None:
    """Have every error of `app` answered in the one form."""

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        return problem(422, sentence(error.errors()))

    @app.exception_handler(AgnnError)
    async def refused(_: Request, error: AgnnError) -> Response:
        status = _STATUS.get(type(error), 422)
        headers = {"retry-after": "1"} if status == 503 else None
        return problem(status, " ".join(str(error).split()), headers)

    @app.exception_handler(HTTPException)
    async def unmatched(request: Request, error: HTTPException) -> Response:
        words = {
            404: f"there is nothing at {request.url.path[:200]}; the operations are listed at /.",
            405: f"{request.method[:20]} is no method of {request.url.path[:200]}.",
            400: "the body is not JSON in UTF-8 that can be read.",
        }
        message = words.get(error.status_code, str(error.detail))
        return problem(error.status_code, message, error.headers)

    @app.exception_handler(Exception)
    async def fault(_request: Request, _error: Exception) -> Response:
        return problem(500, "this is a fault of the server; its log says more.")
