"""What is done edge by edge in forms that LLVM turns into vector code: exponentials, weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from agnn.kernels._cpu.simd import OPTIONS

_F = np.float32


def exponentials(buffer: Any, count: Any) -> None:
    """Replace the first `count` numbers, none above zero, by their exponentials."""
    buffer[:count] = np.exp(buffer[:count])


@overload(exponentials, jit_options=OPTIONS)  # type: ignore[untyped-decorator]
def _exponentials(buffer: Any, count: Any) -> Callable[[Any, Any], None]:
    return _in_float32 if buffer.dtype == types.float32 else _in_float64


def _in_float64(buffer: Any, count: Any) -> None:
    for t in range(count):
        buffer[t] = math.exp(buffer[t])


def _in_float32(buffer: Any, count: Any) -> None:
    bits = buffer.view(np.int32)
    for t in range(count):
        # x = k ln 2 + y with |y| <= ln 2 / 2. Below -87 the result would leave float32's normal
        # range; there it stays at 1.6e-38.
        x = max(buffer[t], _F(-87.0))
        k = np.floor(x * _F(1.4426950408889634) + _F(0.5))
        # ln 2 in two parts: the first has few bits, so k times it is exact.
        y = x - k * _F(0.693359375) + k * _F(2.12194440e-4)
        # The series of exp up to y^7: its remainder, 5e-9, is below float32's resolution.
        p = _F(1 / 5040)
        p = p * y + _F(1 / 720)
        p = p * y + _F(1 / 120)
        p = p * y + _F(1 / 24)
        p = p * y + _F(1 / 6)
        p = p * y + _F(1 / 2)
        p = p * y + _F(1)
        p = p * y + _F(1)
        buffer[t] = p
        bits[t] += np.int32(k) << np.int32(23)  # times 2^k, in the exponent's bits


# Edge weights are an array, or None for a graph without them. The type decides which code is
# compiled, so without weights nothing of them is left.


def weigh(buffer: Any, count: Any, edge_weights: Any, start: Any) -> None:
    """Multiply the first `count` numbers by the weights of the edges from `start` on."""
    if edge_weights is not None:
        buffer[:count] *= edge_weights[start : start + count]


def weight_at(edge_weights: Any, q: Any, one: Any) -> Any:
    """The weight of edge q; `one` where there are no weights."""
    return one if edge_weights is None else edge_weights[q]


@overload(weigh, jit_options=OPTIONS)  # type: ignore[untyped-decorator]
def _weigh(buffer: Any, count: Any, edge_weights: Any, start: Any) -> Callable[..., None]:
    return _nothing if edge_weights is types.none else _product


def _nothing(buffer: Any, count: Any, edge_weights: Any, start: Any) -> None:
    pass


def _product(buffer: Any, count: Any, edge_weights: Any, start: Any) -> None:
    for t in range(count):
        buffer[t] *= edge_weights[start + t]


@overload(weight_at, jit_options=OPTIONS)  # type: ignore[untyped-decorator]
def _weight_at(edge_weights: Any, q: Any, one: Any) -> Callable[..., Any]:
    return _one if edge_weights is types.none else _entry


def _one(edge_weights: Any, q: Any, one: Any) -> Any:
    return one


def _entry(edge_weights: Any, q: Any, one: Any) -> Any:
    return edge_weights[q]
