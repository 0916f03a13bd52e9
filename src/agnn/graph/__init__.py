"""Graphs, features and fixed propagation, as the kernels read them."""

from agnn.graph.features import FeatureMatrix
from agnn.graph.graph import Graph
from agnn.graph.propagation import Propagation, diffusion, symmetric
from agnn.graph.receptive_field import ReceptiveField
from agnn.graph.view import View

__all__ = [
    "FeatureMatrix",
    "Graph",
    "Propagation",
    "ReceptiveField",
    "View",
    "diffusion",
    "symmetric",
]
