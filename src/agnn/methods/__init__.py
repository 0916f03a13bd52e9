"""The methods, each one file behind one small protocol."""

from agnn.methods.agnn import AGNN
from agnn.methods.bootstrap import Bootstrap
from agnn.methods.gcn import GCN, GLN
from agnn.methods.ica import ICA
from agnn.methods.label_propagation import LabelPropagation
from agnn.methods.manifold_regularisation import ManifoldRegularisation
from agnn.methods.multilayer_perceptron import MultilayerPerceptron
from agnn.methods.network import NetworkMethod
from agnn.methods.planetoid import Planetoid, PlanetoidI, PlanetoidT
from agnn.methods.protocol import Method, Outcome, Task
from agnn.methods.registry import get_method, method_names, register
from agnn.methods.semi_supervised_embedding import SemiSupervisedEmbedding
from agnn.methods.single_layer_perceptron import SingleLayerPerceptron
from agnn.methods.t_svm import TransductiveSVM
from agnn.methods.tuned import Tuned

__all__ = [
    "AGNN",
    "GCN",
    "GLN",
    "ICA",
    "Bootstrap",
    "LabelPropagation",
    "ManifoldRegularisation",
    "Method",
    "MultilayerPerceptron",
    "NetworkMethod",
    "Outcome",
    "Planetoid",
    "PlanetoidI",
    "PlanetoidT",
    "SemiSupervisedEmbedding",
    "SingleLayerPerceptron",
    "Task",
    "TransductiveSVM",
    "Tuned",
    "get_method",
    "method_names",
    "register",
]
