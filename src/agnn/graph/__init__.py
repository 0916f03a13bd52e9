"""Graphs, features and fixed propagation matrices, as the kernels read them.

`Graph` is an undirected graph in compressed rows. Features are `SparseFeatures` (sparse) or
`DenseFeatures`; `features_of` chooses. `Propagation` has a fixed weight per edge. A model computes
the outputs at the targets of a `View`: the features and the part of the graph, a `ReceptiveField`,
that these outputs depend on. A `SampledView` has chosen neighbours only. `Part` is one rank's
share of a graph whose rows are divided.

>>> import numpy as np
>>> from agnn.graph import Graph, hop_rings
>>> graph = Graph.from_edges(np.array([[0, 1, 2], [1, 2, 3]]), nodes=4)  # the path 0 - 1 - 2 - 3
>>> graph.nodes, graph.edges  # every edge is stored in both directions
(4, 6)
>>> [ring.tolist() for ring in hop_rings(graph, graph.senders[:1], hops=2)]  # around node 1
[[1], [0, 2], [3]]
"""

from agnn.graph._features import (
    DenseFeatures,
    Features,
    SparseFeatures,
    UsualNumbers,
    features_of,
)
from agnn.graph._graph import TOO_LARGE_TO_PRUNE, Graph, LongRows
from agnn.graph._part import Part, block_bounds, local_rows, rank_bounds
from agnn.graph._propagation import (
    Propagation,
    adjacency,
    diffusion,
    normalise_rows,
    normalise_symmetrically,
    symmetric,
)
from agnn.graph._propagation import SparseMatrix as SparseMatrix
from agnn.graph._sampled_view import Block, SampledView
from agnn.graph._view import ReceptiveField, View, edge_places, hop_rings, row_edges
from agnn.graph._walks import Walks

__all__ = [
    "TOO_LARGE_TO_PRUNE",
    "Block",
    "DenseFeatures",
    "Features",
    "Graph",
    "LongRows",
    "Part",
    "Propagation",
    "ReceptiveField",
    "SampledView",
    "SparseFeatures",
    "UsualNumbers",
    "View",
    "Walks",
    "adjacency",
    "block_bounds",
    "diffusion",
    "edge_places",
    "features_of",
    "hop_rings",
    "local_rows",
    "normalise_rows",
    "normalise_symmetrically",
    "rank_bounds",
    "row_edges",
    "symmetric",
]
