"""Training: recipes, the loop, and the rules that choose an epoch.

`train` runs one loop for every network. All replicas of a model are trained at once; each has its
own seed and may have its own split, learning rate, weight decay and dropout.

    >>> import agnn
    >>> from agnn.graph import Graph, features_of
    >>> from agnn.networks import GCN
    >>> cora = agnn.load_dataset("cora")
    >>> graph = Graph.from_edges(cora.edges, cora.nodes)
    >>> features = features_of(cora.normalised_features())
    >>> seeds = (0, 1)
    >>> problem = Problem(features, graph, cora.labels, [cora.split("fixed")] * 2, seeds)
    >>> model = GCN().build(features.width, cora.classes, seeds)
    >>> history = train(model, problem, Recipe(epochs=3))
    >>> history.training_loss.shape  # epochs, replicas
    torch.Size([3, 2])
    >>> history.diverged.tolist()
    [False, False]
    >>> probabilities(model, features, graph).shape  # replicas, nodes, classes
    torch.Size([2, 2708, 7])

A `Recipe` holds the optimiser's settings and a `Selection`, the rule that decides which epoch's
weights are kept: `HighestAccuracy`, `WindowStop`, `LastEpoch`, `LowestLoss`, `BothBest`,
`BestThenLowest` or `BestScore`; `EarlyStop` lets any of them end earlier. A `Callback` is told
about every epoch. `Checkpoints` let a training that was stopped go on.
`estimate_memory` gives an upper bound of the memory before anything is allocated.
"""

from agnn.training._callbacks import BestSoFar, Callback, EpochReport
from agnn.training._checkpoint import Checkpoints, first_difference
from agnn.training._loop import (
    ExtraLoss,
    History,
    Objective,
    Problem,
    Progress,
    probabilities,
    train,
)
from agnn.training._memory import (
    MemoryEstimate,
    ProblemSize,
    StepNumbers,
    check_memory,
    estimate_memory,
    free_memory,
)
from agnn.training._model import TrainableModel
from agnn.training._recipe import Recipe
from agnn.training._selection import (
    LEFT_OUT,
    BestScore,
    BestThenLowest,
    BothBest,
    CrossFitted,
    EarlyStop,
    HighestAccuracy,
    LastEpoch,
    LowestLoss,
    Metric,
    Part,
    Selection,
    StopOn,
    WindowStop,
    mean_of_others,
)
from agnn.training._targets import Targets

__all__ = [
    "LEFT_OUT",
    "BestScore",
    "BestSoFar",
    "BestThenLowest",
    "BothBest",
    "Callback",
    "Checkpoints",
    "CrossFitted",
    "EarlyStop",
    "EpochReport",
    "ExtraLoss",
    "HighestAccuracy",
    "History",
    "LastEpoch",
    "LowestLoss",
    "MemoryEstimate",
    "Metric",
    "Objective",
    "Part",
    "Problem",
    "ProblemSize",
    "Progress",
    "Recipe",
    "Selection",
    "StepNumbers",
    "StopOn",
    "Targets",
    "TrainableModel",
    "WindowStop",
    "check_memory",
    "estimate_memory",
    "first_difference",
    "free_memory",
    "mean_of_others",
    "probabilities",
    "train",
]
