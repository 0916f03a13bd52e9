"""The run that explanations read: its ensemble alone, and a model that propagates by itself."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import torch

from agnn.errors import InputError
from agnn.methods import NetworkMethod
from agnn.runs import KnownResults

if TYPE_CHECKING:
    from agnn.networks import NodeModel
    from agnn.runs import Run

_explained_runs: WeakKeyDictionary[Run, Run] = WeakKeyDictionary()


def explained_run(run: Run) -> Run:
    """Return the run itself, or one that predicts the same and can be explained better.

    Replicas that diverged in training take no part in the ensemble, so they are left out. A model
    that reads propagated features, as SGC does, is replaced by one that propagates by itself.
    """
    if run not in _explained_runs:
        better = _propagating_run(_run_of_members(run))
        if better is run:  # not kept: as a value it would keep its own key alive
            return run
        _explained_runs[run] = better
    return _explained_runs[run]


def left_out_note(run: Run) -> tuple[str, ...]:
    """Return a sentence about replicas that diverged; nothing if there are none."""
    count = run.replicas - run.members.size
    if not count:
        return ()
    are = "is" if count == 1 else "are"
    return (
        f"{count} of {run.replicas} replicas diverged in training and {are} left out of the "
        f"ensemble and of this explanation.",
    )


def _run_of_members(run: Run) -> Run:
    """Return the run without the replicas that its ensemble leaves out."""
    if run.members.size == run.replicas or run.model is None:
        return run
    if not run.members.size:
        raise InputError("every replica of the run diverged in training: nothing can be explained.")
    members = torch.from_numpy(run.members)
    scores = None if run.known.scores is None else run.known.scores[members]
    return replace(
        run,
        model=_with_replicas(run.model, members),
        splits=tuple(run.splits[r] for r in run.members),
        seeds=tuple(run.seeds[r] for r in run.members),
        known=KnownResults(scores, run.temperature, run.known.inputs),
        history=None,
    )


def _with_replicas(model: NodeModel, kept: torch.Tensor) -> NodeModel:
    """Return a copy with some replicas alone: the first axis of every parameter and buffer."""
    copy = deepcopy(model)
    for tensor in (*copy.parameters(), *copy.buffers()):
        tensor.data = tensor.data[kept.to(tensor.device)]
    copy.replicas = kept.numel()
    return copy


def _propagating_run(run: Run) -> Run:
    """Return the run with a model that reads plain features and propagates by itself."""
    if run.model is None or not isinstance(run.method, NetworkMethod):
        return run
    propagating = run.method.propagating(run.model)
    if propagating is None:
        return run
    method, model = propagating
    known = run.known._replace(temperature=run.temperature)
    return replace(run, method=method, model=model, known=known)
