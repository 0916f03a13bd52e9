"""The paper's tables and figures as data, the runs behind them, and a store that keeps them."""

from agnn.experiments.catalogue import NAMES, bundled, find_experiments
from agnn.experiments.choice import Choice, check_choice, narrowed, narrowed_drawing
from agnn.experiments.comparison import ComparedCell, ComparedRow, Comparison, compare
from agnn.experiments.drawings import drawing_hash, drawing_runs
from agnn.experiments.executor import Executed, execute
from agnn.experiments.pace import Progress
from agnn.experiments.plan import Work, works_of
from agnn.experiments.reading import read_experiment, read_experiment_file
from agnn.experiments.rows import export_rows, import_rows
from agnn.experiments.run_spec import RunSpec
from agnn.experiments.spec import (
    Column,
    Drawing,
    Experiment,
    Panel,
    PaperFigure,
    Reference,
    Row,
    Table,
)
from agnn.experiments.store import Store
from agnn.experiments.stored_run import Key, StoredRun
from agnn.experiments.verdict import RULE, Verdict, verdict

__all__ = [
    "NAMES",
    "RULE",
    "Choice",
    "Column",
    "ComparedCell",
    "ComparedRow",
    "Comparison",
    "Drawing",
    "Executed",
    "Experiment",
    "Key",
    "Panel",
    "PaperFigure",
    "Progress",
    "Reference",
    "Row",
    "RunSpec",
    "Store",
    "StoredRun",
    "Table",
    "Verdict",
    "Work",
    "bundled",
    "check_choice",
    "compare",
    "drawing_hash",
    "drawing_runs",
    "execute",
    "export_rows",
    "find_experiments",
    "import_rows",
    "narrowed",
    "narrowed_drawing",
    "read_experiment",
    "read_experiment_file",
    "verdict",
    "works_of",
]
