"""Durations as people write them."""

from __future__ import annotations

import math
import re
from typing import Final

from agnn.errors import InputError

_UNITS: Final = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def seconds_of(value: str | float, name: str) -> float:
    """The seconds in a duration such as "30s", "5m" or "2h", or a number of seconds.

    >>> seconds_of("10m", "time"), seconds_of(45, "time")
    (600.0, 45.0)
    """
    seconds: float = -1.0
    if isinstance(value, str):
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([a-z]*)", value.strip().lower())
        if match is not None and match[2] in _UNITS:
            seconds = float(match[1]) * _UNITS[match[2]]
    else:
        seconds = float(value)
    if not 0.0 <= seconds < math.inf:
        raise InputError(f"{name} takes a duration such as 30s, 5m or 2h; got '{value}'.")
    return seconds
