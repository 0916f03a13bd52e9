"""torch_geometric's GAT and GCN, as its own examples build and feed them."""

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
    from torch_geometric.nn import GATConv, GCNConv


class GATExample(nn.Module):
    """examples/gat.py: eight heads of eight, dropout of 0.6 on states and attention."""

    def __init__(self, data: NodeData, output_heads: int) -> None:
        super().__init__()
        self.x = torch.from_numpy(data.scaled_features("sum").toarray())
        self.first = GATConv(data.feature_count, 8, heads=8, dropout=0.6)
        self.last = GATConv(64, data.classes, heads=output_heads, concat=False, dropout=0.6)

    def forward(self, edges: Tensor) -> Tensor:
        """Log-probabilities [n, c]."""
        h = F.dropout(self.x, p=0.6, training=self.training)
        h = F.elu(self.first(h, edges))
        h = F.dropout(h, p=0.6, training=self.training)
        return F.log_softmax(self.last(h, edges), dim=1)


class GCNExample(nn.Module):
    """examples/gcn.py: sixteen hidden units, the normalised weights cached after the first call."""

    def __init__(self, data: NodeData) -> None:
        super().__init__()
        self.x = torch.from_numpy(data.scaled_features("sum").toarray())
        self.first = GCNConv(data.feature_count, 16, cached=True)
        self.last = GCNConv(16, data.classes, cached=True)

    def forward(self, edges: Tensor) -> Tensor:
        """Log-probabilities [n, c]."""
        h = F.dropout(self.x, p=0.5, training=self.training)
        h = F.relu(self.first(h, edges))
        h = F.dropout(h, p=0.5, training=self.training)
        return F.log_softmax(self.last(h, edges), dim=1)
