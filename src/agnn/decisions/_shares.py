"""Shares: those that a decision is asked to reach, and those that were counted."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

from agnn.errors import InputError
from agnn.metrics import Interval


@dataclass(frozen=True)
class Share:
    """A share of some nodes that was counted."""

    count: int
    of: int

    @property
    def percent(self) -> float | None:
        """The share in percent; None of no nodes."""
        return 100.0 * self.count / self.of if self.of else None

    @property
    def interval(self) -> Interval | None:
        """Wilson's 95 % interval in percent; None of no nodes."""
        return Interval.percent(self.count, self.of) if self.of else None

    @property
    def text(self) -> str:
        """The share with its interval and the number of nodes."""
        if self.percent is None or self.interval is None:
            return "unknown (no nodes)"
        low, high = self.interval
        return f"{self.percent:.1f} % ({low:.1f} to {high:.1f}, {self.of:,} nodes)"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return {
            "percent": self.percent,
            "interval": None if self.interval is None else list(self.interval),
            "count": self.count,
            "nodes": self.of,
        }


def check_share(
    name: str, value: object, *, example: float, flag: str = "", may_be_all: bool = False
) -> None:
    """Raise unless a value is a number between 0 and 1; `may_be_all` allows 1 itself.

    `flag` is the option of the command line, where it has another name.
    """
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if is_number and (0.0 < value < 1.0 or (may_be_all and value == 1.0)):  # type: ignore[operator]
        return
    limits = "above 0 and at most 1" if may_be_all else "between 0 and 1"
    written = f"{value:g}" if is_number else repr(value)
    known_as = f"`{name}` ({flag})" if flag else f"`{name}`"
    raise InputError(
        f"{known_as} must be {limits}, such as {example:g} for {100 * example:g} %; got {written}."
    )
