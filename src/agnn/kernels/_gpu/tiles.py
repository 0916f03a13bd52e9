"""How kernels of a GPU cut sparse work: rows, entries and columns that one looks at together."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import torch

# Numbers that one warp holds of one operand: 8 in each of its 32 lanes. Twice as many were no
# faster on an H200, four times as many were half as fast.
_NUMBERS = 256
_SMALL = 32_768  # rows: below, the longest row is what takes the time


class Tile(NamedTuple):
    """A block's share of a sparse product: `rows` rows, `entries` of each at a time."""

    rows: int
    entries: int
    columns: int  # the width, filled up to a power of two


def power_of_two(count: int) -> int:
    """The smallest power of two that is not below `count`."""
    return 1 << max(count - 1, 0).bit_length()


class States(NamedTuple):
    """The constants of a state: its width, and that filled up to a power of two."""

    WIDTH: int
    D: int


class Heads(NamedTuple):
    """The constants of a state: its width, the features of a head (filled up), and the heads."""

    WIDTH: int
    F: int
    K: int


@lru_cache
def states_of(width: int) -> States:
    """Return the constants of states of `width` numbers."""
    return States(width, power_of_two(width))


@lru_cache
def heads_of(width: int, heads: int) -> Heads:
    """Return the constants of states of `width` numbers in several heads."""
    return Heads(width, power_of_two(width) // heads, heads)


@lru_cache
def choose_tile(width: int, rows: int, entries: int) -> Tile:
    """The tile for a matrix with the given rows and entries, times lines of `width` numbers.

    Many entries at a time shorten the way along a long row, and leave lanes idle at the end of a
    short one. The summation order does not depend on how many replicas run together.
    """
    columns = power_of_two(width)
    fitting = max(1, _NUMBERS // columns)
    mean = entries // max(1, rows)
    at_once = 8 if rows <= _SMALL else 4 if mean >= 32 else 2
    at_once = fitting if rows == 1 else min(fitting, at_once)
    return Tile(max(1, fitting // at_once), at_once, columns)


def sum_type(dtype: torch.dtype) -> torch.dtype:
    """What sums over numbers of `dtype` are kept in."""
    return torch.float64 if dtype == torch.float64 else torch.float32
