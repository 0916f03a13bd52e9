"""The networks, one file each: hyper-parameters, presets, citation, parameters, operations.

A network is a frozen dataclass whose fields are its hyper-parameters. `build` gives its model, a
`torch.nn.Module` with any number of replicas:

    >>> import agnn
    >>> from agnn.graph import Graph, View, features_of
    >>> from agnn.networks import AGNN
    >>> cora = agnn.load_dataset("cora")
    >>> features = features_of(cora.normalised_features())
    >>> model = AGNN(layers=2, first_beta=0.0).build(features.width, cora.classes, seeds=(0, 1))
    >>> view = View.whole(features, Graph.of(cora), model.hops)
    >>> model(view).shape  # replicas, nodes, classes
    torch.Size([2, 2708, 7])
    >>> model.betas.tolist()  # replicas, layers
    [[0.0, 1.0], [0.0, 1.0]]
    >>> first, second = model.attentions(view)  # how much each node attends to each neighbour
    >>> first.edges.shape == (2, Graph.of(cora).edges)
    True

A model has R replicas: parameters are [R, ...], states [R, n, d] and logits [R, n, c]. It is a
chain of operations (`NodeModel.links`), differentiated as one node of torch's graph, and computes
logits at the targets of a `View`: the features and the part of the graph that reaches these
targets. Layers such as `Linear` hold parameters and give links.

A network is also a `Method`: it turns a `Task` (data, splits and seeds) into an `Outcome` (class
probabilities of every node for every replica). Every module of this package is imported here, so a
new network registers itself.
"""

from importlib import import_module
from pkgutil import iter_modules

from agnn.networks._agnn import AGNN
from agnn.networks._agnn_plus import AGNNPlus
from agnn.networks._appnp import APPNP
from agnn.networks._chebnet import ChebNet
from agnn.networks._dcnn import DCNN
from agnn.networks._dynamic_filter import DynamicFilter
from agnn.networks._fagcn import FAGCN
from agnn.networks._gat import GAT
from agnn.networks._gcn import GCN, GLN
from agnn.networks._gcnii import GCNII
from agnn.networks._grand import GRAND
from agnn.networks._graph_cnn import GraphCNN
from agnn.networks._graphsage import GraphSAGE
from agnn.networks._layers import FeatureLinear, Linear, generators, glorot_uniform
from agnn.networks._model import INPUT, OUTPUT, NodeModel, at, rows_by_layer
from agnn.networks._monet import MoNet
from agnn.networks._multilayer_perceptron import MultilayerPerceptron
from agnn.networks._network import (
    HiddenNetwork,
    NetworkMethod,
    check_usable,
    memory_estimate,
)
from agnn.networks._network import Matrix as Matrix
from agnn.networks._pair_attention import GATv2, GraphTransformer
from agnn.networks._paths import Paths
from agnn.networks._protocol import (
    Count,
    Method,
    Outcome,
    Positive,
    Share,
    Task,
    get_method,
    method_names,
    register,
    require_features,
    require_held_out,
    validation_scores,
)
from agnn.networks._semi_supervised_embedding import SemiSupervisedEmbedding
from agnn.networks._separated import Separated
from agnn.networks._sgc import SGC

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
    "INPUT",
    "OUTPUT",
    "SGC",
    "AGNNPlus",
    "ChebNet",
    "Count",
    "DynamicFilter",
    "FeatureLinear",
    "GATv2",
    "GraphCNN",
    "GraphSAGE",
    "GraphTransformer",
    "HiddenNetwork",
    "Linear",
    "Method",
    "MoNet",
    "MultilayerPerceptron",
    "NetworkMethod",
    "NodeModel",
    "Outcome",
    "Paths",
    "Positive",
    "SemiSupervisedEmbedding",
    "Separated",
    "Share",
    "Task",
    "at",
    "check_usable",
    "generators",
    "get_method",
    "glorot_uniform",
    "memory_estimate",
    "method_names",
    "register",
    "require_features",
    "require_held_out",
    "rows_by_layer",
    "validation_scores",
]

for _module in iter_modules(__path__, f"{__name__}."):
    import_module(_module.name)
