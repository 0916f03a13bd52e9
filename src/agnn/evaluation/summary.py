"""Repeated measurements in four numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from agnn.errors import InputError


@dataclass(frozen=True)
class Summary:
    """n, mean, standard error of the mean and standard deviation of some values."""

    values: tuple[float, ...]

    def __init__(self, values: Sequence[float]) -> None:
        if not values:
            raise InputError("a summary needs at least one value.")
        object.__setattr__(self, "values", tuple(float(value) for value in values))

    @property
    def n(self) -> int:
        """How many values there are."""
        return len(self.values)

    @cached_property
    def mean(self) -> float:
        """Their mean."""
        return math.fsum(self.values) / self.n

    @cached_property
    def deviation(self) -> float | None:
        """Their standard deviation (n - 1 below the root); None for a single value."""
        if self.n == 1:
            return None
        return math.sqrt(math.fsum((v - self.mean) ** 2 for v in self.values) / (self.n - 1))

    @property
    def standard_error(self) -> float | None:
        """The standard error of the mean, "±" in the paper's tables; None for a single value."""
        return None if self.deviation is None else self.deviation / math.sqrt(self.n)

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "mean": self.mean,
            "standard_error": self.standard_error,
            "deviation": self.deviation,
            "n": self.n,
            "values": list(self.values),
        }
