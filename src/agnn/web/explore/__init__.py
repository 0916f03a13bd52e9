"""The explorer: a page in the browser to walk through a trained run from node to node.

`explore_app(Explorer([run]))` is an ASGI application; with two runs on the same data the page
shows both. docs/explore.md describes the page.
"""

from agnn.web.explore._app import explore_app
from agnn.web.explore._explorer import Explorer

__all__ = ["Explorer", "explore_app"]
