"""Repeated measurements as mean and standard error, and intervals of proportions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from agnn.errors import InputError


@dataclass(frozen=True)
class Summary:
    """Number, mean, standard error of the mean and standard deviation of some values."""

    values: tuple[float, ...]

    def __init__(self, values: Sequence[float]) -> None:
        if not values:
            raise InputError("a summary needs at least one value.")
        object.__setattr__(self, "values", tuple(float(value) for value in values))

    @property
    def n(self) -> int:
        """Number of values."""
        return len(self.values)

    @cached_property
    def mean(self) -> float:
        """Mean of the values."""
        return math.fsum(self.values) / self.n

    @cached_property
    def deviation(self) -> float | None:
        """Standard deviation with n - 1 in the denominator; None for a single value."""
        if self.n == 1:
            return None
        return math.sqrt(math.fsum((v - self.mean) ** 2 for v in self.values) / (self.n - 1))

    @property
    def standard_error(self) -> float | None:
        """Standard error of the mean, "±" in the paper's tables; None for a single value."""
        return None if self.deviation is None else self.deviation / math.sqrt(self.n)

    def to_dict(self) -> dict[str, Any]:
        """The figures as JSON values."""
        return {
            "mean": self.mean,
            "standard_error": self.standard_error,
            "deviation": self.deviation,
            "n": self.n,
            "values": list(self.values),
        }


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


def wilson_interval(right: int, count: int) -> Interval:
    """Wilson's 95 % interval of a proportion of which `right` of `count` were observed.

    It stays within 0 and 1 and has a width even if all or none are right (Wilson 1927).
    """
    from scipy.stats import binomtest

    if not 0 <= right <= count or count < 1:
        raise InputError(f"`right` must be from 0 to `count` >= 1; got {right} of {count}.")
    found = binomtest(right, count).proportion_ci(confidence_level=0.95, method="wilson")
    # The ends are exact if all or none are right; rounding must not move them.
    low = 0.0 if right == 0 else float(found.low)
    return Interval(low, 1.0 if right == count else float(found.high))


def percent_interval(right: int, count: int) -> Interval:
    """Wilson's 95 % interval in percent."""
    return Interval(*(100.0 * end for end in wilson_interval(right, count)))
