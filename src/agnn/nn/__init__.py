"""Layers and models with a replica axis."""

from agnn.nn.appnp import APPNP
from agnn.nn.dcnn import DCNN
from agnn.nn.dynamic_filter import DynamicFilter
from agnn.nn.gat import GAT, AdditiveAttention
from agnn.nn.gcnii import GCNII
from agnn.nn.graph_cnn import GraphCNN
from agnn.nn.layers import Beta, CosineAttention, Linear, SparseLinear
from agnn.nn.linear_form import Hop, LinearForm, Paths, Units, last_hop
from agnn.nn.mlp import MLP
from agnn.nn.models import AGNN, GCN, GLN
from agnn.nn.monet import MoNet
from agnn.nn.node_model import ChainModel, NodeModel
from agnn.nn.sgc import SGC

__all__ = [
    "AGNN",
    "APPNP",
    "DCNN",
    "GAT",
    "GCN",
    "GCNII",
    "GLN",
    "MLP",
    "SGC",
    "AdditiveAttention",
    "Beta",
    "ChainModel",
    "CosineAttention",
    "DynamicFilter",
    "GraphCNN",
    "Hop",
    "Linear",
    "LinearForm",
    "MoNet",
    "NodeModel",
    "Paths",
    "SparseLinear",
    "Units",
    "last_hop",
]
