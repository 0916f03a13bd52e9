"""The base classes of methods that train a network by gradient."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast, get_args

import numpy as np

from agnn.data import NodeData, Scaling, suited_scaling
from agnn.errors import DivergedError, InputError, unknown_name
from agnn.graph import Features, Graph, adjacency, features_of
from agnn.kernels import Link
from agnn.networks._protocol import (
    Method,
    Outcome,
    Task,
    added,
    require_features,
)
from agnn.nn import ChainModel, ModelShape, NodeModel, Precision
from agnn.training import (
    EarlyStop,
    ExtraLoss,
    Footprint,
    History,
    MemoryEstimate,
    Objective,
    Part,
    Problem,
    Recipe,
    Selection,
    StopOn,
    check_memory,
    memory_estimate,
    probabilities,
    train,
)

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from agnn.training import Metric

    Matrix: TypeAlias = csr_array[Any, Any] | NDArray[np.float32]

_DENSE = 0.25  # share of stored entries from which the input is a dense matrix


@dataclass(frozen=True)
class NetworkMethod(Method):
    """A method that builds a model and trains it by a recipe.

    A subclass declares hyper-parameters as fields and names its `model`, which is built from them.
    """

    fills_a_gpu: ClassVar[bool] = True
    takes_class_weights: ClassVar[bool] = True
    has_checkpoints: ClassVar[bool] = True
    model: ClassVar[type[NodeModel]]  # built from the method itself and a shape
    implied: ClassVar[Mapping[str, Any]] = {"scaling": "sum"}
    # Bytes per entry of a dense input: twice in double precision while it is made, then the whole
    # input and the parts that training and watched nodes read.
    input_bytes: ClassVar[int] = 28
    # the fields that differ from the defaults on a graph that no setting was published for
    elsewhere: ClassVar[Mapping[str, Any]] = {}

    # of the features: sum (rows that sum to 1, as in the paper), length, standard or none
    scaling: Scaling = "sum"
    # epochs without progress at the watched nodes that end a replica's training; 0: off
    stop_after: int = added(0)
    # what counts as progress: a lower loss or a higher score
    stop_on: StopOn = added("loss")  # noqa: RUF009 (a field)
    batch: int | None = added(None)  # training nodes per step, with `fanout`; None: all
    # neighbours that are sampled per hop, from the batch outwards; one number is for every hop,
    # (): a step reads all neighbours
    fanout: tuple[int, ...] = added(())
    # of the states between propagations; bf16 is for a GPU, where it takes half of the memory
    precision: Precision = added("float32")  # noqa: RUF009 (a field)

    @property
    @abstractmethod
    def propagation_steps(self) -> int:
        """How many steps over the edges the model takes: the `hops` of the model."""

    @property
    @abstractmethod
    def state_width(self) -> int:
        """How many numbers a node has between two layers, all heads counted."""

    @abstractmethod
    def recipe(self) -> Recipe:
        """Return how the model is trained."""

    def stopping(self, recipe: Recipe) -> Recipe:
        """Return the recipe with the early stopping of `stop_after` and `stop_on`."""
        if self.stop_on not in get_args(StopOn):
            raise unknown_name("stop_on", str(self.stop_on), get_args(StopOn))
        if self.stop_after == 0:
            return recipe
        return replace(recipe, selection=EarlyStop(recipe.selection, self.stop_after, self.stop_on))

    def check_precision(self) -> None:
        """Raise unless the model takes states of the wanted type."""
        if self.precision not in get_args(Precision):
            raise unknown_name("precision", str(self.precision), get_args(Precision))
        if self.precision == "bf16":
            self._check_links(lambda link: link.bf16 != "no", "has no states of type bf16")

    def _check_links(self, can: Callable[[Link], bool], fault: str) -> None:
        """Raise unless all links of its model can do something; the message names one."""
        model = self.build(1, 2)
        if not isinstance(model, ChainModel):
            raise InputError(f"{self.name} {fault}: it is not a chain of links.")
        for link in model.example_links():
            if not can(link):
                raise InputError(f"{self.name} {fault}: its link {link.title} has no form for it.")

    def sampling(self, recipe: Recipe) -> Recipe:
        """Return the recipe with the batches and samples of `batch` and `fanout`."""
        if not self.fanout:
            if self.batch is not None and recipe.batch is None:
                raise InputError(
                    "`batch` needs `fanout`, the neighbours that are sampled per hop, such as "
                    "--batch 1024 --fanout 15,10."
                )
            return recipe
        self._check_links(
            lambda link: link.has_samples or not link.is_over_edges,
            "cannot train on sampled neighbourhoods",
        )
        hops, fanout = self.propagation_steps, self.fanout
        if len(fanout) not in (1, hops):
            raise InputError(
                f"`fanout` has {len(fanout)} numbers, and {self.name} here {hops} propagation "
                f"layers; give one for each, from the batch outwards, or one for all."
            )
        if self.batch is not None and self.batch < 1:
            raise InputError(f"`batch` must be at least 1; got {self.batch}.")
        fanout = fanout * hops if len(fanout) == 1 else fanout
        return replace(recipe, batch=self.batch, fanout=fanout)

    def recipe_by(self, metric: str | None) -> Recipe:
        """Return the recipe with early stopping and samples, its epoch chosen by a metric."""
        recipe = self.sampling(self.recipe())
        if metric is not None:
            chosen = recipe.selection.by(cast("Metric", metric), recipe.epochs)
            recipe = replace(recipe, selection=chosen)
        return self.stopping(recipe)

    def suited(self, data: NodeData) -> Method:
        """Return the method as on any other graph, with the features scaled as suits them.

        A method that reads raw features by definition goes on doing so.
        """
        scaling = self.scaling if self.scaling == "none" else suited_scaling(data)
        return self.with_fields(**self.elsewhere, scaling=scaling)

    def build(
        self, features: int, classes: int, seeds: Sequence[int] = (0,), backend: str = "auto"
    ) -> NodeModel:
        """Return the untrained model with one replica per seed."""
        shape = ModelShape(
            features, classes, tuple(seeds), self.propagation_steps, backend, self.scaling,
            self.precision,
        )  # fmt: skip
        model = cast("Callable[[NetworkMethod, ModelShape], NodeModel]", self.model)
        return model(self, shape)

    def propagating(self, model: NodeModel) -> tuple[NetworkMethod, NodeModel] | None:
        """Return an equal method and model that propagate themselves; None if these do.

        For methods that propagate the features before training: explanations need the graph.
        """
        return None

    def input_width(self, features: int) -> int:
        """Return the width of the model's input for data with `features` features."""
        return features

    def features(self, data: NodeData, fitted_on: NodeData | None = None) -> Matrix:
        """Return the model's input [n, d_x]: the scaled features.

        `fitted_on` is the data that the model was trained on, where `data` has other nodes.
        """
        return data.scaled_features(self.scaling, fitted_on)

    # Whether `features` reads each row of the data by itself, so that new nodes change no other.
    features_by_row: ClassVar[bool] = True

    def input_entries(self, data: NodeData) -> int:
        """Return an upper bound of the stored entries of `features(data)`."""
        return data.nodes * data.feature_count if self.scaling == "standard" else data.features.nnz

    def footprint(self, classes: int) -> Footprint:
        """Return what a step holds per node and edge beyond AGNN with as many layers."""
        return Footprint()

    def memory_estimate(self, task: Task) -> MemoryEstimate:
        """Return an upper bound of the memory that a run on `task` needs."""
        data, footprint = task.data, self.footprint(task.data.classes)
        width = self.input_width(data.feature_count)
        parts = [(split.train, getattr(split, self.recipe().selection.on)) for split in task.splits]
        entries = self.input_entries(data)
        is_dense = entries >= _DENSE * data.nodes * width
        labelled = max(min(data.nodes, sum(p[k].size for p in parts)) for k in range(2))
        recipe = self.sampling(self.recipe())
        return memory_estimate(
            data.nodes, 2 * data.edges.shape[1], features=width, classes=data.classes,
            entries=None if is_dense else entries, feature_bytes=self.input_bytes,
            layers=self.propagation_steps, hidden=self.state_width,
            replicas=len(task.seeds), scored=data.nodes,
            labelled=data.nodes if footprint.copies > 1 else labelled,
            parameters=self._parameters(width, data.classes), footprint=footprint,
            step_nodes=_step_nodes(recipe, task) if recipe.fanout else None,
            has_edge_weights=data.edge_weights is not None,
        )  # fmt: skip

    def _parameters(self, features: int, classes: int) -> int:
        """Return the parameters of one replica, whose number is linear in the features."""
        one, two = (
            sum(p.numel() for p in self.build(count, classes, (0,), "auto").parameters())
            for count in (1, 2)
        )
        return one + (features - 1) * (two - one)

    def extra_loss(
        self, model: NodeModel, features: Features, graph: Graph, seeds: Sequence[int]
    ) -> ExtraLoss | None:
        """Return a term that is added to the cross-entropy of a step, or None."""
        return None

    def objective(self, model: NodeModel, features: Features, graph: Graph) -> Objective | None:
        """Return what a step minimises in place of one output's cross-entropy, or None."""
        return None

    def run(self, task: Task) -> Outcome:
        """Train all replicas at once and score every node."""
        data = task.data
        require_features(data, self.name)
        self.check_precision()
        check_memory(self.memory_estimate(task), task.device)
        recipe = self.recipe_by(task.metric)
        graph = Graph.of(data).to(task.device)
        features = features_of(self.features(data)).to(task.device)
        model = self.build(features.width, data.classes, task.seeds, task.backend).to(task.device)
        problem = Problem(features, graph, data.labels, task.splits, task.seeds, task.class_weights)
        extra_loss = self.extra_loss(model, features, graph, task.seeds)
        objective = self.objective(model, features, graph)
        history = train(
            model, problem, recipe, task.progress, extra_loss=extra_loss, objective=objective,
            checkpoints=task.checkpoints, callbacks=task.callbacks,
        )  # fmt: skip
        check_usable(history)
        return Outcome(probabilities(model, features, graph), model, history)


