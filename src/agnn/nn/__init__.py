"""What networks are built of: layers, initial weights, and the base classes of models.

A model has R replicas: parameters are [R, ...], states [R, n, d] and logits [R, n, c]. It computes
logits at the targets of a `View`, which holds the features and the part of the graph that reaches
these targets. With `View.whole` the targets are all nodes. `agnn.networks` has the networks.

    >>> import torch
    >>> from agnn.nn import Linear, generators
    >>> layer = Linear(3, 2, generators([0, 1]), has_bias=True)  # two replicas
    >>> layer.weight.shape
    torch.Size([2, 3, 2])

Most models are a `ChainModel`: operations that follow one another and are differentiated as one
node of torch's graph. The others compute their logits with ordinary tensors.
"""

from agnn.nn._initialisation import generators, glorot_uniform, normal
from agnn.nn._layers import Beta, CosineAttention, FeatureLinear, Linear
from agnn.nn._neighbourhoods import Neighbourhoods, at_nodes, sizes
from agnn.nn._node_model import (
    INPUT,
    INSIDE,
    OUTPUT,
    ChainModel,
    ModelShape,
    NodeModel,
    Precision,
    at,
    rows_by_layer,
)
from agnn.nn._paths import (
    SUM_OVER_PATHS,
    Hop,
    Paths,
    fixed_note,
    heads_note,
    last_hop,
    two_summed_layers,
)

__all__ = [
    "INPUT",
    "INSIDE",
    "OUTPUT",
    "SUM_OVER_PATHS",
    "Beta",
    "ChainModel",
    "CosineAttention",
    "FeatureLinear",
    "Hop",
    "Linear",
    "ModelShape",
    "Neighbourhoods",
    "NodeModel",
    "Paths",
    "Precision",
    "at",
    "at_nodes",
    "fixed_note",
    "generators",
    "glorot_uniform",
    "heads_note",
    "last_hop",
    "normal",
    "rows_by_layer",
    "sizes",
    "two_summed_layers",
]
