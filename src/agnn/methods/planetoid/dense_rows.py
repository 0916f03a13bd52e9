"""Feature rows of other nodes in every replica, which no product with one shared X gives."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from agnn.graph import FeatureMatrix


class DenseRows:
    """Rows of X [n, d_x], zeros included; row n is all zeros. Memory is that of what is asked."""

    def __init__(self, x: FeatureMatrix) -> None:
        self.x = x
        self.lengths = pad(x.offsets.diff(), (0, 1))
        self.steps = torch.arange(int(self.lengths.max()), device=x.values.device)
        self.columns = x.columns.long()

    def __call__(self, nodes: Tensor) -> Tensor:
        """[R, u, d_x] for nodes [R, u]."""
        is_entry = self.steps < self.lengths[nodes][..., None]
        entries = (self.x.offsets[nodes][..., None] + self.steps) * is_entry
        out = self.x.values.new_zeros(*nodes.shape, self.x.width)
        return out.scatter_add_(2, self.columns[entries], self.x.values[entries] * is_entry)
