"""Graphs, features and fixed propagation, as the kernels read them."""

from agnn.graph.adjacency import adjacency, row_normalised, symmetric_normalised
from agnn.graph.dense_features import DenseFeatures, Features, features_of
from agnn.graph.edge_lookup import edge_places, row_edges
from agnn.graph.features import FeatureMatrix
from agnn.graph.graph import Graph
from agnn.graph.hop_rings import hop_rings
from agnn.graph.propagation import Propagation, diffusion, neighbour_mean, symmetric
from agnn.graph.receptive_field import ReceptiveField
from agnn.graph.view import View
from agnn.graph.walks import Walks

__all__ = [
    "DenseFeatures",
    "FeatureMatrix",
    "Features",
    "Graph",
    "Propagation",
    "ReceptiveField",
    "View",
    "Walks",
    "adjacency",
    "diffusion",
    "edge_places",
    "features_of",
    "hop_rings",
    "neighbour_mean",
    "row_edges",
    "row_normalised",
    "symmetric",
    "symmetric_normalised",
]