@dataclass(frozen=True)
class HiddenNetwork(NetworkMethod):
    """A network of two layers, trained by Adam on the mean cross-entropy with L2 and dropout."""

    decayed: ClassVar[tuple[str, ...]] = ("*",)  # patterns over the parameters that have L2
    # Paper: there is no third part in k-fold runs; the epoch is chosen on the evaluated fold.
    presets: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = {
        ("cross-validation", "*"): {"watched": "test"},
    }

    hidden: int = 16  # width of the hidden states
    learning_rate: float = 0.01  # of Adam
    weight_decay: float = 5e-4  # weight of the L2 penalty
    dropout: float = 0.5  # share of inputs and states that a step drops
    epochs: int = 200  # at most
    watched: Part = "validation"  # the nodes by which the epoch is chosen

    def __post_init__(self) -> None:
        if self.hidden < 1:
            raise InputError(f"`hidden` must be at least 1; got {self.hidden}.")

    @property
    def propagation_steps(self) -> int:
        """One per layer."""
        return 2

    @property
    def state_width(self) -> int:
        """The hidden width."""
        return self.hidden

    @abstractmethod
    def selection(self) -> Selection:
        """Return the rule that stops training and chooses the epoch."""

    def recipe(self) -> Recipe:
        """Return how the model is trained."""
        return Recipe(
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            dropout=self.dropout,
            decayed=self.decayed,
            selection=self.selection(),
        )


