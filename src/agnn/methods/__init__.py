"""The methods, each one file behind one small protocol."""

from agnn.methods.agnn import AGNN
from agnn.methods.gcn import GCN, GLN
from agnn.methods.network import NetworkMethod
from agnn.methods.protocol import Method, Outcome, Task
from agnn.methods.registry import get_method, method_names, register
from agnn.methods.tuned import Tuned

__all__ = [
    "AGNN",
    "GCN",
    "GLN",
    "Method",
    "NetworkMethod",
    "Outcome",
    "Task",
    "Tuned",
    "get_method",
    "method_names",
    "register",
]
