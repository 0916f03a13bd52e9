"""How the columns of a row of states belong to heads."""

from __future__ import annotations

from torch import Tensor


def heads_of(h: Tensor, heads: int) -> Tensor:
    """Columns [..., d K] as [..., d, K]: column f K + k is feature f of head k."""
    return h.reshape(*h.shape[:-1], -1, heads)
