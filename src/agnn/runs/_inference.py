"""A trained network and the data that it reads: views, and probabilities at some or all nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import torch
from torch import Tensor

from agnn.data import NodeData
from agnn.graph import Features, Graph, ReceptiveField, SparseFeatures, View, features_of
from agnn.methods import Method, NetworkMethod
from agnn.networks import NodeModel
from agnn.training import free_memory, probabilities

if TYPE_CHECKING:
    from agnn.data.scaling import SparseRows

_SHARE: Final = 0.5  # of the free memory that states and scores may take
_LEAST: Final = 1000  # nodes of a batch
_FEW_EDGES: Final = 300_000  # whose attention some tens of replicas compute within a second


@dataclass(frozen=True, eq=False)
class Inference:
    """A model with the data it is applied to; graph and features are prepared on first use."""

    model: NodeModel
    data: NodeData
    method: Method
    trained_on: NodeData | None = None  # if `data` has other nodes
    known: tuple[Features, Graph] | None = None  # what the model reads; None: made from `data`

    @cached_property
    def graph(self) -> Graph:
        """The whole graph, on the CPU."""
        if self.known is not None:
            return self.known[1].to("cpu")
        return Graph.of(self.method.usable(self.data))

    @cached_property
    def on_device(self) -> tuple[Features, Graph]:
        """Features and graph on the model's device."""
        if self.known is not None:
            return self.known[0].to(self.device), self._graph_on_device
        if isinstance(self.method, NetworkMethod):
            features = features_of(self.method.features(self.data, self.trained_on))
        else:
            features = features_of(self.data.scaled_features("sum", self.trained_on))
        return features.to(self.device), self._graph_on_device

    @cached_property
    def _graph_on_device(self) -> Graph:
        return self.graph.to(self.device)

    def prepare(self) -> None:
        """Prepare graph and features now."""
        self.view_around(torch.zeros(1, dtype=torch.int64))

    @property
    def device(self) -> torch.device:
        """The model's device."""
        return next(self.model.parameters()).device

    def scores(self) -> Tensor:
        """Return class probabilities at every node; [R, n, c] on the CPU."""
        return probabilities(self.model, *self.on_device).cpu()

    def scores_in_batches(self, size: int) -> Iterator[Tensor]:
        """Return class probabilities at `size` nodes after `size` nodes; [R, k, c] each.

        Replica by replica, from what the nodes of a batch depend on: memory holds the states of
        one replica around one batch. The numbers are those of `scores`.
        """
        models = self._replicas_alone()
        for start in range(0, self.graph.nodes, size):
            nodes = torch.arange(start, min(start + size, self.graph.nodes))
            view = self.view_around(nodes)
            yield torch.cat([self.scores_of(view, model) for model in models])

    def batch_that_fits(self) -> int | None:
        """Return how many nodes' scores fit in memory at once; None if those of all nodes do."""
        free = free_memory(str(self.device))
        if free is None or not isinstance(self.method, NetworkMethod):
            return None
        held = self.method.step_numbers(self.model.shape.features, self.data.classes)
        width = held.per_node // held.versions
        per_node = 4 * self.model.replicas * (width + 3 * self.data.classes)
        if per_node * self.data.nodes <= _SHARE * free:
            return None
        return max(_LEAST, int(_SHARE * free / per_node))

    def _replicas_alone(self) -> list[NodeModel]:
        """Return every replica as a model of its own."""
        if not isinstance(self.method, NetworkMethod) or self.model.replicas == 1:
            return [self.model]
        width = self.model.shape.features
        state = self.model.state_dict()
        models = []
        for r in range(self.model.replicas):
            alone = self.method.build(width, self.data.classes, (0,), self.model.backend)
            alone.load_state_dict({name: weight[r : r + 1] for name, weight in state.items()})
            models.append(alone.to(self.device))
        return models

    def scores_around(self, nodes: Tensor) -> Tensor:
        """Return class probabilities at some nodes [k], from what they depend on; [R, k, c]."""
        targets, rows = torch.unique(nodes, return_inverse=True)
        return self.scores_of(self.view_around(targets))[:, rows]

    def scores_of(self, view: View, model: NodeModel | None = None) -> Tensor:
        """Return class probabilities at the targets of a view; [R, targets, c] on the CPU."""
        with torch.no_grad():
            scores: Tensor = (model or self.model)(view).softmax(-1)
        return scores.cpu()

    def is_cheap(self, nodes: Tensor) -> bool:
        """Return whether `scores_around` has few edges to read for these nodes [k]."""
        for hops in range(self.model.hops):
            within = torch.cat(self.graph.hop_rings(nodes, hops))
            # Counted before they are walked: one more hop may be the whole graph.
            if int(self.graph.degrees[within].sum()) > _FEW_EDGES:
                return False
        return True

    def whole_view(self) -> View:
        """Return the model's input for all nodes."""
        return View.whole(*self.on_device, self.model.hops)

    def view_around(self, nodes: Tensor) -> View:
        """Return the model's input for some nodes [k], ascending in it."""
        graph = self._graph_on_device
        field = ReceptiveField.around(graph, nodes.to(graph.device), self.model.hops)
        if self.data.rows_on_disk is None or self.known is not None:
            return View.of_field(self.on_device[0], graph, field)
        rows = self.data.feature_rows(field.nodes.cpu().numpy())
        features = replace(self.features_of_rows(rows), row_ids=field.nodes.cpu())
        return View(features.to(self.device), field, graph.weighted_degrees[field.nodes])

    def features_of_rows(self, rows: SparseRows) -> Features:
        """Return raw features [k, d_x] as the model reads them, scaled by what it was trained on.

        For methods whose features are made row by row.
        """
        assert isinstance(self.method, NetworkMethod)  # noqa: S101 (no other reads row by row)
        matrix = self.method.features_of_rows(rows, self.trained_on or self.data)
        if isinstance(matrix, np.ndarray):
            return features_of(matrix)
        # Dense or sparse as all rows together are.
        if self.data.has_dense_features:
            return features_of(matrix.toarray())
        return SparseFeatures.from_scipy(matrix)
