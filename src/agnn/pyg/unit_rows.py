"""Rows of length 1, in the way that the kernels have them."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

_SHORTEST: Final = 1e-12  # as torch normalises: a shorter row is divided by this


def unit_rows(x: Tensor) -> Tensor:
    """`x` [..., d] with rows of length 1; a zero row stays zero and passes no gradient."""
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    # Divided by infinity, a row of zeros is still zeros, and so is its gradient.
    return x / torch.where(length > 0, length.clamp_min(_SHORTEST), torch.inf)
