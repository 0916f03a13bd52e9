"""Graphs, features and fixed propagation, as the kernels read them."""

from agnn.graph.features import FeatureMatrix
from agnn.graph.graph import Graph
from agnn.graph.propagation import Propagation, symmetric
from agnn.graph.receptive_field import ReceptiveField
from agnn.graph.view import View
from agnn.graph.walks import Walks

__all__ = [
    "FeatureMatrix",
    "Graph",
    "Propagation",
    "ReceptiveField",
    "View",
    "Walks",
    "symmetric",
]
