"""What a user writes on the command line, as values that the library takes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from agnn.cli._config import file_of
from agnn.cli._options import HYPER_PARAMETERS
from agnn.errors import InputError, unknown_name

if TYPE_CHECKING:
    from pathlib import Path

    import typer

    from agnn.choosing import ClassWeight
    from agnn.methods import Method
    from agnn.runs import Training


def training_of(context: typer.Context, source: Any, options: dict[str, Any]) -> Training:
    """Return what the options ask for; rules are checked before the data is read."""
    from agnn.runs import USUAL_REPLICAS, Training, default_name, usual_replicas

    named = {name: options.pop(name) for name in HYPER_PARAMETERS}
    settings = options.pop("changes")
    training = Training(
        data=source,
        **options
        | {
            "class_weight": class_weight_of(options["class_weight"]),
            "callbacks": _trackers(options["callbacks"]),
        },
    )
    if training.is_auto:  # which has no hyper-parameters, and says so
        replicas = training.replicas
        training = replace(training, replicas=USUAL_REPLICAS if replicas is None else replicas)
        named |= dict(word.partition("=")[::2] for word in settings or ())
        return replace(training, changes=named)
    data = training.read_data()
    if training.parts is None:
        training = replace(training, data=data)
    if training.replicas is None:
        training = replace(training, replicas=usual_replicas(data, options["split"]))
    changes = hyper_parameters(
        str(training.method or default_name(data)),
        named,
        settings,
        is_tuned=training.tuned,
        file=file_of(context, "changes"),
    )
    return replace(training, changes=changes)


def _trackers(words: list[str] | None) -> list[Any]:
    """Return the trackers that --track names."""
    if not words:
        return []
    from agnn.trackers import tracker

    return [tracker(word) for word in words]


def hyper_parameters(
    method: str,
    named: Mapping[str, Any],
    settings: Sequence[str] | None,
    *,
    is_tuned: bool = False,
    file: Path | None = None,
) -> dict[str, Any]:
    """Return the hyper-parameters that a user sets: by their own options and by NAME=VALUE.

    `file` is the one whose table `set` holds the settings, if one does. Raises for one that the
    method does not have, for one of another type, and for one that is given twice or chosen by
    tuning.
    """
    from agnn.methods import get_method

    chosen = get_method(method)
    known = {field.name for field in fields(chosen)}
    changes: dict[str, Any] = {}
    for name, value in named.items():
        if value is None:
            continue
        if name not in known:
            takes = ", ".join(_option(field) for field in named if field in known) or "none of them"
            raise InputError(f"{chosen.name} has no {_option(name)}; it takes {takes}.")
        is_list = get_origin(get_type_hints(chosen)[name]) is tuple
        changes[name] = typed_value(chosen, name, value) if is_list else value
    for word in settings or ():
        name, sign, text = word.partition("=")
        if not sign:
            raise InputError(f"--set takes NAME=VALUE, such as --set heads=4; got '{word}'.")
        try:
            if name not in known:
                raise unknown_name(f"hyper-parameter of {chosen.name}", name, known)
            if name in changes:
                raise InputError(f"`{name}` is set twice; leave one out.")
            changes[name] = typed_value(chosen, name, text)
        except InputError as error:
            if file is None:
                raise
            raise InputError(f"'{file}', key `set.{name}`: {error}") from error
    for name, value in changes.items():
        label = _option(name) if named.get(name) is not None else f"`{name}`"
        if is_tuned and name in chosen.grid:
            raise InputError(f"{label} is chosen by --tuned; leave one of them out.")
        _check_number(label, value)
    return changes


def typed_value(method: type[Method], name: str, text: str) -> Any:
    """Return the value of a hyper-parameter, by the type of its field."""
    from pydantic import TypeAdapter, ValidationError

    hint = get_type_hints(method)[name]
    value: Any = text.strip()
    if value == "none" and method.may_be_none(name):
        return value
    if get_origin(hint) is tuple:
        value = tuple(part.strip() for part in value.strip("()").split(",") if part.strip())
    try:
        return TypeAdapter(hint).validate_python(value)
    except ValidationError as error:
        words = f"`{name}` of {method.name} must be {_kind_words(hint)}; got '{text}'."
        raise InputError(words) from error


def _kind_words(hint: Any) -> str:
    """Return a type in words."""
    kinds = get_args(hint)
    if get_origin(hint) is Literal:
        return f"one of {', '.join(map(str, kinds))}"
    if get_origin(hint) is tuple:
        return f"values separated by commas, each {_kind_words(kinds[0])}"
    if kinds:  # a union
        return " or ".join(map(_kind_words, kinds))
    words = {
        type(None): "none",
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "a text",
    }
    return words.get(hint, str(hint))


def _check_number(label: str, value: Any) -> None:
    """Raise for a count below 1 and for infinity and NaN; the method checks the rest."""
    if label.startswith("--") and type(value) is int and value < 1:
        raise InputError(f"{label} must be at least 1; got {value}.")
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{label} must be a finite number; got {value}.")


def _option(field: str) -> str:
    return "--" + field.replace("_", "-")


def class_weight_of(words: Sequence[str] | None) -> ClassWeight:
    """Return the class weights that `evaluate` takes."""
    if not words:
        return None
    if list(words) == ["balanced"]:
        return "balanced"
    weights = {}
    for word in words:
        name, sign, number = word.rpartition("=")
        if name in weights:
            raise InputError(f"--class-weight is given twice for class '{name}'; leave one out.")
        try:
            weights[name] = float(number)
        except ValueError:
            sign = ""
        if not sign:
            raise InputError(f"--class-weight is 'balanced' or NAME=WEIGHT; got '{word}'.")
    return weights
