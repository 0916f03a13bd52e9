"""What the methods that train a network have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from agnn.graph import FeatureMatrix, Graph
from agnn.methods.protocol import Method, Outcome, Task, require_features
from agnn.nn import NodeModel
from agnn.training import ExtraLoss, Recipe, probabilities, train


@dataclass(frozen=True)
class NetworkMethod(Method):
    """A method that builds a model and trains it by a recipe."""

    @abstractmethod
    def build(self, features: int, classes: int, seeds: Sequence[int], backend: str) -> NodeModel:
        """The untrained model, one replica a seed."""

    @abstractmethod
    def recipe(self) -> Recipe:
        """How the model is trained."""

    def extra_loss(
        self, model: NodeModel, features: FeatureMatrix, graph: Graph, seeds: Sequence[int]
    ) -> ExtraLoss | None:
        """What a step's objective has beside the cross-entropy; nothing, unless overridden."""
        return None

    def run(self, task: Task) -> Outcome:
        """Train all replicas at once and score every node."""
        data = task.data
        require_features(data, self.name)
        graph = Graph.from_edges(data.edges, data.nodes).to(task.device)
        features = FeatureMatrix.from_scipy(data.normalised_features()).to(task.device)
        model = self.build(features.width, data.classes, task.seeds, task.backend).to(task.device)
        history = train(
            model, features, graph, data.labels, task.splits, self.recipe(), task.seeds,
            task.progress, extra_loss=self.extra_loss(model, features, graph, task.seeds),
        )  # fmt: skip
        return Outcome(probabilities(model, features, graph), model, history)
