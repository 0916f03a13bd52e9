"""What the methods that train a network have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agnn.data import NodeData
from agnn.errors import InputError
from agnn.graph import FeatureMatrix, Graph
from agnn.methods.protocol import Method, Outcome, Task
from agnn.nn import NodeModel
from agnn.training import Recipe, probabilities, train

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class NetworkMethod(Method):
    """A method that builds a model and trains it by a recipe."""

    @abstractmethod
    def build(self, features: int, classes: int, seeds: Sequence[int], backend: str) -> NodeModel:
        """The untrained model, one replica a seed."""

    def features(self, data: NodeData) -> csr_array[Any, Any]:
        """What the model reads of each node: its features, each row summing to 1; [n, d_x]."""
        return data.normalised_features()

    @abstractmethod
    def recipe(self) -> Recipe:
        """How the model is trained."""

    def run(self, task: Task) -> Outcome:
        """Train all replicas at once and score every node."""
        data = task.data
        if data.feature_count == 0:
            raise InputError(f"'{data.name}' has no features, and {self.name} learns from them.")
        graph = Graph.from_edges(data.edges, data.nodes).to(task.device)
        features = FeatureMatrix.from_scipy(self.features(data)).to(task.device)
        model = self.build(features.width, data.classes, task.seeds, task.backend).to(task.device)
        history = train(
            model, features, graph, data.labels, task.splits, self.recipe(), task.seeds,
            task.progress,
        )  # fmt: skip
        return Outcome(probabilities(model, features, graph), model, history)
