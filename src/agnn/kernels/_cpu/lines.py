"""States as compiled CPU code reads them: one line of numbers per replica, rows of whole vectors.

Small models spend their time between the kernels. NumPy costs a fraction of torch for handling a
small array, so torch appears here only at the two ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numba import types
from numba.extending import overload
from numpy.typing import NDArray
from torch import Tensor

from agnn.kernels._cpu.simd import LANES, OPTIONS
from agnn.kernels._runtime.memory import LARGE, new_tensor


def as_lines(h: Tensor) -> tuple[NDArray[Any], int]:
    """`h` [R, n, d] as [R, n * D] with D the next multiple of 16, zeros behind; and D."""
    array = h.numpy(force=True)
    replicas, n, width = array.shape
    surplus = -width % LANES
    if surplus:
        shape = (replicas, n, width + surplus)
        if replicas * n * width < LARGE:
            padded = np.zeros(shape, array.dtype)
        else:
            padded = new_tensor(*shape, dtype=h.dtype).zero_().numpy()
        padded[:, :, :width] = array
        array = padded
    return array.reshape(replicas, -1), width + surplus  # copies only what is not contiguous


def width_argument(d: int) -> int | None:
    """The padded width for compiled code that asks `width_of`: None for the common one, 16.

    Its type makes it a constant there, and only the form that is needed is compiled.
    """
    return None if d == LANES else d


def width_of(d: Any) -> Any:
    """The padded width that `width_argument` stands for."""
    return np.uint64(LANES if d is None else d)


@overload(width_of, jit_options=OPTIONS)  # type: ignore[untyped-decorator]
def _width_of(d: Any) -> Callable[[Any], Any]:
    return _common_width if d is types.none else _any_width


def _common_width(d: Any) -> Any:
    return np.uint64(LANES)


def _any_width(d: Any) -> Any:
    return np.uint64(d)


def new_lines(replicas: int, rows: int, d: int, dtype: torch.dtype) -> tuple[Tensor, NDArray[Any]]:
    """Unwritten states [R, rows, d] of whole vectors, and the same memory as lines [R, rows * d].

    Torch's memory starts at a cache line, NumPy's may not.
    """
    if replicas * rows * d < LARGE:  # as most of them are: the quickest way
        states = torch.empty(replicas, rows, d, dtype=dtype)
    else:
        states = new_tensor(replicas, rows, d, dtype=dtype)
    return states, states.numpy().reshape(replicas, -1)


def without_padding(states: Tensor, d: int) -> Tensor:
    """The first `d` columns of states of whole vectors; themselves if these are all."""
    return states if states.shape[2] == d else states[:, :, :d].contiguous()


def start_lines(bias: Tensor | None, replicas: int, d: int, like: NDArray[Any]) -> NDArray[Any]:
    """What a sum starts from: the bias [R, k], or zeros; [R, d]."""
    start = np.zeros((replicas, d), like.dtype)
    if bias is not None:
        start[:, : bias.shape[1]] = bias.detach().numpy()
    return start
