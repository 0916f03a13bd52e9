"""Programs that get ready while the one before them still runs.

Between two small programs a GPU is idle for about a microsecond: the second is launched when the
first has ended. From compute capability 9.0 on (Hopper) it may be launched before, and wait on the
GPU itself. Such a program touches memory only after `wait_for_inputs`, so that all it reads and
writes is as if it had been launched at the end of the other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import torch
import triton
import triton.language as tl

_CAPABILITY = (9, 0)


@triton.jit
def wait_for_inputs():
    """Let the next program get ready, and wait until all earlier ones have ended."""
    if tl.target_info.cuda_capability_geq(9, 0):
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()


class Program:
    """A function for the GPU, launched by `program[grid](...)`.

    The first thing it does is to call `wait_for_inputs`.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.kernel: Any = triton.jit(function)
        self.__doc__ = function.__doc__

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., Any]:
        """Return what launches a grid of programs."""
        launch: Callable[..., Any] = self.kernel[grid]
        if not isinstance(self.kernel, triton.JITFunction):  # interpreted
            return launch
        return partial(launch, launch_pdl=_can_wait(torch.cuda.current_device()))


@cache
def _can_wait(device: int) -> bool:
    """Whether programs of this GPU can wait for the one before them."""
    return torch.version.hip is None and torch.cuda.get_device_capability(device) >= _CAPABILITY
