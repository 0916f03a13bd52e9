"""Figures and pages about runs, explanations and experiments.

Facts, figures and pages are pure functions of a run: `run_facts` computes everything a report
says, `run_figures` draws it, `run_page` writes the HTML. The same holds for `explanation_page` and
`comparison_page`. Only `demo_folder` and the `write_*` functions touch the disk.

>>> import agnn
>>> from agnn.report import run_facts
>>> cora = agnn.load_dataset("cora")
>>> run = agnn.evaluate("agnn", cora, split="fixed", replicas=1, changes={"epochs": 5})
>>> type(run_facts(run)).__name__
'RunFacts'
"""

from agnn.report._charts import relevance_heat_map, reliability_diagram, replica_figure
from agnn.report._comparisons import (
    DrawingSection,
    TableSection,
    comparison_markdown,
    comparison_page,
    comparison_values,
    drawing_markdown,
    markdown_page,
    row_lines,
)
from agnn.report._explanation_page import (
    Bar,
    ShownExplanation,
    explanation_figure,
    explanation_fragment,
    explanation_page,
    shown_explanation,
    surroundings_of,
    waterfall,
)
from agnn.report._facts.run_facts import RunFacts, run_facts
from agnn.report._files import (
    FIGURES,
    check_demo_folder,
    demo_folder,
    drawn_figures,
    drawn_values,
    write_figures,
    write_report,
    write_run_figures,
    write_whole,
)
from agnn.report._layout import QUICK, node_layout
from agnn.report._leaderboard import (
    board_columns,
    board_notes,
    board_rows,
    leaderboard_figure,
    leaderboard_fragment,
    leaderboard_markdown,
    leaderboard_page,
    write_leaderboard,
)
from agnn.report._marks import class_mark
from agnn.report._neighbourhoods import Panel, mark_areas, neighbourhood_figure
from agnn.report._paper_figures import contrast_figure, relevance_figure
from agnn.report._rendering import PageFigure, png, svg
from agnn.report._reproduction import figure_drawer, result_values, write_page, write_reproduction
from agnn.report._run_page import rendered, run_figures, run_page
from agnn.report._sections import Section
from agnn.report._style import figure_style, ink_on
from agnn.report._text import shown_text, signed

__all__ = [
    "FIGURES",
    "QUICK",
    "Bar",
    "DrawingSection",
    "PageFigure",
    "Panel",
    "RunFacts",
    "Section",
    "ShownExplanation",
    "TableSection",
    "board_columns",
    "board_notes",
    "board_rows",
    "check_demo_folder",
    "class_mark",
    "comparison_markdown",
    "comparison_page",
    "comparison_values",
    "contrast_figure",
    "demo_folder",
    "drawing_markdown",
    "drawn_figures",
    "drawn_values",
    "explanation_figure",
    "explanation_fragment",
    "explanation_page",
    "figure_drawer",
    "figure_style",
    "ink_on",
    "leaderboard_figure",
    "leaderboard_fragment",
    "leaderboard_markdown",
    "leaderboard_page",
    "mark_areas",
    "markdown_page",
    "neighbourhood_figure",
    "node_layout",
    "png",
    "relevance_figure",
    "relevance_heat_map",
    "reliability_diagram",
    "rendered",
    "replica_figure",
    "result_values",
    "row_lines",
    "run_facts",
    "run_figures",
    "run_page",
    "shown_explanation",
    "shown_text",
    "signed",
    "surroundings_of",
    "svg",
    "waterfall",
    "write_figures",
    "write_leaderboard",
    "write_page",
    "write_report",
    "write_reproduction",
    "write_run_figures",
    "write_whole",
]
