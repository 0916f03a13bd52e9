"""For griffe: docstrings as Markdown, with doctests as code and text taken literally."""

from __future__ import annotations

import re
from typing import Any

import griffe

_DOCTEST = re.compile(r"^( *)>>> .*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


class Docstrings(griffe.Extension):
    """Put doctests into code blocks."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Change the docstring of an object once it is collected."""
        if obj.docstring is not None:
            obj.docstring.value = with_code_blocks(obj.docstring.value)


def with_code_blocks(text: str) -> str:
    """The text with each doctest, up to the next empty line, between fences."""

    def fenced(match: re.Match[str]) -> str:
        margin = match[1]
        lines = [line.removeprefix(margin) for line in match[0].split("\n")]
        return "\n".join(["```pycon", *lines, "```"])

    return _DOCTEST.sub(fenced, text)
