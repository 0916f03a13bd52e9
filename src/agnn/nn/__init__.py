"""Layers and models with a replica axis."""

from agnn.nn.layers import Beta, CosineAttention, Linear, SparseLinear
from agnn.nn.mlp import MLP
from agnn.nn.models import AGNN, GCN, GLN, NodeModel

__all__ = [
    "AGNN",
    "GCN",
    "GLN",
    "MLP",
    "Beta",
    "CosineAttention",
    "Linear",
    "NodeModel",
    "SparseLinear",
]
