"""Layers and models, each with a leading replica axis.

A model has R replicas: parameters are [R, ...], states [R, n, d] and logits [R, n, c]. It computes
logits at the targets of a `View`, which holds the features and the part of the graph that reaches
these targets. With `View.whole` the targets are all nodes.

    >>> import agnn
    >>> from agnn.graph import Graph, View, features_of
    >>> cora = agnn.load_dataset("cora")
    >>> graph = Graph.from_edges(cora.edges, cora.nodes)
    >>> features = features_of(cora.normalised_features())
    >>> model = AGNN(features.width, cora.classes, seeds=(0, 1), betas=(Beta(0.0), Beta(1.0)))
    >>> view = View.whole(features, graph, model.hops)
    >>> model(view).shape  # replicas, nodes, classes
    torch.Size([2, 2708, 7])
    >>> model.betas.tolist()  # replicas, layers
    [[0.0, 1.0], [0.0, 1.0]]
    >>> first, second = model.attentions(view)  # how much each node attends to each neighbour
    >>> first.edges.shape == (2, graph.edges)
    True

Most models are a `ChainModel`: operations that follow one another and are differentiated as one
node of torch's graph. The others compute their logits with ordinary tensors.
"""

from agnn.nn._agnn import AGNN
from agnn.nn._agnn_plus import AGNNPlus
from agnn.nn._appnp import APPNP
from agnn.nn._chebyshev import ChebNet
from agnn.nn._dynamic_filter import DynamicFilter
from agnn.nn._fagcn import FAGCN
from agnn.nn._gat import GAT, AdditiveAttention
from agnn.nn._gcn import GCN, GLN
from agnn.nn._gcnii import GCNII
from agnn.nn._grand import GRAND
from agnn.nn._graph_cnn import GraphCNN
from agnn.nn._initialisation import generators, glorot_uniform
from agnn.nn._layers import Beta, CosineAttention, FeatureLinear, Linear
from agnn.nn._monet import MoNet
from agnn.nn._node_model import ChainModel, NodeModel, Precision
from agnn.nn._pair_attention import GATv2, GraphTransformer
from agnn.nn._paths import Hop, Paths, last_hop
from agnn.nn._row_models import DCNN, MLP, SGC, PropagatingSGC
from agnn.nn._separated import GraphSAGE, Normalisation, Separated, Weights

__all__ = [
    "AGNN",
    "APPNP",
    "DCNN",
    "FAGCN",
    "GAT",
    "GCN",
    "GCNII",
    "GLN",
    "GRAND",
    "MLP",
    "SGC",
    "AGNNPlus",
    "AdditiveAttention",
    "Beta",
    "ChainModel",
    "ChebNet",
    "CosineAttention",
    "DynamicFilter",
    "FeatureLinear",
    "GATv2",
    "GraphCNN",
    "GraphSAGE",
    "GraphTransformer",
    "Hop",
    "Linear",
    "MoNet",
    "NodeModel",
    "Normalisation",
    "Paths",
    "Precision",
    "PropagatingSGC",
    "Separated",
    "Weights",
    "generators",
    "glorot_uniform",
    "last_hop",
]
