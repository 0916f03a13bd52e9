"""The paper's tables and figures as data, rerun by one call and compared cell by cell.

A table is a TOML file: datasets and splits as columns, methods as rows, the published figures.
`reproduce` makes the runs that are missing, keeps each one in a store and gives a verdict on every
cell. Nothing is run twice, and an interrupted call goes on where it stopped.

>>> from agnn.experiments import RULE, reproduce
>>> found = reproduce("table2", methods=["gcn"], datasets=["cora"], seeds=2)
>>> cell = found["table2"].rows[0].cells[0]
>>> cell.paper.printed, cell.ours.n, cell.verdict
('81.5', 2, 'within 2 se')

The parts: `find_experiments` and `read_experiment` give tables and figures, `Choice` narrows them,
`works_of` lists the runs behind one, `execute` makes those that a `Store` lacks, `compare` sets
them beside the published figures, `export_rows` writes them as text.
"""

from agnn.experiments._choice import (
    Choice,
    check_choice,
    chosen_experiments,
    narrowed,
    narrowed_drawing,
)
from agnn.experiments._comparison import (
    REPRODUCED,
    RULE,
    ComparedCell,
    ComparedReference,
    ComparedRow,
    Comparison,
    JudgedClaim,
    Making,
    Margin,
    Verdict,
    compare,
    verdict,
)
from agnn.experiments._counts import Counts, KindOfCell, PublishedFigure, count_figures
from agnn.experiments._drawings import KINDS, drawing_hash
from agnn.experiments._executor import Executed, execute
from agnn.experiments._measured import ALL_MEASURES, kept_places, unpacked_contributions
from agnn.experiments._pace import Progress, duration
from agnn.experiments._plan import Work, count_runs, works_of
from agnn.experiments._reading import (
    NAMES,
    bundled,
    find_experiments,
    read_experiment,
    read_experiment_file,
)
from agnn.experiments._relations import JudgedPanel, Relation, judge_relevances, reproduced
from agnn.experiments._reproduce import (
    Draw,
    Reproduction,
    Result,
    finished_store,
    reproduce,
    results_of,
    works_behind,
)
from agnn.experiments._rows import export_rows, import_rows
from agnn.experiments._run_spec import RunSpec
from agnn.experiments._spec import (
    Claim,
    Column,
    Drawing,
    Experiment,
    NeighbourhoodPanel,
    Panel,
    PaperFigure,
    Reference,
    RelevancePanel,
    Row,
    Table,
)
from agnn.experiments._store import Key, Store, StoredRun, StoreWriteError

__all__ = [
    "ALL_MEASURES",
    "KINDS",
    "NAMES",
    "REPRODUCED",
    "RULE",
    "Choice",
    "Claim",
    "Column",
    "ComparedCell",
    "ComparedReference",
    "ComparedRow",
    "Comparison",
    "Counts",
    "Draw",
    "Drawing",
    "Executed",
    "Experiment",
    "JudgedClaim",
    "JudgedPanel",
    "Key",
    "KindOfCell",
    "Making",
    "Margin",
    "NeighbourhoodPanel",
    "Panel",
    "PaperFigure",
    "Progress",
    "PublishedFigure",
    "Reference",
    "Relation",
    "RelevancePanel",
    "Reproduction",
    "Result",
    "Row",
    "RunSpec",
    "Store",
    "StoreWriteError",
    "StoredRun",
    "Table",
    "Verdict",
    "Work",
    "bundled",
    "check_choice",
    "chosen_experiments",
    "compare",
    "count_figures",
    "count_runs",
    "drawing_hash",
    "duration",
    "execute",
    "export_rows",
    "find_experiments",
    "finished_store",
    "import_rows",
    "judge_relevances",
    "kept_places",
    "narrowed",
    "narrowed_drawing",
    "read_experiment",
    "read_experiment_file",
    "reproduce",
    "reproduced",
    "results_of",
    "unpacked_contributions",
    "verdict",
    "works_behind",
    "works_of",
]
