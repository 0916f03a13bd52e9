"""Which method for this graph: many methods on the same splits, compared on the same test nodes.

`compare` trains a portfolio, from the most frequent class to AGNN+, and returns a `Leaderboard`:
every measure with mean, standard error and n, time and memory, and the paired difference to the
best with its interval, so that ties are shown as ties. Finished runs are kept in a store of
`agnn.experiments`; the same call goes on where an interrupted one stopped.

>>> import agnn
>>> cora = agnn.load_dataset("cora")
>>> board = agnn.compare(cora, ["majority", "ridge", "label_propagation"], replicas=2)
>>> [entry.name for entry in board.entries]
['ridge', 'label_propagation', 'majority']
>>> board.entries[2].measures["auc"].mean
50.0
>>> board.entries[2].difference.is_tie
False
"""

from agnn.leaderboard._compare import PORTFOLIO, compare
from agnn.leaderboard._leaderboard import Entry, Leaderboard

__all__ = ["PORTFOLIO", "Entry", "Leaderboard", "compare"]
