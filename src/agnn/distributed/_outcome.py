"""Outcomes on their way between processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.methods import NetworkMethod, Outcome, Task
from agnn.training import Checkpoints, History


@dataclass(frozen=True, eq=False)
class SentOutcome:
    """The outcome of a training in arrays: a tensor's memory may end with the process it is of."""

    state: Mapping[str, NDArray[Any]]  # of the model
    history: Mapping[str, NDArray[Any]]
    scores: NDArray[Any]
    seconds_before: float  # of the training that was continued

    @classmethod
    def of(cls, outcome: Outcome, checkpoints: Checkpoints | None) -> SentOutcome:
        """Return the outcome of a network."""
        state = {} if outcome.model is None else outcome.model.state_dict()
        history = {field.name: getattr(outcome.history, field.name) for field in fields(History)}
        return cls(
            {name: tensor.cpu().numpy() for name, tensor in state.items()},
            {name: value.cpu().numpy() for name, value in history.items() if value is not None},
            outcome.scores.cpu().numpy(),
            0.0 if checkpoints is None else checkpoints.seconds_before,
        )


def receive_outcome(method: NetworkMethod, task: Task, groups: Sequence[SentOutcome]) -> Outcome:
    """Return the outcome of all replicas, of which each of `groups` holds some."""
    if task.checkpoints is not None:
        task.checkpoints.seconds_before = max(group.seconds_before for group in groups)
    width = method.input_width(task.data.feature_count)
    model = method.build(width, task.data.classes, task.seeds, task.backend)
    states = [group.state for group in groups]
    model.load_state_dict({name: _join([s[name] for s in states]) for name in states[0]})
    histories = [group.history for group in groups]
    history = History(**{name: _join_epochs([h[name] for h in histories]) for name in histories[0]})
    return Outcome(_join([group.scores for group in groups]), model.to(task.device), history)


def _join(arrays: Sequence[NDArray[Any]]) -> Tensor:
    """Return [R, ...] of all replicas."""
    return torch.from_numpy(np.concatenate(arrays))


def _join_epochs(arrays: Sequence[NDArray[Any]]) -> Tensor:
    """Return [R] or [epochs, R, ...] of all replicas; NaN after a group's last epoch."""
    if arrays[0].ndim == 1:
        return _join(arrays)
    longest = max(len(array) for array in arrays)
    filled = []
    for array in arrays:
        padding = np.full((longest - len(array), *array.shape[1:]), np.nan, array.dtype)
        filled.append(np.concatenate([array, padding]))
    return torch.from_numpy(np.concatenate(filled, axis=1))
