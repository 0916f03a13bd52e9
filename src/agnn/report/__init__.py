"""Results to figures and pages: pure functions, and the folder they are written to."""

from agnn.report.comparison_json import comparison_values
from agnn.report.comparison_markdown import comparison_markdown, drawing_markdown, markdown_page
from agnn.report.comparison_page import DrawingSection, TableSection, comparison_page
from agnn.report.demo_folder import check_demo_folder, demo_folder
from agnn.report.experiment_figures import panel_figure
from agnn.report.experiment_files import (
    FIGURES,
    adopt_figures,
    drawn_figures,
    write_figures,
    write_report,
    write_whole,
)
from agnn.report.explanation_page import (
    explanation_figure,
    explanation_fragment,
    explanation_page,
    surroundings_of,
)
from agnn.report.facts.run_facts import RunFacts, run_facts
from agnn.report.heat_map import relevance_heat_map
from agnn.report.neighbourhood_figure import neighbourhood_figure
from agnn.report.neighbourhood_panel import Panel
from agnn.report.page_figure import PageFigure
from agnn.report.paper_figures import contrast_figure, relevance_figure
from agnn.report.relations import Relation, relations
from agnn.report.reliability_diagram import reliability_diagram
from agnn.report.rendering import png, svg
from agnn.report.replicas import replica_figure
from agnn.report.run_figures import rendered, run_figures
from agnn.report.run_page import run_page
from agnn.report.shown_explanation import ShownExplanation, shown_explanation

__all__ = [
    "FIGURES",
    "DrawingSection",
    "PageFigure",
    "Panel",
    "Relation",
    "RunFacts",
    "ShownExplanation",
    "TableSection",
    "adopt_figures",
    "check_demo_folder",
    "comparison_markdown",
    "comparison_page",
    "comparison_values",
    "contrast_figure",
    "demo_folder",
    "drawing_markdown",
    "drawn_figures",
    "explanation_figure",
    "explanation_fragment",
    "explanation_page",
    "markdown_page",
    "neighbourhood_figure",
    "panel_figure",
    "png",
    "relations",
    "relevance_figure",
    "relevance_heat_map",
    "reliability_diagram",
    "rendered",
    "replica_figure",
    "run_facts",
    "run_figures",
    "run_page",
    "shown_explanation",
    "surroundings_of",
    "svg",
    "write_figures",
    "write_report",
    "write_whole",
]
