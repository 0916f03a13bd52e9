"""What pydantic says about a body, as one sentence that says where and what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

_SHOWN: Final = 3
_WORDS: Final = {
    "missing": "is missing",
    "extra_forbidden": "is no field of this request",
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "string_too_long": "has more than {max_length} characters",
    "string_unicode": "is not text that UTF-8 can write",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "greater_than_equal": "must be at least {ge}",
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


def sentence(complaints: Sequence[Mapping[str, Any]]) -> str:
    """The first few complaints, such as: `ids[3]` must be text or a whole number."""
    if complaints[0]["type"] == "json_invalid":
        place, why = complaints[0]["loc"][-1], complaints[0]["ctx"]["error"]
        return f"the body is not JSON: {why} at character {place}."
    by_place: dict[str, list[Mapping[str, Any]]] = {}
    for each in complaints:
        by_place.setdefault(_place(each["loc"]), []).append(each)
    said = [f"{place} {_what(some)}" for place, some in by_place.items()]
    more = f"; and {len(said) - _SHOWN} more" if len(said) > _SHOWN else ""
    return "; ".join(said[:_SHOWN]) + more + "."


def _what(complaints: Sequence[Mapping[str, Any]]) -> str:
    """What is wrong at one place.

    Where a value may be text or a number, pydantic complains once for each. A complaint that is
    not about the type is about the value that came.
    """
    telling = [each for each in complaints if not str(each["type"]).endswith("_type")]
    words = [
        _WORDS.get(each["type"], str(each["msg"])).format(**each.get("ctx", {}))
        for each in telling[:1] or complaints
    ]
    return " or ".join([words[0], *(each.removeprefix("must be ") for each in words[1:])])


def _place(place: Sequence[str | int]) -> str:
    """Where in the request: `nodes[3].id`; without the names that pydantic gives to types."""
    written = ""
    for part in place[1:]:
        if isinstance(part, int):
            written += f"[{part}]"
        elif not part.startswith(("constrained-", "function-")):
            written += f".{part[:100]}"
    return f"`{written.lstrip('.')}`" if written else f"the {place[0]}"
