"""Graphs from other libraries and file formats.

SciPy and NumPy arrays (`from_scipy`), PyG objects (`from_pyg`), NetworkX graphs (`from_networkx`),
GraphML, GEXF and `.npz` files (`read_graph`). Each function returns a checked `NodeData`:

>>> import numpy as np
>>> from types import SimpleNamespace
>>> data = from_pyg(SimpleNamespace(edge_index=np.array([[0, 1], [1, 2]]), x=np.eye(3)))
>>> data.nodes, data.edges.T.tolist()
(3, [[0, 1], [1, 2]])

pandas is needed for NetworkX, GraphML and GEXF only, whose attributes are read as tables.
"""

from agnn.data.sources._arrays import from_pyg as from_pyg, from_scipy as from_scipy
from agnn.data.sources._networkx import (
    GRAPH_FILES as GRAPH_FILES,
    from_networkx as from_networkx,
    read_graph as read_graph,
)
