"""Sums over long lists of parts on a GPU, in an order that depends on their number alone."""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton.language as tl
from torch import Tensor

from agnn.kernels._gpu.launches import Kernel, wait_for_inputs
from agnn.kernels._gpu.tiles import power_of_two

_NUMBERS = 1024  # that one block holds
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
    at_once = min(_NUMBERS // columns, power_of_two(count))
    group = min(max(_GROUP, 4 * at_once), power_of_two(count))
    groups = -(-count // group)
    out = torch.empty(replicas, groups, width, dtype=parts.dtype, device=parts.device)
    grid = (groups, -(-width // columns), replicas)
    _sum_groups[grid](parts, out, count, width, _Tile(columns, at_once, group))
    return sum_parts(out)
