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
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

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


_SUMMED = 1024  # that one block holds
_GROUP = 64  # parts, at least, that one block adds up


class _Tile(NamedTuple):
    COLUMNS: int
    AT_ONCE: int  # parts that a block holds together
    GROUP: int  # parts that it adds up


@Kernel
def _sum_groups(parts, out, count, width, TILE: tl.constexpr, EARLY: tl.constexpr):
    """out[r, group] = sum of parts[r, k] over the k of the group, at some of the columns."""
    wait_for_inputs(EARLY)
    D: tl.constexpr = TILE.COLUMNS
    U: tl.constexpr = TILE.AT_ONCE
    group = tl.program_id(0).to(tl.int64)
    r = tl.program_id(2).to(tl.int64)
    u = tl.arange(0, U)
    d = tl.program_id(1) * D + tl.arange(0, D)
    acc = tl.zeros((U, D), out.dtype.element_ty)
    for k in range(0, TILE.GROUP, U):
        part = group * TILE.GROUP + k + u
        inside = (part < count)[:, None] & (d < width)[None, :]
        places = (r * count + part)[:, None] * width + d[None, :]
        acc += tl.load(parts + places, mask=inside, other=0.0)
    tl.store(out + (r * tl.num_programs(0) + group) * width + d, tl.sum(acc, 0), mask=d < width)


def sum_parts(parts: Tensor) -> Tensor:
    """Return the sum over the second axis of parts [R, k, width]; [R, width].

    Group by group, then the sums of the groups: the order depends on k alone.
    """
    replicas, count, width = parts.shape
    if count == 1:
        return parts[:, 0]
    columns = min(power_of_two(width), 128)
    at_once = min(_SUMMED // columns, power_of_two(count))
    group = min(max(_GROUP, 4 * at_once), power_of_two(count))
    groups = -(-count // group)
    out = torch.empty(replicas, groups, width, dtype=parts.dtype, device=parts.device)
    grid = (groups, -(-width // columns), replicas)
    _sum_groups[grid](parts, out, count, width, _Tile(columns, at_once, group))
    return sum_parts(out)
