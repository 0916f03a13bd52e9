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

import ast
import pkgutil
from importlib import import_module
from typing import Any

__version__ = "0.2.0"


def _stub_imports() -> dict[str, str]:
    """Return the names that `__init__.pyi` imports, with the module that each is from."""
    stub = pkgutil.get_data("agnn", "__init__.pyi") or b""
    imports = [node for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in imports for alias in node.names}


# The public names, each with its module; a package of agnn is from nowhere else.
_HOMES = _stub_imports()
__all__ = [name for name, module in _HOMES.items() if module]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'agnn' has no attribute '{name}'")
    if not _HOMES[name]:
        return import_module(f"agnn.{name}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*_HOMES, "__version__"]