def _step_nodes(recipe: Recipe, task: Task) -> int:
    """Return an upper bound of the nodes that a step reads, on a sample of their neighbours."""
    own = [min(recipe.batch or 1, split.train.size) for split in set(task.splits)]
    nodes = sum(own)
    for count in recipe.fanout:
        nodes *= count + 1
    return min(nodes, task.data.nodes)


def propagated_entries(data: NodeData, steps: int) -> list[int]:
    """Return upper bounds of the stored entries of X, P X, ... P^steps X."""
    matrix = adjacency(data.edges, data.nodes)
    per_row = np.diff(data.features.indptr).astype(np.float64)
    found = [int(per_row.sum())]
    for _ in range(steps):
        # A row of P X has the columns of all rows that it is a mean of, at most all of them.
        per_row = np.minimum(matrix @ per_row + per_row, data.feature_count)
        found.append(int(per_row.sum()))
    return found


def check_usable(history: History) -> None:
    """Raise `DivergedError` if no replica of the training can be used."""
    if bool(history.unusable.all()) and history.diverged_epochs is not None:
        epoch = int(history.diverged_epochs.max())
        raise DivergedError(
            f"training diverged: the loss of every replica was infinite or NaN by epoch {epoch}, "
            f"and no earlier epoch can be kept. Use a lower learning rate or weight decay, and "
            f"check the scale of the features."
        )
