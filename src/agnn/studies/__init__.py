"""Many runs of many methods: the paper's tables rerun, and methods compared on one's own graph.

A table of the paper is a TOML file: datasets and splits as columns, methods as rows, the published
figures. `reproduce` makes the runs that are missing, keeps each one in a store and gives a verdict
on every cell. Nothing is run twice, and an interrupted call goes on where it stopped.

>>> import agnn
>>> reproduction = agnn.reproduce("table2", methods=["gcn"], datasets=["cora"], seeds=2)
>>> cell = reproduction["table2"].rows[0].cells[0]
>>> cell.paper.printed, cell.ours.n, cell.verdict
('81.5', 2, 'within 2 se')

`compare` trains a portfolio of methods on the same splits of a graph, from the most frequent class
to AGNN+, and returns a `Leaderboard`: every measure with mean, standard error and n, time and
memory, and the paired difference to the best with its interval, so that ties are shown as ties.

>>> cora = agnn.load_dataset("cora")
>>> board = agnn.compare(cora, ["majority", "ridge", "label_propagation"], replicas=2)
>>> [entry.name for entry in board.entries]
['ridge', 'label_propagation', 'majority']
>>> board.entries[2].measures["auc"].mean
50.0
>>> board.entries[2].difference.is_tie
False

Both keep finished runs in the same `Store`.

`select_experiments` gives tables and figures without running them; `results_of` compares what a
store has of them.
"""

from agnn.studies._compare import compare
from agnn.studies._leaderboard import Leaderboard
from agnn.studies._reproduce import (
    Draw,
    Result,
    count_runs,
    drawing_hash,
    reproduce,
    results_of,
)
from agnn.studies._scoreboard import (
    Counts,
    JudgedPanel,
    PublishedFigure,
    Relation,
)
from agnn.studies._selection import select_experiments
from agnn.studies._spec import (
    Drawing,
    Experiment,
    NeighbourhoodPanel,
    Panel,
    PaperFigure,
    RelevancePanel,
)
from agnn.studies._store import Store
from agnn.studies._verdict import (
    RULE,
    ComparedCell,
    ComparedRow,
    Comparison,
    JudgedClaim,
    Margin,
    Verdict,
)
from agnn.studies._works import Progress

__all__ = [
    "RULE",
    "ComparedCell",
    "ComparedRow",
    "Comparison",
    "Counts",
    "Draw",
    "Drawing",
    "Experiment",
    "JudgedClaim",
    "JudgedPanel",
    "Leaderboard",
    "Margin",
    "NeighbourhoodPanel",
    "Panel",
    "PaperFigure",
    "Progress",
    "PublishedFigure",
    "Relation",
    "RelevancePanel",
    "Result",
    "Store",
    "Verdict",
    "compare",
    "count_runs",
    "drawing_hash",
    "reproduce",
    "results_of",
    "select_experiments",
]
