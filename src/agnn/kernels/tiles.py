"""How programs of a GPU cut sparse work: rows, entries and columns that one looks at together."""

from __future__ import annotations

from typing import NamedTuple

import torch

# Numbers that one warp holds of one operand: 16 in each of its 32 lanes.
_NUMBERS = 512


class Tile(NamedTuple):
    """A program's share of a sparse product: `rows` rows, `entries` of each at a time."""

    rows: int
    entries: int
    columns: int  # the width, filled up to a power of two


def power_of_two(count: int) -> int:
    """The smallest power of two that is not below `count`."""
    return 1 << max(count - 1, 0).bit_length()


def choose_tile(width: int, rows: int, entries: int, numbers: int = _NUMBERS) -> Tile:
    """The tile for a matrix with so many rows and entries, times rows of `width` numbers.

    Short rows share a program; a long row is read many entries at a time.
    """
    columns = power_of_two(width)
    room = max(1, numbers // columns)
    mean = power_of_two(max(1, entries // max(1, rows)))
    at_once = min(room, max(mean, 4), 32)
    return Tile(max(1, room // at_once), at_once, columns)


def sum_type(dtype: torch.dtype) -> torch.dtype:
    """What sums over numbers of `dtype` are kept in."""
    return torch.float64 if dtype == torch.float64 else torch.float32
