"""The rows of a sparse matrix that are too long for one program of a GPU."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class LongRows:
    """Rows with more than `limit` entries, cut into segments of at most `limit`.

    The segments of row `rows[k]` are those from `first[k]` to before `first[k + 1]`.
    """

    limit: int
    rows: Tensor  # [k] int64, ascending
    first: Tensor  # [k + 1] int64
    segment_rows: Tensor  # [s] int64: the row of each segment
    segment_bounds: Tensor  # [2, s] int64: where its entries begin and end

    @classmethod
    def of(cls, offsets: Tensor, limit: int) -> LongRows:
        """Return the long rows of a matrix with these row offsets [n + 1]."""
        lengths = offsets.diff()
        rows = (lengths > limit).nonzero().squeeze(1)
        pieces = (lengths[rows] + limit - 1) // limit
        first = torch.zeros(rows.numel() + 1, dtype=torch.int64, device=offsets.device)
        torch.cumsum(pieces, dim=0, out=first[1:])
        segment_rows = torch.repeat_interleave(rows, pieces)
        place = torch.arange(segment_rows.numel(), device=offsets.device)
        place -= torch.repeat_interleave(first[:-1], pieces)
        begins = offsets[segment_rows] + place * limit
        ends = torch.minimum(begins + limit, offsets[segment_rows + 1])
        return cls(limit, rows, first, segment_rows, torch.stack([begins, ends]))

    @property
    def count(self) -> int:
        """How many rows are long."""
        return self.rows.numel()

    @property
    def segments(self) -> int:
        """How many segments they are cut into."""
        return self.segment_rows.numel()
