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

from agnn.report._audit_page import audit_page as audit_page
from agnn.report._comparisons import comparison_table as comparison_table
from agnn.report._explanation_page import (
    explanation_page as explanation_page,
    explanation_tables as explanation_tables,
    shown_explanation as shown_explanation,
    surroundings_of as surroundings_of,
    waterfall as waterfall,
)
from agnn.report._leaderboard import write_leaderboard as write_leaderboard
from agnn.report._rendering import write_run_figures as write_run_figures
from agnn.report._reproduction import ReproductionFolder as ReproductionFolder
from agnn.report._run_page import (
    render_figures as render_figures,
    run_facts as run_facts,
    run_figures as run_figures,
    run_page as run_page,
)
