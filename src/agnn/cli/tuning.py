"""The method that a user asks for, with the hyper-parameters that they set."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from agnn.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agnn.data import NodeData
    from agnn.methods import Method


def tuned_method(
    name: str, split: str, data: NodeData, changes: Mapping[str, Any], *, is_tuned: bool = False
) -> Method:
    """The defaults for this split and data, with the `changes` that are not None.

    If `is_tuned`, the rest of the method's grid is chosen on validation nodes.
    """
    from agnn.data import check_scaling
    from agnn.methods import NetworkMethod, Tuned
    from agnn.runs import suited_method

    method = suited_method(name, split, data)
    wanted = {field: value for field, value in changes.items() if value is not None}
    known = {field.name for field in fields(method)}
    for field in wanted:
        if field not in known:
            takes = ", ".join(_option(each) for each in changes if each in known) or "none of them"
            raise InputError(f"{method.name} has no {_option(field)}; it takes {takes}.")
        if is_tuned and field in method.grid:
            raise InputError(f"{_option(field)} is among what --tuned chooses; leave one of them.")
        if not isinstance(wanted[field], str):
            _check_number(_option(field), wanted[field])
    method = method.with_fields(**wanted)
    if isinstance(method, NetworkMethod):
        check_scaling(method.scaling)
        method.recipe()  # it has checks of its own
    return Tuned(method) if is_tuned else method


def _check_number(option: str, value: float) -> None:
    """Raise for a count below 1 and for what is no number; the method checks the rest."""
    if isinstance(value, int) and value < 1:
        raise InputError(f"{option} must be at least 1; got {value}.")
    if not math.isfinite(value):
        raise InputError(f"{option} must be a finite number; got {value}.")


def _option(field: str) -> str:
    return "--" + field.replace("_", "-")
