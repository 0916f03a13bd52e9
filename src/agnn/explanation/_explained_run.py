"""The run that explanations read: its ensemble alone, and a model that propagates by itself."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import torch

from agnn.errors import InputError
from agnn.methods import NetworkMethod

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agnn.nn import NodeModel
    from agnn.runs import Run

_LARGEST_BETA: Final = 1000
_made: WeakKeyDictionary[Run, Run] = WeakKeyDictionary()


def explained_run(run: Run) -> Run:
    """The run itself, or one that predicts the same and can be explained better.

    Replicas that diverged in training take no part in the ensemble, so they are left out. A model
    that reads propagated features, as SGC does, is replaced by one that propagates by itself.
    """
    if run not in _made:
        found = _propagating(_members(run))
        if found is run:
            return run
        _made[run] = found
    return _made[run]


def run_with_betas(run: Run, betas: Sequence[float]) -> Run:
    """The run as it would be with these betas, one per layer and the same in every replica.

    Nothing is trained again: the weights and the temperature are those of the run.
    """
    own = explained_run(run)
    for beta in betas:
        if not math.isfinite(beta) or abs(beta) > _LARGEST_BETA:
            raise InputError(
                f"`betas` must be from -{_LARGEST_BETA} to {_LARGEST_BETA}; got {beta}."
            )
    return replace(
        own,
        model=own.network.with_betas(betas),
        known_scores=None,
        known_temperature=own.temperature,
        history=None,
    )


def left_out_note(run: Run) -> tuple[str, ...]:
    """A sentence about replicas that diverged; empty if there are none."""
    count = run.replicas - run.members.size
    if not count:
        return ()
    are = "is" if count == 1 else "are"
    return (
        f"{count} of {run.replicas} replicas diverged in training and {are} left out of the "
        f"ensemble and of this explanation.",
    )


def _members(run: Run) -> Run:
    if run.members.size == run.replicas or run.model is None:
        return run
    if not run.members.size:
        raise InputError("every replica of the run diverged in training: nothing can be explained.")
    members = torch.from_numpy(run.members)
    return replace(
        run,
        model=_with_replicas(run.model, members),
        splits=tuple(run.splits[r] for r in run.members),
        seeds=tuple(run.seeds[r] for r in run.members),
        known_scores=None if run.known_scores is None else run.known_scores[members],
        known_temperature=run.temperature,
        history=None,
    )


def _with_replicas(model: NodeModel, kept: torch.Tensor) -> NodeModel:
    """A copy with some replicas alone: the first axis of every parameter and buffer."""
    copy = deepcopy(model)
    for own in (*copy.parameters(), *copy.buffers()):
        own.data = own.data[kept.to(own.device)]
    copy.replicas = kept.numel()
    return copy


def _propagating(run: Run) -> Run:
    if run.model is None or not isinstance(run.method, NetworkMethod):
        return run
    found = run.method.propagating(run.model)
    if found is None:
        return run
    method, model = found
    return replace(run, method=method, model=model, known_temperature=run.temperature)
