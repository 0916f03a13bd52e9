"""Numbers and names as reports print them."""

from __future__ import annotations

import math
import unicodedata
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def number(value: float, digits: int | None) -> str:
    """With this many decimal places; None for as few as it needs."""
    return f"{value:g}" if digits is None else f"{value:.{digits}f}"


def signed_number(value: float, digits: int | None) -> str:
    """The same with a sign; what rounds to zero has none."""
    text = number(value, digits)
    if float(text) == 0:
        return number(0.0, digits)
    return f"+{text}" if value > 0 else "\N{MINUS SIGN}" + text.removeprefix("-")


def markdown_line(cells: Sequence[str]) -> str:
    """Return a line of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def listed(texts: Sequence[str]) -> str:
    """Return "a, b and c"."""
    return " and ".join([*([", ".join(texts[:-1])] if len(texts) > 1 else []), *texts[-1:]])
