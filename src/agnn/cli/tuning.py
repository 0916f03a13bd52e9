"""Checks of the hyper-parameters given as options."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from agnn.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping


def check_options(method: str, changes: Mapping[str, Any], *, is_tuned: bool = False) -> None:
    """Raise, in terms of options, for a hyper-parameter that the method does not take."""
    from agnn.methods import get_method

    found = get_method(method)
    known = {field.name for field in fields(found)}
    for field, value in changes.items():
        if value is None:
            continue
        if field not in known:
            takes = ", ".join(_option(each) for each in changes if each in known) or "none of them"
            raise InputError(f"{found.name} has no {_option(field)}; it takes {takes}.")
        if is_tuned and field in found.grid:
            raise InputError(f"{_option(field)} is among what --tuned chooses; leave one of them.")
        if not isinstance(value, str):
            _check_number(_option(field), value)


def _check_number(option: str, value: float) -> None:
    """Raise for a count below 1 and for infinity and NaN; the method checks the rest."""
    if isinstance(value, int) and value < 1:
        raise InputError(f"{option} must be at least 1; got {value}.")
    if not math.isfinite(value):
        raise InputError(f"{option} must be a finite number; got {value}.")


def _option(field: str) -> str:
    return "--" + field.replace("_", "-")
