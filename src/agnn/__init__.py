"""Attention-based graph neural networks: predictions for the nodes of a graph, with reasons.

Read a graph, train, and ask:

>>> import agnn
>>> cora = agnn.load_dataset("cora")
>>> run = agnn.evaluate("agnn", cora, split="fixed", replicas=2, changes={"epochs": 5})
>>> run.predict(["1131150", "1103960"]).probabilities.shape
(2, 7)
>>> run.explain("1131150").neighbours[0].hops
1

`NodeClassifier` is the same as a scikit-learn estimator. Everything is imported on first use, so
`import agnn` alone costs next to nothing; the packages (`agnn.data`, `agnn.metrics`, ...) are
attributes, too.
"""

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
        with_new_nodes,
    )
    from agnn.errors import (
        AgnnError,
        DataError,
        DivergedError,
        InputError,
        StoppedError,
        UnavailableError,
    )
    from agnn.estimator import NodeClassifier
    from agnn.experiments import reproduce
    from agnn.explanation import explain
    from agnn.leaderboard import Leaderboard, compare
    from agnn.methods import get_method, method_names
    from agnn.networks import AGNN
    from agnn.pyg import AGNNConv
    from agnn.runs import Predictions, Run, evaluate, load_run, prepare, preset_method, save_run
    from agnn.training import Checkpoints, memory_estimate
    from agnn.web.explore import share

__version__ = "0.2.0"

_NAMES = {  # by package, in the order of the tasks below
    # read
    "agnn.data": (
        "load_dataset", "read_tables", "read_graph", "from_pandas", "from_networkx", "from_scipy",
        "from_pyg", "load_planetoid", "with_new_nodes", "NodeData", "Split", "DataReport",
    ),
    # train
    "agnn.estimator": ("NodeClassifier",),
    "agnn.runs": (
        "evaluate", "prepare", "preset_method", "Run", "Predictions", "load_run", "save_run",
    ),
    "agnn.methods": ("method_names", "get_method"),
    "agnn.training": ("memory_estimate", "Checkpoints"),
    # compare
    "agnn.leaderboard": ("compare", "Leaderboard"),
    "agnn.experiments": ("reproduce",),
    # ask
    "agnn.explanation": ("explain",),
    "agnn.web.explore": ("share",),
    # build
    "agnn.networks": ("AGNN",),
    "agnn.pyg": ("AGNNConv",),
    # catch
    "agnn.errors": (
        "AgnnError", "InputError", "DataError", "UnavailableError", "DivergedError",
        "StoppedError",
    ),
}  # fmt: skip
_HOMES = {name: package for package, names in _NAMES.items() for name in names}
_PACKAGES = (
    "cli", "data", "distributed", "errors", "estimator", "experiments", "explanation", "files",
    "graph", "hub", "kernels", "leaderboard", "methods", "metrics", "networks", "nn", "onnx",
    "pyg", "report", "runs", "trackers", "training", "web",
)  # fmt: skip

__all__ = [  # noqa: RUF022 (by task)
    # read
    "load_dataset",
    "read_tables",
    "read_graph",
    "from_pandas",
    "from_networkx",
    "from_scipy",
    "from_pyg",
    "load_planetoid",
    "with_new_nodes",
    "NodeData",
    "Split",
    "DataReport",
    # train
    "NodeClassifier",
    "evaluate",
    "prepare",
    "preset_method",
    "method_names",
    "get_method",
    "memory_estimate",
    "Checkpoints",
    # compare
    "compare",
    "Leaderboard",
    "reproduce",
    # ask
    "Run",
    "Predictions",
    "explain",
    "share",
    # keep
    "save_run",
    "load_run",
    # build
    "AGNN",
    "AGNNConv",
    # catch
    "AgnnError",
    "InputError",
    "DataError",
    "UnavailableError",
    "DivergedError",
    "StoppedError",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"agnn.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'agnn' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, *_PACKAGES, "__version__"]
