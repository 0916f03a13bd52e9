"""What both applications begin with; errors: a status and one form, {"error": one sentence}."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from agnn.errors import AgnnError, UnavailableError, UnknownNodeError
from agnn.web._asgi import error_body


class ConflictError(AgnnError):
    """The request is well formed, but this model or this graph cannot serve it."""


class BusyError(AgnnError):
    """The server computes as much as it may already."""


_STATUS: Final[Mapping[type[AgnnError], int]] = {
    UnknownNodeError: 404,
    ConflictError: 409,
    BusyError: 503,
    UnavailableError: 501,
}
_SHOWN: Final = 3  # validation errors in one sentence
_WORDS: Final = {
    "missing": "is missing",
    "extra_forbidden": "is not a field of this request",
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "string_too_long": "has more than {max_length} characters",
    "string_unicode": "is not text that UTF-8 can write",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a smaller whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be above {gt}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "list_type": "must be an array",
    "tuple_type": "must be an array of two ids",
    "too_short": "needs at least {min_length}",
    "too_long": "has more than {max_length} entries",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
}


def error_answer(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """An answer that reports an error."""
    body = error_body(" ".join(message.split()))
    return Response(body, status, dict(headers or {}), media_type="application/json")


class JsonRoute(APIRoute):
    """A route that takes only bodies with the content type of JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler behind the check."""
        handle = super().get_route_handler()

        async def check(request: Request) -> Response:
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if request.method == "POST" and kind != "application/json":
                return error_answer(415, "send the body as 'Content-Type: application/json'.")
            return await handle(request)

        return check


def new_application(**options: Any) -> FastAPI:
    """Return an application without FastAPI's pages, which load scripts from elsewhere.

    Every error has the same form.
    """
    app = FastAPI(docs_url=None, redoc_url=None, redirect_slashes=False, **options)
    _add_error_answers(app)
    return app


def _add_error_answers(app: FastAPI) -> None:

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        errors = error.errors()
        status = 400 if errors[0]["type"] == "json_invalid" else 422
        return error_answer(status, validation_sentence(errors))

    @app.exception_handler(AgnnError)
    async def refusal(_: Request, error: AgnnError) -> Response:
        status = _STATUS.get(type(error), 422)
        return error_answer(status, str(error), {"retry-after": "1"} if status == 503 else None)

    @app.exception_handler(HTTPException)
    async def no_route(request: Request, error: HTTPException) -> Response:
        messages = {
            404: f"there is nothing at {request.url.path[:200]}.",
            405: f"{request.method[:20]} is not a method of {request.url.path[:200]}.",
            400: "the body is not JSON in UTF-8 that can be read.",
        }
        message = messages.get(error.status_code, str(error.detail))
        return error_answer(error.status_code, message, error.headers)

    @app.exception_handler(Exception)
    async def fault(_request: Request, _error: Exception) -> Response:
        return error_answer(500, "internal error; the log of the server has the details.")


def validation_sentence(errors: Sequence[Mapping[str, Any]]) -> str:
    """Pydantic's errors as a sentence, such as: `ids[3]` must be text or a whole number."""
    if errors[0]["type"] == "json_invalid":
        position = errors[0]["loc"][-1]
        why = errors[0]["ctx"]["error"]
        return f"the body is not JSON: {why} at character {position}."
    by_place: dict[str, list[Mapping[str, Any]]] = {}
    for error in errors:
        by_place.setdefault(_place(error["loc"]), []).append(error)
    parts = [f"{place} {_what(mistakes)}" for place, mistakes in by_place.items()]
    more = f"; and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else ""
    return "; ".join(parts[:_SHOWN]) + more + "."


def _what(errors: Sequence[Mapping[str, Any]]) -> str:
    """What is wrong at one place.

    Where a value may be text or a number, pydantic reports one error for each. An error that is
    not about the type is about the value that came.
    """
    telling = [error for error in errors if not str(error["type"]).endswith("_type")]
    phrases = [
        _WORDS.get(error["type"], str(error["msg"])).format(**error.get("ctx", {}))
        for error in telling[:1] or errors
    ]
    return " or ".join([phrases[0], *(phrase.removeprefix("must be ") for phrase in phrases[1:])])


def _place(path: Sequence[str | int]) -> str:
    """Where in the request, such as `nodes[3].id`, without pydantic's names of types."""
    written = ""
    for part in path[1:]:
        if isinstance(part, int):
            written += f"[{part}]"
        elif not part.startswith(("constrained-", "function-")):
            written += f".{part[:100]}"
    return f"`{written.lstrip('.')}`" if written else f"the {path[0]}"
