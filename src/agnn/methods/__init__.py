"""The methods, one module each behind one protocol.

A method is a frozen dataclass whose fields are its hyper-parameters. It turns a `Task` (data,
splits and seeds) into an `Outcome` (class probabilities of every node for every replica).

    >>> import agnn
    >>> cora = agnn.load_dataset("cora")
    >>> method = get_method("gcn").preset("fixed", "cora").with_fields(epochs=5)
    >>> method.hidden, method.learning_rate
    (16, 0.01)
    >>> outcome = method.run(Task(cora, (cora.split("fixed"),) * 2, seeds=(0, 1)))
    >>> outcome.scores.shape  # replicas, nodes, classes
    torch.Size([2, 2708, 7])
    >>> "label_propagation" in method_names()
    True

`NetworkMethod` is the base of all networks: a subclass names its model, declares its fields and
gives a recipe. `SplitMethod` and `EmbeddingMethod` are the bases of the others. `Tuned` chooses the
hyper-parameters of another method on validation nodes.

Every module of this package is imported here, so a new method registers itself.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from agnn.methods._agnn import AGNN
from agnn.methods._agnn_plus import AGNNPlus
from agnn.methods._appnp import APPNP
from agnn.methods._baselines import Boosting, Majority, Ridge
from agnn.methods._bootstrap import Bootstrap
from agnn.methods._chebnet import ChebNet
from agnn.methods._dcnn import DCNN
from agnn.methods._deepwalk import NEU, DeepWalk
from agnn.methods._dynamic_filter import DynamicFilter
from agnn.methods._embedding import EmbeddingMethod
from agnn.methods._fagcn import FAGCN
from agnn.methods._gat import GAT
from agnn.methods._gcn import GCN, GLN
from agnn.methods._gcnii import GCNII
from agnn.methods._grand import GRAND
from agnn.methods._graph2gauss import Graph2Gauss
from agnn.methods._graph_cnn import GraphCNN
from agnn.methods._ica import ICA
from agnn.methods._label_propagation import LabelPropagation
from agnn.methods._lasagne import LASAGNE
from agnn.methods._line import LINE
from agnn.methods._manifold_regularisation import ManifoldRegularisation
from agnn.methods._monet import MoNet
from agnn.methods._multilayer_perceptron import MultilayerPerceptron
from agnn.methods._network import HiddenNetwork, NetworkMethod, check_usable
from agnn.methods._node2vec import Node2Vec
from agnn.methods._pair_attention import GATv2, GraphTransformer
from agnn.methods._planetoid import Planetoid, PlanetoidI, PlanetoidT
from agnn.methods._protocol import (
    Method,
    Outcome,
    Task,
    get_method,
    method_names,
    register,
    renamed,
    require_features,
    stored_name,
    validation_scores,
)
from agnn.methods._semi_supervised_embedding import SemiSupervisedEmbedding
from agnn.methods._separated import GraphSAGE, Separated
from agnn.methods._sgc import SGC
from agnn.methods._single_layer_perceptron import SingleLayerPerceptron
from agnn.methods._split_method import SplitMethod
from agnn.methods._t_svm import TransductiveSVM
from agnn.methods._tuned import Tuned

if TYPE_CHECKING:
    from agnn.methods._network import Matrix as Matrix

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
    "ICA",
    "LASAGNE",
    "LINE",
    "NEU",
    "SGC",
    "AGNNPlus",
    "Boosting",
    "Bootstrap",
    "ChebNet",
    "DeepWalk",
    "DynamicFilter",
    "EmbeddingMethod",
    "GATv2",
    "Graph2Gauss",
    "GraphCNN",
    "GraphSAGE",
    "GraphTransformer",
    "HiddenNetwork",
    "LabelPropagation",
    "Majority",
    "ManifoldRegularisation",
    "Method",
    "MoNet",
    "MultilayerPerceptron",
    "NetworkMethod",
    "Node2Vec",
    "Outcome",
    "Planetoid",
    "PlanetoidI",
    "PlanetoidT",
    "Ridge",
    "SemiSupervisedEmbedding",
    "Separated",
    "SingleLayerPerceptron",
    "SplitMethod",
    "Task",
    "TransductiveSVM",
    "Tuned",
    "check_usable",
    "get_method",
    "method_names",
    "register",
    "renamed",
    "require_features",
    "stored_name",
    "validation_scores",
]

for _module in iter_modules(__path__, f"{__name__}."):
    import_module(_module.name)
