"""Graphs, features and fixed propagation matrices, as the kernels read them.

`Graph` is an undirected graph in compressed rows. Features are `SparseFeatures` (sparse) or
`DenseFeatures`; `features_of` chooses. `Propagation` has a fixed weight per edge. A model computes
the outputs at the targets of a `View`: the features and the part of the graph, a `ReceptiveField`,
that these outputs depend on. A `SampledView` has chosen neighbours only. `Part` is one rank's
share of a graph whose rows are divided.

>>> import numpy as np
>>> from agnn.graph import Graph
>>> graph = Graph.from_edges(np.array([[0, 1, 2], [1, 2, 3]]), nodes=4)  # the path 0 - 1 - 2 - 3
>>> graph.nodes, graph.edges  # every edge is stored in both directions
(4, 6)
>>> [ring.tolist() for ring in graph.hop_rings(graph.senders[:1], hops=2)]  # around node 1
[[1], [0, 2], [3]]
"""

from agnn.graph._features import (
    DenseFeatures as DenseFeatures,
    Features as Features,
    SparseFeatures as SparseFeatures,
    UsualNumbers as UsualNumbers,
    features_of as features_of,
)
from agnn.graph._graph import (
    Graph as Graph,
    LongRows as LongRows,
)
from agnn.graph._part import Part as Part
from agnn.graph._propagation import (
    Propagation as Propagation,
    SparseMatrix as SparseMatrix,
    adjacency as adjacency,
    normalise_rows as normalise_rows,
    normalise_symmetrically as normalise_symmetrically,
)
from agnn.graph._sampled_view import Block as Block, SampledView as SampledView
from agnn.graph._view import ReceptiveField as ReceptiveField, View as View
from agnn.graph._walks import Walks as Walks
