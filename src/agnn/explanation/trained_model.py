"""A trained model and the data that it reads, ready to be asked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import torch

from agnn.errors import InputError
from agnn.graph import Features, Graph, ReceptiveField, View, features_of, hop_rings
from agnn.methods import Method, NetworkMethod
from agnn.nn import NodeModel
from agnn.training import probabilities

if TYPE_CHECKING:
    from torch import Tensor

    from agnn.data import NodeData

# Up to so many nodes all are scored at the first question, and every later one is answered.
_WHOLE_AT_ONCE: Final = 100_000
# Edges whose attention some tens of replicas compute within a second.
_FEW_EDGES: Final = 300_000


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A model with its data, from a run in memory or one that was loaded.

    The graph and the features are prepared on first use and kept, so that a second question
    costs only its own answer.
    """

    model: NodeModel
    data: NodeData
    method: Method | None = (
        None  # that made the model, where it reads other features than the data's
    )
    trained_on: NodeData | None = None  # where `data` holds other nodes

    def __post_init__(self) -> None:
        if not isinstance(self.model, NodeModel):
            raise InputError(
                f"`model` must be a trained network, such as a run's `outcome.model`; got "
                f"{type(self.model).__name__}."
            )

    @cached_property
    def graph(self) -> Graph:
        """The whole graph, on the CPU."""
        return Graph.from_edges(self.data.edges, self.data.nodes)

    @cached_property
    def scores(self) -> Tensor:
        """Class probabilities at every node; [R, n, c] on the CPU."""
        features, graph = self._on_device
        return probabilities(self.model, features, graph).cpu()

    def whole_view(self) -> View:
        """What the model reads to compute every node."""
        return View.whole(*self._on_device, self.model.hops)

    def scores_at(self, nodes: Tensor) -> Tensor:
        """Class probabilities at some nodes [k]; [R, k, c] on the CPU.

        In a large graph only what these nodes depend on is computed, unless `scores` is there.
        """
        if "scores" in self.__dict__ or self.data.nodes <= _WHOLE_AT_ONCE:
            return self.scores[:, nodes]
        return self.scores_around(nodes)

    def scores_around(self, nodes: Tensor) -> Tensor:
        """The same from what these nodes [k] depend on alone: for a graph asked only once."""
        wanted, place = torch.unique(nodes, return_inverse=True)
        with torch.no_grad():
            found: Tensor = self.model(self.view_around(wanted)).softmax(-1)
        return found.cpu()[:, place]

    def is_cheap(self, nodes: Tensor) -> bool:
        """Whether `scores_at` answers for these nodes [k] at once: known, or little to read."""
        if "scores" in self.__dict__ or self.data.nodes <= _WHOLE_AT_ONCE:
            return True
        for hops in range(self.model.hops):
            within = torch.cat(hop_rings(self.graph, nodes, hops))
            # Counted before they are walked: one more hop may be the whole graph.
            if int(self.graph.degrees[within].sum()) > _FEW_EDGES:
                return False
        return True

    def view_of(self, node: int) -> View:
        """What the model reads to compute one node."""
        self.check_node(node)
        return self.view_around(torch.tensor([node]))

    def view_around(self, nodes: Tensor) -> View:
        """What the model reads to compute some nodes [k], ascending in it."""
        features, graph = self._on_device
        field = ReceptiveField.around(graph, nodes.to(graph.device), self.model.hops)
        return View.of_field(features, graph, field)

    def check_node(self, node: int) -> None:
        """Raise unless the data has a node of this index."""
        if not 0 <= node < self.data.nodes:
            raise InputError(
                f"`node` must be an index from 0 to {self.data.nodes - 1}; got {node}. "
                f"For a name use `data.node_ids.index(name)`."
            )

    @cached_property
    def _on_device(self) -> tuple[Features, Graph]:
        """Features and graph where the model lies."""
        device = next(self.model.parameters()).device
        method, data = self.method, self.data
        if isinstance(method, NetworkMethod):
            read = method.features(data, self.trained_on)
        else:
            read = data.scaled_features(self.model.scaling, self.trained_on)
        features = features_of(read)
        return features.to(device), self.graph.to(device)
