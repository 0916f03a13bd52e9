"""Figures and pages about runs, explanations and experiments.

Facts, figures and pages are pure functions of a run: `run_facts` computes everything a report
says, `run_figures` draws it, `run_page` writes the HTML. The same holds for `explanation_page` and
`comparison_page`. Only the `write_*` functions touch the disk.

>>> import agnn
>>> from agnn.report import run_facts
>>> cora = agnn.load_dataset("cora")
>>> run = agnn.evaluate("agnn", cora, split="fixed", replicas=1, changes={"epochs": 5})
>>> type(run_facts(run)).__name__
'RunFacts'
"""

from agnn.report._audit_page import audit_page
from agnn.report._comparisons import comparison_table
from agnn.report._explanation_page import (
    Bar,
    explanation_page,
    explanation_tables,
    shown_explanation,
    surroundings_of,
    waterfall,
)
from agnn.report._leaderboard import write_leaderboard
from agnn.report._rendering import write_run_figures
from agnn.report._reproduction import figure_drawer, result_values, write_page, write_reproduction
from agnn.report._run_page import render_figures, run_facts, run_figures, run_page

__all__ = [
    "Bar",
    "audit_page",
    "comparison_table",
    "explanation_page",
    "explanation_tables",
    "figure_drawer",
    "render_figures",
    "result_values",
    "run_facts",
    "run_figures",
    "run_page",
    "shown_explanation",
    "surroundings_of",
    "waterfall",
    "write_leaderboard",
    "write_page",
    "write_reproduction",
    "write_run_figures",
]
