"""Sums over long lists of parts on a GPU, in an order that depends on their number alone."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from agnn.kernels.tiles import power_of_two

_PARTS = 4096  # what one program adds up


@triton.jit
def _sums(
    parts: Any, out: Any, count: Any, groups: Any, WIDTH: tl.constexpr, D: tl.constexpr,
    U: tl.constexpr, GROUP: tl.constexpr,
) -> None:  # fmt: skip
    """out[r, group] = sum of parts[r, k] over the k of the group; rows of WIDTH numbers."""
    group, r = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    u, d = tl.arange(0, U), tl.arange(0, D)
    acc = tl.zeros((U, D), out.dtype.element_ty)
    for k in range(0, GROUP, U):
        place = group * GROUP + k + u
        inside = (place < count)[:, None] & (d < WIDTH)[None, :]
        acc += tl.load(
            parts + (r * count + place)[:, None] * WIDTH + d[None, :], mask=inside, other=0.0
        )
    tl.store(out + (r * groups + group) * WIDTH + d, tl.sum(acc, 0), mask=d < WIDTH)


def summed(parts: Tensor) -> Tensor:
    """The sum over the second axis of parts [R, k, width]; [R, width]."""
    replicas, count, width = parts.shape
    if count == 1:
        return parts[:, 0]
    columns = power_of_two(width)
    at_once = max(1, min(1024 // columns, power_of_two(count)))
    group = min(max(at_once, _PARTS // columns), power_of_two(count))
    groups = -(-count // group)
    out = torch.empty(replicas, groups, width, dtype=parts.dtype, device=parts.device)
    _sums[(groups, replicas)](parts, out, count, groups, width, columns, at_once, group)
    return summed(out)
