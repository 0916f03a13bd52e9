"""Memory of large tensors on a CPU that is used again from one training step to the next.

A step frees and takes the same states as the step before. The C library returns large blocks to the
system and gets them back as fresh pages, which can take half as long as computing what fills them.
Inside `recycled_memory` a freed block waits for the next tensor of about its size instead.
"""

from __future__ import annotations

import threading
import weakref
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.kernels._runtime import is_disabled

LARGE: Final = 2**16  # numbers; smaller blocks are left to the C library
_MOST_OVERSIZE: Final = 4  # how many times as large as a tensor its block may be
_DTYPES: Final[dict[torch.dtype, np.dtype[Any]]] = {
    torch.float32: np.dtype(np.float32),
    torch.float64: np.dtype(np.float64),
}


class _Pool:
    """Blocks of memory, in use or free."""

    def __init__(self) -> None:
        self._blocks: dict[int, NDArray[np.uint8]] = {}
        self._free: list[tuple[int, int]] = []  # (bytes, number) of the free blocks, in order
        # Numbers of blocks that are free as well, but not in `_free` yet: a tensor may die in any
        # thread, and in the middle of anything.
        self._returned: deque[int] = deque()
        self._next = 0

    def allocate(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """An unwritten tensor, whose block is free again when nothing refers to its memory."""
        while self._returned:
            number = self._returned.popleft()
            insort(self._free, (self._blocks[number].nbytes, number))
        size = prod(shape) * _DTYPES[dtype].itemsize
        index = bisect_left(self._free, (size, -1))
        if index < len(self._free) and self._free[index][0] <= _MOST_OVERSIZE * size:
            _, number = self._free.pop(index)
        else:
            if index > 0:  # in place of one that is too small, so that sizes that vary add nothing
                del self._blocks[self._free.pop(index - 1)[1]]
            number = self._next
            self._next += 1
            # Torch's memory starts at a cache line, NumPy's may not.
            self._blocks[number] = torch.empty(size, dtype=torch.uint8).numpy()
        array = self._blocks[number][:size].view(_DTYPES[dtype]).reshape(shape)
        # The tensor's memory holds this very array, where views of the array would hold the block.
        weakref.finalize(array, self._returned.append, number).atexit = False
        return torch.from_numpy(array)


_local = threading.local()  # `pool`: that of the training in this thread


@contextmanager
def recycled_memory() -> Iterator[None]:
    """Let large tensors of the kernels take the memory of earlier ones, in this thread.

    For training loops: steps with states of many megabytes are up to 1.4 times as fast, and need no
    more memory at their peak. All that is free is given back at the end.
    """
    former = getattr(_local, "pool", None)
    _local.pool = None if is_disabled("memory_pool") else former or _Pool()
    try:
        yield
    finally:
        _local.pool = former


def new_tensor(*shape: int, dtype: torch.dtype) -> Tensor:
    """An unwritten tensor on the CPU."""
    pool: _Pool | None = getattr(_local, "pool", None)
    if pool is None or prod(shape) < LARGE or dtype not in _DTYPES:
        return torch.empty(shape, dtype=dtype)
    return pool.allocate(shape, dtype)


def buffer_like(x: Tensor) -> Tensor | None:
    """An unwritten tensor of the size and type of `x`, for `out=`; None: torch allocates it."""
    if x.numel() < LARGE or x.device.type != "cpu" or getattr(_local, "pool", None) is None:
        return None
    return new_tensor(*x.shape, dtype=x.dtype)


def contiguous_copy(x: Tensor) -> Tensor:
    """A contiguous copy."""
    buffer = buffer_like(x)
    return x.clone(memory_format=torch.contiguous_format) if buffer is None else buffer.copy_(x)
