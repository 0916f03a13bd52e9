"""Attention-based graph neural networks: a graph, a few labels, answers with reasons."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agnn.data import (
        DataReport,
        NodeData,
        Split,
        from_networkx,
        from_pandas,
        from_pyg,
        from_scipy,
        load_dataset,
        load_planetoid,
        read_graph,
        read_tables,
    )
    from agnn.errors import AgnnError, DataError, InputError, UnavailableError
    from agnn.estimator import NodeClassifier
    from agnn.experiments import reproduce
    from agnn.methods import get_method, method_names
    from agnn.runs import evaluate, load_run, preset_method, save_run
    from agnn.training import memory_estimate

__version__ = "0.1.0"

# Imported on first use: `import agnn` alone costs next to nothing.
_HOMES = {
    "AgnnError": "agnn.errors",
    "DataError": "agnn.errors",
    "DataReport": "agnn.data",
    "InputError": "agnn.errors",
    "NodeClassifier": "agnn.estimator",
    "NodeData": "agnn.data",
    "Split": "agnn.data",
    "UnavailableError": "agnn.errors",
    "evaluate": "agnn.runs",
    "from_networkx": "agnn.data",
    "from_pandas": "agnn.data",
    "from_pyg": "agnn.data",
    "from_scipy": "agnn.data",
    "get_method": "agnn.methods",
    "load_dataset": "agnn.data",
    "load_planetoid": "agnn.data",
    "load_run": "agnn.runs",
    "memory_estimate": "agnn.training",
    "method_names": "agnn.methods",
    "preset_method": "agnn.runs",
    "read_graph": "agnn.data",
    "read_tables": "agnn.data",
    "reproduce": "agnn.experiments",
    "save_run": "agnn.runs",
}

__all__ = [
    "AgnnError",
    "DataError",
    "DataReport",
    "InputError",
    "NodeClassifier",
    "NodeData",
    "Split",
    "UnavailableError",
    "evaluate",
    "from_networkx",
    "from_pandas",
    "from_pyg",
    "from_scipy",
    "get_method",
    "load_dataset",
    "load_planetoid",
    "load_run",
    "memory_estimate",
    "method_names",
    "preset_method",
    "read_graph",
    "read_tables",
    "reproduce",
    "save_run",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'agnn' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)
