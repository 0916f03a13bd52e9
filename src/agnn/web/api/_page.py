"""A page that lists the operations, rendered on the server from the schema, without scripts."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import FastAPI, Request, Response
from jinja2 import Environment, PackageLoader

from agnn import palette
from agnn.files import plain_id
from agnn.web.api._schema import example_columns
from agnn.web.api._served_model import ServedModel

_METHODS: Final = ("get", "post")


def add_page(app: FastAPI, model: ServedModel) -> None:
    """Add the page at /, its style and its icon; its examples ask about the first node."""
    style = palette.page_style()
    style += (files("agnn.web.api") / "templates" / "api.css").read_text(encoding="utf-8")
    icon = (files("agnn.web.explore") / "static" / "icon.svg").read_text(encoding="utf-8")

    @app.get("/", include_in_schema=False)
    async def page(request: Request) -> Response:
        examples = _examples(request.headers.get("host", "127.0.0.1"), model)
        return Response(page_of(app.openapi(), examples), media_type="text/html")

    @app.get("/api.css", include_in_schema=False)
    async def page_style() -> Response:
        return Response(style, media_type="text/css")

    @app.get("/icon.svg", include_in_schema=False)
    async def page_icon() -> Response:
        return Response(icon, media_type="image/svg+xml")


def _examples(address: str, model: ServedModel) -> list[str]:
    """Commands for a shell that ask about a node, and about a new one beside it."""
    node = model.run.data.node_ids[0]

    def post_command(path: str, body: Any) -> str:
        curl = shlex.join(["curl", "-s", f"{address}{path}"])
        return f"{curl} -H 'Content-Type: application/json' -d {shlex.quote(json.dumps(body))}"

    commands = [post_command("/predict", {"ids": [plain_id(node)]})]
    if model.run.is_cross_fitted:
        sets = {"ids": [plain_id(node)], "decisions": {"coverage": 0.9}}
        commands.append(post_command("/predict", sets))
    if model.preprocessing is not None:
        new = {"id": "a new node", "columns": example_columns(model.preprocessing)}
        weight = [1.0] if model.run.data.is_weighted else []
        edge = [new["id"], plain_id(node), *weight]
        commands.append(post_command("/predict/new", {"nodes": [new], "edges": [edge]}))
    if model.why_no_reasons is None:
        query = urlencode({"node": str(node)})
        commands.append(shlex.join(["curl", "-s", f"{address}/explain?{query}"]))
    return commands


def page_of(schema: dict[str, Any], examples: Sequence[str]) -> str:
    """The operations and the shapes of an OpenAPI schema as one HTML page."""
    loader = PackageLoader("agnn.web.api", "templates")
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["type"] = _type
    operations = [
        {"method": method.upper(), "path": path, **about[method]}
        for path, about in schema["paths"].items()
        for method in _METHODS
        if method in about
    ]
    return environment.get_template("api.html").render(
        info=schema["info"], operations=operations, shapes=_shapes(schema), examples=examples
    )


def _shapes(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The bodies by name, each with its fields: name, type, whether it is required, meaning."""
    shapes = []
    for name, shape in schema["components"]["schemas"].items():
        required = shape.get("required", ())
        fields = [
            {
                "name": field,
                "type": _type(about),
                "required": field in required,
                "words": about.get("description", ""),
            }
            for field, about in shape.get("properties", {}).items()
        ]
        shapes.append({"name": name, "words": shape.get("description", ""), "fields": fields})
    return shapes


def _type(about: dict[str, Any]) -> str:
    """A JSON schema in a few words."""
    if "$ref" in about:
        return str(about["$ref"]).rpartition("/")[2]
    if "anyOf" in about:
        return " or ".join(_type(option) for option in about["anyOf"])
    if about.get("type") == "array":
        inside = about.get("items") or {"anyOf": about.get("prefixItems", [])}
        most = f", at most {about['maxItems']:,}" if "maxItems" in about else ""
        return f"array of ({_type(inside)}){most}"
    limits = [
        f"{word} {_number(about[key])}"
        for key, word in (
            ("minimum", "from"),
            ("maximum", "to"),
            ("maxLength", "up to length"),
        )
        if key in about
    ]
    return " ".join([str(about.get("type", "anything")), *limits])


def _number(value: float) -> str:
    """A limit without a fraction that says nothing."""
    return f"{int(value):,}" if value == int(value) else f"{value:,}"
