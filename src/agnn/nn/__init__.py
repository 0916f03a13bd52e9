"""Layers and models with a replica axis."""

from agnn.nn.appnp import APPNP
from agnn.nn.dynamic_filter import DynamicFilter
from agnn.nn.gat import GAT, AdditiveAttention
from agnn.nn.gcnii import GCNII
from agnn.nn.layers import Beta, CosineAttention, Linear, SparseLinear
from agnn.nn.models import AGNN, GCN, GLN
from agnn.nn.monet import MoNet
from agnn.nn.node_model import ChainModel, NodeModel
from agnn.nn.sgc import SGC

__all__ = [
    "AGNN",
    "APPNP",
    "GAT",
    "GCN",
    "GCNII",
    "GLN",
    "SGC",
    "AdditiveAttention",
    "Beta",
    "ChainModel",
    "CosineAttention",
    "DynamicFilter",
    "Linear",
    "MoNet",
    "NodeModel",
    "SparseLinear",
]
