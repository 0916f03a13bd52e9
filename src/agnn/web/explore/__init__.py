"""The explorer: a page in the browser to walk through a trained run from node to node.

`explore_app(Explorer([run]))` is an ASGI application; with two runs on the same data the page
shows both. `share(run, path)` writes the page as one file that needs no server, and no package of
the extra `serve`. docs/explore.md describes the page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agnn.web.explore._explorer import Explorer
from agnn.web.explore._shared_page import share

if TYPE_CHECKING:
    from agnn.web.explore._app import explore_app

__all__ = ["Explorer", "explore_app", "share"]


def __getattr__(name: str) -> Any:
    if name != "explore_app":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from agnn.web.explore import _app

    return _app.explore_app
