"""Rows of length 1, in the way that the kernels have them."""

from __future__ import annotations

import torch.nn.functional as F  # noqa: N812 (torch's own convention)
from torch import Tensor


def unit_rows(x: Tensor) -> Tensor:
    """`x` [..., d] with rows of length 1; a zero row stays zero and passes no gradient."""
    zero = (x == 0).all(-1, keepdim=True)
    return F.normalize(x.masked_fill(zero, 1.0), dim=-1).masked_fill(zero, 0.0)
