"""States as compiled CPU code reads them: one line of numbers a replica, rows of whole vectors."""

from __future__ import annotations

import torch.nn.functional as F  # noqa: N812 (torch's own convention)
from torch import Tensor

from agnn.kernels.simd import LANES


def as_lines(h: Tensor) -> tuple[Tensor, int]:
    """`h` [R, n, d] as [R, n * D] with D the next multiple of 16, zeros behind; and D."""
    surplus = -h.shape[2] % LANES
    padded = F.pad(h.detach(), (0, surplus)) if surplus else h.detach().contiguous()
    return padded.reshape(h.shape[0], -1), h.shape[2] + surplus


def from_lines(lines: Tensor, rows: int, padded: int, d: int) -> Tensor:
    """The states [R, rows, d] out of lines of rows of `padded` numbers."""
    states = lines.view(lines.shape[0], rows, padded)
    return states if padded == d else states[..., :d].contiguous()
