"""What a run would predict on a changed graph: other edges, dropped features, other betas."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import torch

from agnn.data import NodeData, changed_data
from agnn.errors import InputError
from agnn.explanation._explained_run import explained_run, run_with_betas
from agnn.graph import Graph, features_of, hop_rings
from agnn.methods import NetworkMethod

if TYPE_CHECKING:
    from agnn.graph import Features
    from agnn.runs import Run

_MOST: Final = 1000  # changes at once
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
    """The run as it would be on the changed graph, with the changed betas.

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
    own = explained_run(run)
    count = len(changes.added) + len(changes.removed) + len(changes.dropped)
    if count > _MOST:
        raise InputError(f"there are {count} changes; at most {_MOST} are possible.")
    if changes.is_of_graph:
        own = _on_changed_graph(own, changes)
    return own if changes.betas is None else run_with_betas(own, changes.betas)


def _on_changed_graph(own: Run, changes: Changes) -> Run:
    data = changed_data(
        own.data, added=changes.added, removed=changes.removed, dropped=changes.dropped
    )
    has_new_edges = bool(changes.added or changes.removed)
    graph = Graph.of(own.method.usable(data)) if has_new_edges else own.graph
    is_measured = has_new_edges and is_structural(own)
    features = _features(own, data, sorted({node for node, _ in changes.dropped}), is_measured)
    made = replace(
        own,
        data=data,
        known_inputs=(features, graph),
        known_scores=None,
        known_temperature=own.temperature,
        history=None,
        folder=None,
    )
    if is_measured or not own.has_scores:
        return made
    # The scores of nodes farther away than the model reads stay as they are.
    changed, hops = torch.tensor(changes.nodes), own.network.hops
    reached = [torch.cat(hop_rings(each, changed, hops)) for each in (own.graph, graph)]
    affected = torch.unique(torch.cat(reached))
    if _FEW * affected.numel() > data.nodes:
        return made
    scores = own.scores.clone()
    scores[:, affected] = made.scores_around(affected)
    return replace(made, known_scores=scores)


def is_structural(run: Run) -> bool:
    """Whether the features are measures of the graph, so that edges change those of all nodes."""
    made = run.data.preprocessing
    return made is not None and made.is_structural


def _features(own: Run, data: NodeData, rows: list[int], is_whole: bool) -> Features:
    """The features as the model reads them, with these or all rows as in the changed data."""
    method = own.method
    if not rows and not is_whole:
        return own.features
    if not isinstance(method, NetworkMethod):
        raise InputError(f"{method.title} reads no features that could change.")
    if is_whole:
        return features_of(method.features(data, own.data))
    few = NodeData.build(
        name=data.name,
        features=data.features[rows],
        labels=np.full(len(rows), -1),
        edges=np.empty((2, 0), dtype=np.int64),
        class_names=data.class_names,
        row_normalised=data.row_normalised,
    )
    return own.features.with_rows(torch.tensor(rows), method.features(few, own.data))
