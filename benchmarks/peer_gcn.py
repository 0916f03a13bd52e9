"""torch_geometric's GCN, as its example has it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F  # noqa: N812 (torch's own convention)
from torch import Tensor, nn

if TYPE_CHECKING:
    from agnn.data import NodeData

with warnings.catch_warnings():
    # PyG 2.8 calls torch.jit.script while it is imported, which torch deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    from torch_geometric.nn import GCNConv


class GCN(nn.Module):
    """Two convolutions on a dense X, the normalised adjacency kept after the first call."""

    def __init__(self, data: NodeData, width: int = 16) -> None:
        super().__init__()
        self.x = torch.from_numpy(data.scaled_features("sum").toarray())
        self.first = GCNConv(data.feature_count, width, cached=True)
        self.second = GCNConv(width, data.classes, cached=True)

    def forward(self, edges: Tensor) -> Tensor:
        """Log-probabilities [n, c]."""
        h = F.relu(self.first(F.dropout(self.x, training=self.training), edges))
        h = self.second(F.dropout(h, training=self.training), edges)
        return F.log_softmax(h, dim=1)
