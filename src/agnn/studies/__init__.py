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

from agnn.studies._compare import compare as compare
from agnn.studies._leaderboard import Leaderboard as Leaderboard
from agnn.studies._reproduce import (
    Result as Result,
    count_runs as count_runs,
    drawing_hash as drawing_hash,
    reproduce as reproduce,
    results_of as results_of,
)
from agnn.studies._scoreboard import (
    Counts as Counts,
    JudgedPanel as JudgedPanel,
    PublishedFigure as PublishedFigure,
    Relation as Relation,
)
from agnn.studies._selection import select_experiments as select_experiments
from agnn.studies._spec import (
    Drawing as Drawing,
    Experiment as Experiment,
    NeighbourhoodPanel as NeighbourhoodPanel,
    Panel as Panel,
    PaperFigure as PaperFigure,
    RelevancePanel as RelevancePanel,
)
from agnn.studies._store import Store as Store
from agnn.studies._verdict import (
    ComparedCell as ComparedCell,
    ComparedRow as ComparedRow,
    Comparison as Comparison,
    JudgedClaim as JudgedClaim,
    Margin as Margin,
    Verdict as Verdict,
)
from agnn.studies._works import Progress as Progress
