"""Files to one checked, frozen object: features, labels, edges, ids and splits of a graph."""

from agnn.data._node_data import NodeData
from agnn.data.array_graphs import from_pyg, from_scipy
from agnn.data.catalogue import dataset_names, is_bundled, load_dataset, preset_name
from agnn.data.edges import RawCounts
from agnn.data.graphs import GRAPH_FILES, from_networkx, read_graph
from agnn.data.new_nodes import with_new_nodes
from agnn.data.planetoid import load_planetoid
from agnn.data.preprocessing import Preprocessing
from agnn.data.report import DataReport, check_learnable
from agnn.data.scaling import SCALINGS, Scaling, check_scaling, suited_scaling
from agnn.data.splits import (
    DEFAULT_SPLITS,
    Split,
    SplitSpec,
    balanced_split,
    default_split,
    k_folds,
    make_splits,
    nested_k_folds,
    stratified_folds,
    stratified_split,
    uniform_split,
)
from agnn.data.tables import from_pandas, read_tables

__all__ = [
    "DEFAULT_SPLITS",
    "GRAPH_FILES",
    "SCALINGS",
    "DataReport",
    "NodeData",
    "Preprocessing",
    "RawCounts",
    "Scaling",
    "Split",
    "SplitSpec",
    "balanced_split",
    "check_learnable",
    "check_scaling",
    "dataset_names",
    "default_split",
    "from_networkx",
    "from_pandas",
    "from_pyg",
    "from_scipy",
    "is_bundled",
    "k_folds",
    "load_dataset",
    "load_planetoid",
    "make_splits",
    "nested_k_folds",
    "preset_name",
    "read_graph",
    "read_tables",
    "stratified_folds",
    "stratified_split",
    "suited_scaling",
    "uniform_split",
    "with_new_nodes",
]
