"""The templates of this package, and how they write numbers and names."""

from __future__ import annotations

import base64
import shlex

import jinja2

from agnn.report._text import percent, shown_text, signed


def environment() -> jinja2.Environment:
    """The templates; what they print is escaped, and nothing may be missing."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("agnn.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        signed=signed, percent=percent, shown=shown_text,
        data_address=_data_address, quoted=shlex.quote,
    )  # fmt: skip
    return made


def _data_address(svg: str) -> str:
    """The image as an address that holds all of it."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
