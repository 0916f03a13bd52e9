"""Kernels that get ready while the one before them still runs.

Between two small kernels a GPU is idle for about a microsecond: the second is launched when the
first has ended. From compute capability 9.0 on (Hopper) it may be launched before, and wait on the
GPU itself. A kernel that is launched early touches memory only after `wait_for_inputs`, so that
all it reads and writes is as if it had been launched at the end of the other.

The wait costs something in every block. It pays where all blocks of a kernel run at once; with a
hundred times as many, attention took half as long again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import torch
import triton
import triton.language as tl

_CAPABILITY = (9, 0)
_BLOCKS = 32  # that a multiprocessor holds at once


@triton.jit
def wait_for_inputs(EARLY: tl.constexpr):
    """Let the next kernel get ready, and wait until all earlier ones have ended."""
    if EARLY:
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()


class Kernel:
    """A function for the GPU, launched by `kernel[grid](...)`.

    Its last parameter, EARLY, says whether it was launched before its inputs were written. The
    first thing it does is to call `wait_for_inputs`.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.kernel: Any = triton.jit(function)
        self.__doc__ = function.__doc__

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., Any]:
        """Return what launches a grid of blocks."""
        launch: Callable[..., Any] = self.kernel[grid]
        if not isinstance(self.kernel, triton.JITFunction):  # interpreted
            return partial(launch, EARLY=False)
        if math.prod(grid) > _most_blocks(torch.cuda.current_device()):
            return partial(launch, EARLY=False)
        return partial(launch, EARLY=True, launch_pdl=True)


@cache
def _most_blocks(device: int) -> int:
    """The most blocks of a kernel that is launched early; 0 where the GPU cannot do so."""
    if torch.version.hip is not None or torch.cuda.get_device_capability(device) < _CAPABILITY:
        return 0
    return _BLOCKS * torch.cuda.get_device_properties(device).multi_processor_count
