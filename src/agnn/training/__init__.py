"""Training: recipes, the loop, and the rules that choose an epoch.

`train` runs one loop for every network. All replicas of a model are trained at once; each has its
own seed and may have its own split, learning rate, weight decay and dropout.

    >>> import agnn
    >>> from agnn.graph import Graph, features_of
    >>> from agnn.networks import GCN
    >>> cora = agnn.load_dataset("cora")
    >>> graph = Graph.from_edges(cora.edges, cora.nodes)
    >>> features = features_of(cora.scaled_features("sum"))
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
`ProblemSize.memory` gives an upper bound of the memory before anything is allocated.
"""

from agnn.training._callbacks import (
    BestSoFar as BestSoFar,
    Callback as Callback,
    EpochReport as EpochReport,
)
from agnn.training._checkpoint import (
    Checkpoints as Checkpoints,
    first_difference as first_difference,
)
from agnn.training._loop import (
    ExtraLoss as ExtraLoss,
    Objective as Objective,
    Problem as Problem,
    Progress as Progress,
    probabilities as probabilities,
    train as train,
)
from agnn.training._memory import (
    MemoryEstimate as MemoryEstimate,
    ProblemSize as ProblemSize,
    StepNumbers as StepNumbers,
    free_memory as free_memory,
)
from agnn.training._model import TrainableModel as TrainableModel
from agnn.training._recipe import Recipe as Recipe
from agnn.training._record import History as History
from agnn.training._selection import (
    BestScore as BestScore,
    BestThenLowest as BestThenLowest,
    BothBest as BothBest,
    CrossFitted as CrossFitted,
    EarlyStop as EarlyStop,
    HighestAccuracy as HighestAccuracy,
    LastEpoch as LastEpoch,
    LowestLoss as LowestLoss,
    Metric as Metric,
    Part as Part,
    Selection as Selection,
    StopOn as StopOn,
    WindowStop as WindowStop,
)
from agnn.training._targets import Targets as Targets
