"""Sums over long lists of parts on a GPU, in an order that depends on their number alone."""

from __future__ import annotations

import torch
import triton.language as tl
from torch import Tensor

from agnn.kernels._gpu.programs import Program, wait_for_inputs
from agnn.kernels._gpu.tiles import power_of_two

_NUMBERS = 1024  # that one program holds
_GROUP = 64  # parts, at least, that one program adds up


@Program
def _sums(
    parts, out, count, groups, width, D: tl.constexpr, U: tl.constexpr, GROUP: tl.constexpr,
    EARLY: tl.constexpr,
):  # fmt: skip
    """out[r, group] = sum of parts[r, k] over the k of the group, at D of the columns."""
    wait_for_inputs(EARLY)
    group, r = tl.program_id(0).to(tl.int64), tl.program_id(2).to(tl.int64)
    u, d = tl.arange(0, U), tl.program_id(1) * D + tl.arange(0, D)
    acc = tl.zeros((U, D), out.dtype.element_ty)
    for k in range(0, GROUP, U):
        place = group * GROUP + k + u
        inside = (place < count)[:, None] & (d < width)[None, :]
        acc += tl.load(
            parts + (r * count + place)[:, None] * width + d[None, :], mask=inside, other=0.0
        )
    tl.store(out + (r * groups + group) * width + d, tl.sum(acc, 0), mask=d < width)


def summed(parts: Tensor) -> Tensor:
    """The sum over the second axis of parts [R, k, width]; [R, width]."""
    replicas, count, width = parts.shape
    if count == 1:
        return parts[:, 0]
    columns = min(power_of_two(width), 128)
    at_once = min(_NUMBERS // columns, power_of_two(count))
    group = min(max(_GROUP, 4 * at_once), power_of_two(count))
    groups, blocks = -(-count // group), -(-width // columns)
    out = torch.empty(replicas, groups, width, dtype=parts.dtype, device=parts.device)
    _sums[(groups, blocks, replicas)](
        parts, out, count, groups, width, columns, at_once, group
    )  # fmt: skip
    return summed(out)
