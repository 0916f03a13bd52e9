"""Arrays as JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

_DIGITS: Final = 6  # after the decimal point; the page shows fewer


def plain_numbers(values: NDArray[np.float64], digits: int = _DIGITS) -> Any:
    """Return the array as lists of lists, rounded; None for NaN."""
    numbers = np.round(values, digits)
    is_missing = np.isnan(values)
    if not is_missing.any():  # ten times faster than by way of objects
        return numbers.tolist()
    objects = numbers.astype(object)
    objects[is_missing] = None
    return objects.tolist()


def round_numbers(value: Any, digits: int = _DIGITS) -> Any:
    """Return a JSON value with every fraction in it rounded."""
    if isinstance(value, dict):
        return {key: round_numbers(item, digits) for key, item in value.items()}
    if isinstance(value, list):
        return [round_numbers(item, digits) for item in value]
    return round(value, digits) if isinstance(value, float) else value


def records(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Columns of one length as a list of rows."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def of_replica(values: NDArray[np.float64], replica: int | None) -> NDArray[np.float64]:
    """One replica's of values [R, ...], or the mean over all if it is None."""
    one: NDArray[np.float64] = values.mean(0) if replica is None else values[replica]
    return one
