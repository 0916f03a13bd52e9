"""What a run would predict on a changed graph: other edges, dropped features, other betas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Final
from weakref import WeakKeyDictionary

import torch

from agnn.data import NodeData, changed_data
from agnn.errors import InputError
from agnn.graph import Features, Graph, features_of
from agnn.methods import NetworkMethod
from agnn.networks import NodeModel
from agnn.runs import KnownResults, Run

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
        splits=run.member_splits,
        seeds=tuple(run.seeds[r] for r in run.members),
        known=KnownResults(scores, run.temperature, run.known.inputs),
        history=None,
    )


def _with_replicas(model: NodeModel, replicas: torch.Tensor) -> NodeModel:
    """Return a copy with some replicas alone: the first axis of every parameter and buffer."""
    copy = deepcopy(model)
    for tensor in (*copy.parameters(), *copy.buffers()):
        tensor.data = tensor.data[replicas.to(tensor.device)]
    copy.replicas = replicas.numel()
    return copy


def _propagating_run(run: Run) -> Run:
    """Return the run with a model that reads plain features and propagates by itself."""
    if run.model is None or not isinstance(run.method, NetworkMethod):
        return run
    propagating = run.method.propagating(run.model)
    if propagating is None:
        return run
    method, model = propagating
    known_results = run.known._replace(temperature=run.temperature)
    return replace(run, method=method, model=model, known=known_results)


_MOST: Final = 1000  # changes at once
_LARGEST_BETA: Final = 1000
_FEW: Final = 4  # below this part of all nodes, only the scores that change are computed


@dataclass(frozen=True)
class Changes:
    """A question of the kind "what if": nodes and features by index, edges as pairs of nodes."""

    added: tuple[tuple[int, int], ...] = ()  # edges
    removed: tuple[tuple[int, int], ...] = ()  # edges
    dropped: tuple[tuple[int, int], ...] = ()  # a node and one of its features
    betas: tuple[float, ...] | None = None  # one per layer, in every replica

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.dropped or self.betas is not None)

    @property
    def is_of_graph(self) -> bool:
        """Whether edges or features change."""
        return bool(self.added or self.removed or self.dropped)

    @property
    def nodes(self) -> list[int]:
        """The nodes whose edges or features change, ascending."""
        ends = {node for pair in (*self.added, *self.removed) for node in pair}
        return sorted(ends | {node for node, _ in self.dropped})


def changed_run(run: Run, changes: Changes) -> Run:
    """Return the run as it would be on the changed graph, with the changed betas.

    Nothing is trained again: weights and temperature are those of the run, and features are scaled
    by what it was trained on. Everything else is computed anew, so attention, contributions and
    predictions are those of the model on the changed graph, exactly. New edges have the weight 1
    where edges have weights.

    >>> import agnn
    >>> from agnn.explanation import Changes, changed_run
    >>> cora = agnn.load_dataset("cora")
    >>> run = agnn.evaluate("agnn", cora, split="fixed", replicas=1, changes={"epochs": 3})
    >>> changed = changed_run(run, Changes(added=((0, 1),)))
    >>> changed.data.edges.shape[1] - run.data.edges.shape[1]
    1
    """
    run = explained_run(run)
    count = len(changes.added) + len(changes.removed) + len(changes.dropped)
    if count > _MOST:
        raise InputError(f"there are {count} changes; at most {_MOST} are possible.")
    if changes.is_of_graph:
        run = _on_changed_graph(run, changes)
    return run if changes.betas is None else _with_betas(run, changes.betas)


def _with_betas(run: Run, betas: Sequence[float]) -> Run:
    """Return the run with these betas, one per layer, in every replica."""
    for beta in betas:
        if not math.isfinite(beta) or abs(beta) > _LARGEST_BETA:
            raise InputError(
                f"`betas` must be from -{_LARGEST_BETA} to {_LARGEST_BETA}; got {beta}."
            )
    known_results = KnownResults(temperature=run.temperature, inputs=run.known.inputs)
    return replace(run, model=run.network.with_betas(betas), known=known_results, history=None)


def _on_changed_graph(run: Run, changes: Changes) -> Run:
    """Return the run with other edges and features."""
    data = changed_data(
        run.data, added=changes.added, removed=changes.removed, dropped=changes.dropped
    )
    has_new_edges = bool(changes.added or changes.removed)
    graph = Graph.of(run.method.usable(data)) if has_new_edges else run.graph
    is_measured_anew = has_new_edges and is_structural(run)
    if is_measured_anew:
        features = features_of(_network_method(run).features(data, run.data))
    else:
        features = _features(run, data, sorted({node for node, _ in changes.dropped}))
    changed = replace(
        run,
        data=data,
        known=KnownResults(temperature=run.temperature, inputs=(features, graph)),
        history=None,
        folder=None,
    )
    if is_measured_anew or not run.has_scores:
        return changed
    # The scores of nodes farther away than the model reads stay as they are.
    nodes = torch.tensor(changes.nodes)
    rings = [*run.graph.hop_rings(nodes, run.network.hops)]
    rings += graph.hop_rings(nodes, run.network.hops)
    affected = torch.unique(torch.cat(rings))
    if _FEW * affected.numel() > data.nodes:
        return changed
    scores = run.scores.clone()
    scores[:, affected] = changed.scores_around(affected)
    return replace(changed, known=changed.known._replace(scores=scores))


def is_structural(run: Run) -> bool:
    """Return whether features are measures of the graph, so that edges change all of them."""
    preprocessing = run.data.preprocessing
    return preprocessing is not None and preprocessing.is_structural


def _network_method(run: Run) -> NetworkMethod:
    if not isinstance(run.method, NetworkMethod):
        raise InputError(f"{run.method.title} reads no features that could change.")
    return run.method


def _features(run: Run, data: NodeData, rows: list[int]) -> Features:
    """Return the features as the model reads them, with some rows as in the changed data."""
    if not rows:
        return run.features
    changed = _network_method(run).features_of_rows(data.features[rows], run.data)
    return run.features.with_rows(torch.tensor(rows), changed)
