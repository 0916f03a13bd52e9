"""The explorer: a trained run as a page in which one walks from node to node."""

from agnn.web.explore.app import explore_app
from agnn.web.explore.explorer import Explorer

__all__ = ["Explorer", "explore_app"]
