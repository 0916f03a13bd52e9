"""The weights that an attention layer computes, per edge and per node for itself."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class Attention(NamedTuple):
    """P^(t) of some receivers: the weights of their neighbours and of themselves."""

    edges: Tensor  # [R, m'] P[i, j] for the stored edges of the receivers, in stored order
    loops: Tensor  # [R, rows] P[i, i]
