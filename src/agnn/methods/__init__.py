"""The methods, each one file behind one small protocol."""

from agnn.methods._baselines import Boosting, Majority, Ridge
from agnn.methods.agnn import AGNN
from agnn.methods.agnn_plus import AGNNPlus
from agnn.methods.appnp import APPNP
from agnn.methods.bootstrap import Bootstrap
from agnn.methods.dcnn import DCNN
from agnn.methods.deepwalk import DeepWalk
from agnn.methods.dynamic_filter import DynamicFilter
from agnn.methods.embedding import EmbeddingMethod
from agnn.methods.gat import GAT
from agnn.methods.gcn import GCN, GLN
from agnn.methods.gcnii import GCNII
from agnn.methods.graph2gauss import Graph2Gauss
from agnn.methods.graph_cnn import GraphCNN
from agnn.methods.ica import ICA
from agnn.methods.label_propagation import LabelPropagation
from agnn.methods.lasagne import LASAGNE
from agnn.methods.line import LINE
from agnn.methods.manifold_regularisation import ManifoldRegularisation
from agnn.methods.monet import MoNet
from agnn.methods.multilayer_perceptron import MultilayerPerceptron
from agnn.methods.network import NetworkMethod
from agnn.methods.neu import NEU
from agnn.methods.node2vec import Node2Vec
from agnn.methods.planetoid import Planetoid, PlanetoidI, PlanetoidT
from agnn.methods.protocol import Method, Outcome, Task
from agnn.methods.registry import get_method, method_names, register
from agnn.methods.semi_supervised_embedding import SemiSupervisedEmbedding
from agnn.methods.sgc import SGC
from agnn.methods.single_layer_perceptron import SingleLayerPerceptron
from agnn.methods.t_svm import TransductiveSVM
from agnn.methods.tuned import Tuned

__all__ = [
    "AGNN",
    "APPNP",
    "DCNN",
    "GAT",
    "GCN",
    "GCNII",
    "GLN",
    "ICA",
    "LASAGNE",
    "LINE",
    "NEU",
    "SGC",
    "AGNNPlus",
    "Boosting",
    "Bootstrap",
    "DeepWalk",
    "DynamicFilter",
    "EmbeddingMethod",
    "Graph2Gauss",
    "GraphCNN",
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
    "SingleLayerPerceptron",
    "Task",
    "TransductiveSVM",
    "Tuned",
    "get_method",
    "method_names",
    "register",
]
