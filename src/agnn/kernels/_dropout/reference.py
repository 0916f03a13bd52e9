"""The definition of dropout's random numbers, in plain torch.

Counter-based: the number for an entry is a hash of (replica seed, place, epoch, row, column).
Nothing is stored for the backward pass, entries may be visited in any order, and a replica drops
the same entries whether it runs alone, in a batch, pruned or whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from agnn.kernels._dropout.stream import DropoutAt

WORD = 0xFFFFFFFF
GOLDEN = 0x9E3779B9


def mixed(x: Tensor) -> Tensor:
    """A 32-bit hash with full avalanche (two multiplications, three shifts), in int64 storage."""
    x = x ^ (x >> 16)
    x = (x * 0x7FEB352D) & WORD
    x = x ^ (x >> 15)
    x = (x * 0x846CA68B) & WORD
    return x ^ (x >> 16)


def random_words(drop: DropoutAt, rows: Tensor, columns: Tensor) -> Tensor:
    """One uniform 32-bit word for each entry (rows[k], columns[k]); [R, k] int64."""
    first, second = drop.keys[:, :1], drop.keys[:, 1:]  # [R, 1]
    epoch = mixed((drop.epoch & WORD) ^ second)
    row_state = mixed((rows + epoch) & WORD) ^ first
    return mixed((row_state + columns * GOLDEN) & WORD)


def factors(drop: DropoutAt, rows: Tensor, columns: Tensor, dtype: torch.dtype) -> Tensor:
    """What each entry is multiplied by: 0 where dropped, 1 / (1 - rate) where kept; [R, k]."""
    kept = random_words(drop, rows, columns) >= drop.thresholds[:, None]
    return kept.to(dtype) * drop.scales.to(dtype)[:, None]


def forward(h: Tensor, row_ids: Tensor, drop: DropoutAt) -> Tensor:
    """`h` [R, n, d] times its factors; row k of `h` draws the numbers of row `row_ids[k]`."""
    _, n, d = h.shape
    rows = row_ids[:, None].expand(n, d).reshape(-1)
    columns = torch.arange(d, device=h.device).repeat(n)
    return h * factors(drop, rows, columns, h.dtype).view(h.shape)


# Dropout is linear in h and symmetric: the gradient is dropped by the same factors.
backward = forward
