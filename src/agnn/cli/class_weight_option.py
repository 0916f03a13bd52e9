"""Class weights as a user writes them: balanced, or NAME=WEIGHT for some classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agnn.errors import InputError

if TYPE_CHECKING:
    from agnn.runs import ClassWeight

ClassWeights = Annotated[
    list[str] | None,
    typer.Option(
        "--class-weight",
        help="'balanced' for rare classes to count as much as common ones, or NAME=WEIGHT; may be "
        "repeated.",
        show_default="all nodes count alike",
    ),
]


def class_weight_of(words: list[str] | None) -> ClassWeight:
    """What `evaluate` takes."""
    if not words:
        return None
    if words == ["balanced"]:
        return "balanced"
    weights = {}
    for word in words:
        name, sign, number = word.rpartition("=")
        if name in weights:
            raise InputError(
                f"--class-weight is given twice for class '{name}'; leave one of them."
            )
        try:
            weights[name] = float(number)
        except ValueError:
            sign = ""
        if not sign:
            raise InputError(f"--class-weight is 'balanced' or NAME=WEIGHT; got '{word}'.")
    return weights
