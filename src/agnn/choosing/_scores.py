"""The score of a candidate: how well it predicts labels that it was not trained on."""

from __future__ import annotations

from typing import Literal

from agnn.errors import InputError
from agnn.methods import Method, Task
from agnn.metrics import MEASURES


def candidate_scores(
    method: Method,
    task: Task,
    metric: str | None = None,
    part: Literal["validation", "test"] = "validation",
) -> list[float]:
    """Train a method and return every replica's score at its validation nodes, higher is better.

    The score is `metric`, else the task's, else accuracy: one for all candidates. `part` is "test"
    for splits within training and validation nodes, whose third part is held out from the choice
    of the epoch, too.
    """
    for split in task.splits:
        if not split.parts[part].size:
            raise InputError(
                f"the split '{split.name}' has no {part} nodes to choose hyper-parameters on."
            )
    measure = MEASURES[metric or task.metric or "accuracy"]
    probabilities = method.run(task).scores.detach().cpu().numpy()
    scores = []
    for replica, split in enumerate(task.splits):
        nodes = split.parts[part]
        scores.append(measure.score(task.data.labels[nodes], probabilities[replica, nodes]))
    return scores
