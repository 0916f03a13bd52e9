"""The explorer: a page in the browser to walk through a trained run from node to node.

`explore_app(Explorer([run]))` is an ASGI application; with two runs on the same data the page
shows both. With a `Labelling` the user gives nodes a class and retrains. `share(run, path)` writes
the page as one file that needs no server, and no package of the extra `serve`; `run.explorer()`
shows it in a notebook. docs/explore.md describes the page.

>>> import agnn
>>> run = agnn.evaluate("agnn", agnn.load_dataset("cora"), changes={"epochs": 1})
>>> explorer = Explorer([run])
>>> explorer.about()["nodes"]
2708
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agnn.web.explore._explorer import Explorer
from agnn.web.explore._notebook import ExplorerCell, explorer_cell
from agnn.web.explore._shared_page import share

if TYPE_CHECKING:
    from agnn.web.explore._app import explore_app
    from agnn.web.explore._labelling import Labelling

__all__ = ["Explorer", "ExplorerCell", "Labelling", "explore_app", "explorer_cell", "share"]

_SERVED = {"explore_app": "_app", "Labelling": "_labelling"}  # they need the extra `serve`


def __getattr__(name: str) -> Any:
    if name not in _SERVED:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_SERVED[name]}"), name)
