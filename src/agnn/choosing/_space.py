"""The settings that a search chooses, and the values it takes them from."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from agnn.methods import Method

# A range, on a logarithmic scale if the third entry is true, or some values.
_RANGES: Final[Mapping[str, tuple[float, float, bool]]] = {
    "learning_rate": (1e-3, 5e-2, True),
    "weight_decay": (1e-5, 1e-2, True),
    "dropout": (0.0, 0.8, False),
}
_VALUES: Final[Mapping[str, tuple[int, ...]]] = {
    "layers": (1, 2, 3, 4),
    "hidden": (8, 16, 32, 64),
}


def random_settings(method: Method, seed: int) -> dict[str, Any]:
    """Return other values of the method's settings from the search space, if it has any."""
    source = random.Random(seed)  # noqa: S311 (no secret)
    changes: dict[str, Any] = {}
    for name in sorted(free_settings(method)):
        if name in _VALUES:
            changes[name] = source.choice(_VALUES[name])
        else:
            low, high, is_logarithmic = _RANGES[name]
            if is_logarithmic:
                changes[name] = math.exp(source.uniform(math.log(low), math.log(high)))
            else:
                changes[name] = source.uniform(low, high)
    return changes


def free_settings(method: Method) -> set[str]:
    """Return the settings of the method that are in the search space."""
    field_names = {field.name for field in fields(method)}
    return field_names & {*_RANGES, *_VALUES}


def is_in_space(name: str, value: Any) -> bool:
    """Return whether the search space of a setting has this value."""
    if name in _VALUES:
        return value in _VALUES[name]
    low, high, _ = _RANGES[name]
    return isinstance(value, int | float) and low <= value <= high


def suggested_settings(trial: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the values of these settings that a trial of optuna suggests."""
    settings: dict[str, Any] = {}
    for name in names:
        if name in _VALUES:
            settings[name] = trial.suggest_categorical(name, _VALUES[name])
        else:
            low, high, is_logarithmic = _RANGES[name]
            settings[name] = trial.suggest_float(name, low, high, log=is_logarithmic)
    return settings
