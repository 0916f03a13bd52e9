"""Numbers and names as reports print them."""

from __future__ import annotations

import math
import unicodedata
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agnn.metrics import Summary

NOTHING: Final = "\N{EN DASH}"
_MARKED: Final = "\N{REPLACEMENT CHARACTER}"
# Characters that turn the direction of all that follows: a name must not rearrange a page.
_TURNS: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_LONGEST: Final = 80


def shown_text(value: object, longest: int = _LONGEST) -> str:
    """A user's own text in one line: invisible characters are marked, a long middle is left out."""
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


def signed(value: float) -> str:
    """Two places and a sign, with the minus of print; a zero has none, and NaN is a dash."""
    if math.isnan(value):
        return NOTHING
    text = f"{value:+.2f}"
    return "0.00" if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")


def percent(share: Summary | None) -> str:
    """A share of 1 as percent with its standard error; a dash where there is none."""
    if share is None:
        return NOTHING
    error = share.standard_error
    return f"{100 * share.mean:.1f}" + ("" if error is None else f" ± {100 * error:.1f}")
