"""Edge weights inside compiled code: an array by edge, or None for a graph without weights.

The type decides which code is compiled, so without weights nothing of them is left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import overload

from agnn.kernels._cpu.simd import OPTIONS


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
