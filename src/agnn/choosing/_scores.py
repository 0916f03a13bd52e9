"""The score of a candidate: how well it predicts labels that it was not trained on."""

from __future__ import annotations

from torch import Tensor

from agnn.errors import InputError
from agnn.methods import Method, Task
from agnn.networks import validation_scores
from agnn.training import Part

_PURPOSE = "to choose hyper-parameters on"


def candidate_scores(
    method: Method,
    task: Task,
    metric: str | None = None,
    part: Part | None = None,
) -> list[float]:
    """Train a method and return every replica's score at its held-out nodes, higher is better.

    These are its validation nodes or, if the replicas are cross-fitted, the fold that it leaves
    out. The score is `metric`, else the task's, else accuracy: one for all candidates. `part` is
    "test" for splits within training and validation nodes, whose third part is held out from the
    choice of the epoch, too.
    """
    part = part or task.held_out
    for split in task.splits:
        if not split.parts[part].size:
            raise InputError(f"the split '{split.name}' has no {part} nodes {_PURPOSE}.")
    return held_out_scores(method.run(task).scores, task, metric, part)


def held_out_scores(
    scores: Tensor, task: Task, metric: str | None = None, part: Part | None = None
) -> list[float]:
    """Return every replica's score at its held-out nodes for class probabilities [R, n, c]."""
    metric = metric or task.metric or "accuracy"
    part = part or task.held_out
    return validation_scores(scores, task.data, task.splits, _PURPOSE, metric, part)
