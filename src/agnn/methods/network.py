"""What the methods that train a network have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from agnn.data import NodeData, Scaling
from agnn.errors import DivergedError
from agnn.graph import Features, Graph, features_of
from agnn.methods.protocol import Method, Outcome, Task, require_features
from agnn.nn import NodeModel
from agnn.training import (
    ExtraLoss,
    History,
    MemoryEstimate,
    Objective,
    Problem,
    Recipe,
    check_memory,
    memory_estimate,
    probabilities,
    train,
)

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    Matrix: TypeAlias = csr_array[Any, Any] | NDArray[np.float32]


@dataclass(frozen=True)
class NetworkMethod(Method):
    """A method that builds a model and trains it by a recipe."""

    fills_a_gpu: ClassVar[bool] = True
    implied: ClassVar[Mapping[str, Any]] = {"scaling": "sum"}

    scaling: Scaling = "sum"  # of the features: rows that sum to 1, as in the paper

    @abstractmethod
    def build(self, features: int, classes: int, seeds: Sequence[int], backend: str) -> NodeModel:
        """The untrained model, one replica a seed."""

    def built(self, features: int, classes: int, seeds: Sequence[int], backend: str) -> NodeModel:
        """The untrained model, which knows how its features are scaled."""
        model = self.build(features, classes, seeds, backend)
        model.scaling = self.scaling
        return model

    def input_width(self, features: int) -> int:
        """How wide `features` gives what the model reads, for data with so many features."""
        return features

    def features(self, data: NodeData, fitted_on: NodeData | None = None) -> Matrix:
        """What the model reads of each node: its features, scaled; [n, d_x].

        `fitted_on` is the data that the model was trained on, where `data` has other nodes.
        """
        return data.scaled_features(self.scaling, fitted_on)

    @abstractmethod
    def recipe(self) -> Recipe:
        """How the model is trained."""

    @property
    def state_width(self) -> int:
        """How many numbers a node has between two layers, all heads counted."""
        width: int = getattr(self, "hidden", 16)
        return width

    def memory_estimate(self, task: Task) -> MemoryEstimate:
        """What a run on `task` needs, by the method's depth and width."""
        data = task.data
        return memory_estimate(
            data.nodes, 2 * data.edges.shape[1], features=data.feature_count,
            classes=data.classes,
            entries=None if self.scaling == "standard" else data.features.nnz,
            layers=getattr(self, "layers", 2), hidden=self.state_width,
            replicas=len(task.seeds), scored=data.nodes,
        )  # fmt: skip

    def extra_loss(
        self, model: NodeModel, features: Features, graph: Graph, seeds: Sequence[int]
    ) -> ExtraLoss | None:
        """What a step's objective has beside the cross-entropy; nothing, unless overridden."""
        return None

    def objective(self, model: NodeModel, features: Features, graph: Graph) -> Objective | None:
        """What a step minimises in place of one output's cross-entropy; none, unless overridden."""
        return None

    def run(self, task: Task) -> Outcome:
        """Train all replicas at once and score every node."""
        data = task.data
        require_features(data, self.name)
        check_memory(self.memory_estimate(task), task.device)
        graph = Graph.from_edges(data.edges, data.nodes).to(task.device)
        features = features_of(self.features(data)).to(task.device)
        model = self.built(features.width, data.classes, task.seeds, task.backend).to(task.device)
        problem = Problem(features, graph, data.labels, task.splits, task.seeds, task.class_weights)
        history = train(
            model, problem, self.recipe(), task.progress,
            extra_loss=self.extra_loss(model, features, graph, task.seeds),
            objective=self.objective(model, features, graph),
        )  # fmt: skip
        check_usable(history)
        return Outcome(probabilities(model, features, graph), model, history)


def check_usable(history: History) -> None:
    """Raise `DivergedError` if no replica of the training can be used."""
    if bool(history.unusable.all()) and history.diverged_epochs is not None:
        epoch = int(history.diverged_epochs.max())
        raise DivergedError(
            f"training diverged: the loss of every replica was infinite or NaN by epoch {epoch}, "
            f"and no earlier epoch can be kept. Use a lower learning rate or weight decay, and "
            f"check the scale of the features."
        )
