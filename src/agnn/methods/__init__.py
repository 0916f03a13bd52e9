"""The methods, each one file behind one small protocol."""

from agnn.methods.agnn import AGNN
from agnn.methods.appnp import APPNP
from agnn.methods.dcnn import DCNN
from agnn.methods.dynamic_filter import DynamicFilter
from agnn.methods.gat import GAT
from agnn.methods.gcn import GCN, GLN
from agnn.methods.gcnii import GCNII
from agnn.methods.graph_cnn import GraphCNN
from agnn.methods.monet import MoNet
from agnn.methods.network import NetworkMethod
from agnn.methods.protocol import Method, Outcome, Task
from agnn.methods.registry import get_method, method_names, register
from agnn.methods.sgc import SGC
from agnn.methods.tuned import Tuned

__all__ = [
    "AGNN",
    "APPNP",
    "DCNN",
    "GAT",
    "GCN",
    "GCNII",
    "GLN",
    "SGC",
    "DynamicFilter",
    "GraphCNN",
    "Method",
    "MoNet",
    "NetworkMethod",
    "Outcome",
    "Task",
    "Tuned",
    "get_method",
    "method_names",
    "register",
]
