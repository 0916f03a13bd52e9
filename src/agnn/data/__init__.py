"""Files to one checked, frozen object: features, labels, edges, ids and splits of a graph."""

from agnn.data.catalogue import dataset_names, load_dataset
from agnn.data.edges import RawCounts
from agnn.data.node_data import NodeData
from agnn.data.planetoid import load_planetoid
from agnn.data.split_draws import balanced_split, k_folds, nested_k_folds, uniform_split
from agnn.data.split_specs import make_splits
from agnn.data.splits import Split

__all__ = [
    "NodeData",
    "RawCounts",
    "Split",
    "balanced_split",
    "dataset_names",
    "k_folds",
    "load_dataset",
    "load_planetoid",
    "make_splits",
    "nested_k_folds",
    "uniform_split",
]
