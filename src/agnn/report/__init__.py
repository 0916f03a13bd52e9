"""Results to figures and pages: pure functions, and the folder they are written to."""

from agnn.report.demo_figures import demo_figures
from agnn.report.demo_folder import check_demo_folder, demo_folder
from agnn.report.heat_map import relevance_heat_map
from agnn.report.page import PageFigure, demo_page
from agnn.report.relations import Relation, relations
from agnn.report.rendering import png, svg
from agnn.report.replicas import replica_figure
from agnn.report.training_curves import training_curves

__all__ = [
    "PageFigure",
    "Relation",
    "check_demo_folder",
    "demo_figures",
    "demo_folder",
    "demo_page",
    "png",
    "relations",
    "relevance_heat_map",
    "replica_figure",
    "svg",
    "training_curves",
]
