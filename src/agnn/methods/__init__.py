"""The methods, each one file behind one small protocol."""

from agnn.methods.agnn import AGNN
from agnn.methods.deepwalk import DeepWalk
from agnn.methods.embedding import EmbeddingMethod
from agnn.methods.gcn import GCN, GLN
from agnn.methods.graph2gauss import Graph2Gauss
from agnn.methods.lasagne import LASAGNE
from agnn.methods.line import LINE
from agnn.methods.network import NetworkMethod
from agnn.methods.neu import NEU
from agnn.methods.node2vec import Node2Vec
from agnn.methods.protocol import Method, Outcome, Task
from agnn.methods.registry import get_method, method_names, register
from agnn.methods.tuned import Tuned

__all__ = [
    "AGNN",
    "GCN",
    "GLN",
    "LASAGNE",
    "LINE",
    "NEU",
    "DeepWalk",
    "EmbeddingMethod",
    "Graph2Gauss",
    "Method",
    "NetworkMethod",
    "Node2Vec",
    "Outcome",
    "Task",
    "Tuned",
    "get_method",
    "method_names",
    "register",
]
