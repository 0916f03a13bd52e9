"""Random words from a key and a counter, the same in NumPy and in compiled code (SplitMix64).

A word depends on nothing but its key and its number: work may be cut and ordered in any way.
The functions take NumPy's 64-bit unsigned numbers or arrays of them; `numba_cpu.py` files compile
these very functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

U = np.uint64
_ALL = 0xFFFFFFFFFFFFFFFF
_GOLDEN = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB
_STEP = U(_GOLDEN)
_A = U(_FIRST)
_B = U(_SECOND)
_27 = U(27)
_30 = U(30)
_31 = U(31)
_32 = U(32)
_LOW = U(0xFFFFFFFF)
_INVERSE = 2.0**-32


def stream_key(seed: int, place: int) -> int:
    """The key of one place that draws numbers, from a seed of any size; 64 bits."""
    state = 0
    for part in (seed & _ALL, (seed >> 64) & _ALL, place):
        state = (state + part + _GOLDEN) & _ALL
        state = ((state ^ (state >> 30)) * _FIRST) & _ALL
        state = ((state ^ (state >> 27)) * _SECOND) & _ALL
        state ^= state >> 31
    return state


def word(key: Any, count: Any) -> Any:
    """The uniform 64-bit word number `count` under a key."""
    x = key + (count + U(1)) * _STEP
    x = (x ^ (x >> _30)) * _A
    x = (x ^ (x >> _27)) * _B
    return x ^ (x >> _31)


def counter_words(key: int, counts: NDArray[np.integer]) -> NDArray[np.uint64]:
    """The words of these numbers, 0 or above, under a key."""
    words: NDArray[np.uint64] = word(U(key), counts.astype(np.uint64))
    return words


def below(x: Any, bound: Any) -> Any:
    """A number from 0 to `bound` - 1 out of the upper half of a word; `bound` is below 2^32."""
    return ((x >> _32) * bound) >> _32


def fraction(x: Any) -> Any:
    """A number from 0 to below 1 out of the lower half of a word."""
    return (x & _LOW) * _INVERSE
