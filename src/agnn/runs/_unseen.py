"""Accuracy on nodes that were not there in training: neither their edges nor their features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from agnn.data import NodeData, Split, SplitSpec, without_nodes
from agnn.errors import InputError
from agnn.methods import Method, NetworkMethod, Task
from agnn.metrics import Summary
from agnn.runs._inference import Inference
from agnn.runs._result import trial_values, unusable_replicas


def check_unseen(method: Method) -> None:
    """Raise unless the method's models can predict nodes that they were not trained with."""
    if not isinstance(method, NetworkMethod):
        raise InputError(
            f"`unseen` (--unseen) is for methods that train a network: {method.title} predicts "
            f"only the nodes that it is trained with."
        )


def unseen_accuracy(method: Method, task: Task, data: NodeData, spec: SplitSpec) -> Summary:
    """Train every replica again without the nodes it tests, add them, and score it on them.

    A replica's test nodes, their edges and their features are not in the graph of its training.
    One value per replica or trial, as for `Run.accuracy`.
    """
    groups: dict[bytes, list[int]] = {}
    splits = _splits_with_validation(task)
    for replica, split in enumerate(splits):
        groups.setdefault(split.test.tobytes(), []).append(replica)
    scores = torch.zeros(len(splits), data.nodes, data.classes)
    unusable = np.zeros(len(splits), dtype=bool)
    for replicas in groups.values():
        smaller, kept_nodes = without_nodes(task.data, splits[replicas[0]].test)
        outcome = method.run(
            replace(
                task,
                data=smaller,
                splits=tuple(_split_among(splits[replica], kept_nodes) for replica in replicas),
                seeds=tuple(task.seeds[replica] for replica in replicas),
                class_weights=None if task.class_weights is None else task.class_weights[replicas],
                passes=(),
                progress=None,
                checkpoints=None,
                callbacks=(),
            )
        )
        assert outcome.model is not None  # noqa: S101 (checked before the training)
        scores[replicas] = Inference(outcome.model, data, method, smaller).scores()
        unusable[replicas] = unusable_replicas(outcome.history, len(replicas))
    return Summary(trial_values("accuracy", scores, data, splits, spec, unusable))


def _splits_with_validation(task: Task) -> list[Split]:
    """Return the splits, for cross-fitting with the next replica's fold as validation nodes.

    The folds of the others cannot choose an epoch here: each replica has a graph of its own.
    """
    if not task.passes:
        return list(task.splits)
    splits = []
    for replica, split in enumerate(task.splits):
        same = [r for r, number in enumerate(task.passes) if number == task.passes[replica]]
        following = same[(same.index(replica) + 1) % len(same)]
        validation = task.splits[following].test
        train = np.setdiff1d(split.train, validation)
        splits.append(Split(split.name, train, validation, split.test, split.seed))
    return splits


def _split_among(split: Split, remaining: NDArray[np.int64]) -> Split:
    """Return the split of a graph in which the `remaining` nodes remain; it tests none."""
    train, validation = (
        np.searchsorted(remaining, part) for part in (split.train, split.validation)
    )
    return Split(split.name, train, validation, np.empty(0, dtype=np.int64), split.seed)
