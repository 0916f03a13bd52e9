"""Graphs, features and fixed propagation, as the kernels read them."""

from agnn.graph.adjacency import adjacency, row_normalised, symmetric_normalised
from agnn.graph.features import FeatureMatrix
from agnn.graph.graph import Graph
from agnn.graph.propagation import Propagation, symmetric
from agnn.graph.receptive_field import ReceptiveField
from agnn.graph.view import View

__all__ = [
    "FeatureMatrix",
    "Graph",
    "Propagation",
    "ReceptiveField",
    "View",
    "adjacency",
    "row_normalised",
    "symmetric",
    "symmetric_normalised",
]
