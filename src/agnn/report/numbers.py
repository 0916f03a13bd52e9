"""Numbers as the reports write them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agnn.metrics import Summary

NOTHING = "\N{EN DASH}"


def signed(value: float) -> str:
    """Two places and a sign, with the minus of print; a zero has none, and NaN is a dash."""
    if math.isnan(value):
        return NOTHING
    text = f"{value:+.2f}"
    return "0.00" if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")


def spread(summary: Summary) -> str:
    """A mean with the lowest and highest value; the mean alone where all are the same."""
    lowest, highest = min(summary.values), max(summary.values)
    if lowest == highest:
        return f"{summary.mean:.2f}"
    return f"{summary.mean:.2f} ({lowest:.2f} to {highest:.2f})"


def percent(share: Summary | None) -> str:
    """A share of 1 as percent with its standard error; a dash where there is none."""
    if share is None:
        return NOTHING
    error = share.standard_error
    return f"{100 * share.mean:.1f}" + ("" if error is None else f" ± {100 * error:.1f}")
