"""Somebody's own words as far as they can be shown: in one line, and not too long."""

from __future__ import annotations

import unicodedata
from typing import Final

_MARKED: Final = "\N{REPLACEMENT CHARACTER}"
# Letters that turn the direction of all that follows: a name must not rearrange a page.
_TURNS: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_LONGEST: Final = 80


def shown_text(value: object, longest: int = _LONGEST) -> str:
    """The value as text: letters that cannot be seen are marked, and a long middle is left out."""
    text = "".join(_visible(letter) for letter in str(value))
    if len(text) <= longest:
        return text
    tail = longest // 3
    return f"{text[: longest - tail - 1]}\N{HORIZONTAL ELLIPSIS}{text[-tail:]}"


def _visible(letter: str) -> str:
    if letter.isspace():
        return " "
    is_hidden = unicodedata.category(letter) in ("Cc", "Cs") or letter in _TURNS
    return _MARKED if is_hidden else letter
