"""How far a share of a few nodes may be from that of all such nodes."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from agnn.errors import InputError

_QUANTILE: Final = 1.959963984540054  # of the normal distribution at 97.5 %: an interval of 95 %


class Interval(NamedTuple):
    """From where to where a share lies, as far as is known."""

    low: float
    high: float


def percent_interval(right: int, count: int) -> Interval:
    """Wilson's interval in percent."""
    return Interval(*(100.0 * end for end in wilson_interval(right, count)))


def wilson_interval(right: int, count: int) -> Interval:
    """Wilson's 95 % interval for a share of which `right` of `count` were seen.

    With s = right / count and z the normal quantile, the two solutions p of

        (s - p)^2 = z^2 p (1 - p) / count

    It stays inside 0 to 1 and has a width also where all or none are right (Wilson 1927).
    """
    if not 0 <= right <= count or count < 1:
        raise InputError(f"`right` must be from 0 to `count` >= 1; got {right} of {count}.")
    share, z = right / count, _QUANTILE
    middle = share + z * z / (2 * count)
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    whole = 1 + z * z / count
    # The ends are exact where all or none are right; rounding must not carry them past.
    low = 0.0 if right == 0 else (middle - half) / whole
    return Interval(low, 1.0 if right == count else (middle + half) / whole)
