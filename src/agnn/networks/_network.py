"""The base classes of methods that train a network by gradient."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeAlias, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray

from agnn.data import NodeData, Scaling
from agnn.data.scaling import SparseRows, suited_scaling
from agnn.errors import InputError
from agnn.graph import Features, Graph, adjacency, features_of
from agnn.kernels import Link
from agnn.networks._memory import count_step
from agnn.networks._model import ModelShape, NodeModel, Precision
from agnn.networks._protocol import (
    Count,
    Method,
    Outcome,
    Presets,
    Task,
)
from agnn.training import (
    CrossFitted,
    EarlyStop,
    ExtraLoss,
    MemoryEstimate,
    Metric,
    Objective,
    Part,
    Problem,
    ProblemSize,
    Recipe,
    Selection,
    StepNumbers,
    StopOn,
    probabilities,
    train,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Matrix: TypeAlias = "csr_array[Any, Any] | NDArray[np.float32]"
T = TypeVar("T")

_DENSE = 0.25  # share of stored entries from which the input is a dense matrix
# Bytes per entry of a dense input: twice in double precision while it is made, then the whole input
# and the parts that training and watched nodes read.
_INPUT_BYTES = 28
_PROPAGATED_BYTES = 80  # propagated as sparse matrices of double precision
# Steps take about a second at this work on one CPU core, and on a GPU at 300 times as much.
_WORK_PER_SECOND: Final = 1e9
_GPU_AS_CORES: Final = 300
LONG_STEP: Final = 0.5  # seconds: some minutes for the steps that a training takes


@dataclass(frozen=True)
class NetworkMethod(Method):
    """A method that builds a model and trains it by a recipe.

    A subclass declares hyper-parameters as fields and names its `model`, which is built from them.
    """

    fills_a_gpu: ClassVar[bool] = True
    takes_class_weights: ClassVar[bool] = True
    has_checkpoints: ClassVar[bool] = True
    model: ClassVar[type[NodeModel]]  # built from the method itself and a shape

    # of the features: sum (rows that sum to 1, as in the paper), length, standard or none
    scaling: Scaling = "sum"
    # epochs without progress at the watched nodes that end a replica's training; 0: off
    stop_after: int = 0
    # what counts as progress: a lower loss or a higher score
    stop_on: StopOn = "loss"
    batch: Count | None = None  # training nodes per step, with `fanout`; None: all
    # neighbours that are sampled per hop, from the batch outwards; one number is for every hop,
    # (): a step reads all neighbours
    fanout: tuple[int, ...] = ()
    # of the states between propagations; bf16 is for a GPU, where it takes half of the memory
    precision: Precision = "float32"
    # epochs from one evaluation of the watched nodes to the next
    evaluate_every: int = field(default=1, metadata={"is_in_every_result": False})

    # steps over the edges that the model takes, or the field that has their number
    hops: ClassVar[int | str]
    # the most that some fields may be where a step takes long
    limits: ClassVar[Mapping[str, int]] = {}

    @property
    def propagation_steps(self) -> int:
        """How many steps over the edges the model takes: the `hops` of the model."""
        steps: int = getattr(self, self.hops) if isinstance(self.hops, str) else self.hops
        return steps

    @abstractmethod
    def recipe(self) -> Recipe:
        """Return how the model is trained."""

    def stopping(self, recipe: Recipe) -> Recipe:
        """Return the recipe with `evaluate_every` and the early stopping of `stop_after`."""
        if self.evaluate_every != recipe.evaluate_every:
            recipe = replace(recipe, evaluate_every=self.evaluate_every)
        if self.stop_after == 0:
            return recipe
        return replace(recipe, selection=EarlyStop(recipe.selection, self.stop_after, self.stop_on))

    def check(self) -> None:
        """Raise for values that no training takes."""
        self.stopping(self.recipe())
        if self.precision == "bf16":
            self._check_links(lambda link: link.bf16 != "no", "has no states of type bf16")

    def _check_links(self, can: Callable[[Link], bool], fault: str) -> None:
        """Raise unless all links of its model can do something; the message names one."""
        for link in self.build(1, 2).example_links():
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
            lambda link: not link.is_over_edges or type(link).on_block is not Link.on_block,
            "cannot train on sampled neighbourhoods",
        )
        hops = self.propagation_steps
        fanout = self.fanout
        if len(fanout) not in (1, hops):
            raise InputError(
                f"`fanout` has {len(fanout)} numbers, and {self.name} here {hops} propagation "
                f"layers; give one for each, from the batch outwards, or one for all."
            )
        fanout = fanout * hops if len(fanout) == 1 else fanout
        return replace(recipe, batch=self.batch, fanout=fanout)

    def recipe_by(self, metric: str | None, passes: tuple[int, ...] = ()) -> Recipe:
        """Return the recipe with early stopping and samples, its epoch chosen by a metric.

        With `passes`, those of a task, the folds of other replicas choose a replica's epoch.
        """
        recipe = self.sampling(self.recipe())
        if metric is not None:
            chosen = recipe.selection.by(cast("Metric", metric), recipe.epochs)
            recipe = replace(recipe, selection=chosen)
        recipe = self.stopping(recipe)
        if passes:
            recipe = replace(recipe, selection=CrossFitted(recipe.selection, passes))
        return recipe

    def for_data(self, data: NodeData) -> Method:
        """Return the method as on any other graph, with the features scaled as suits them.

        A method that reads raw features by definition goes on doing so.
        """
        scaling = self.scaling if self.scaling == "none" else suited_scaling(data)
        return self.with_fields(scaling=scaling)

    def reduced(
        self,
        data: NodeData,
        replicas: int,
        device: str,
        *,
        by_rows: bool = False,
        given: Collection[str] = (),
    ) -> Self:
        """Return the method within its `limits` where it `is_slow`."""
        if not self.is_slow(data, replicas, device):
            return self
        smaller = {
            name: limit
            for name, limit in self.limits.items()
            if name not in given and (getattr(self, name) or 0) > limit
        }
        return self.with_fields(**smaller)

    def is_slow(self, data: NodeData, replicas: int, device: str) -> bool:
        """Return whether a step takes more than half a second."""
        return self.step_seconds(data, replicas, device) > LONG_STEP

    def step_seconds(self, data: NodeData, replicas: int, device: str) -> float:
        """Return about how long a step takes."""
        work = replicas * self.versions_per_step * self.work(data)
        cores = _GPU_AS_CORES if device.startswith("cuda") else torch.get_num_threads()
        return work / (_WORK_PER_SECOND * cores)

    def work(self, data: NodeData) -> float:
        """Return the work of a step of one replica: about as many nanoseconds on one CPU core.

        0 where nobody has measured it.
        """
        return 0.0

    def build(
        self, features: int, classes: int, seeds: Sequence[int] = (0,), backend: str = "auto"
    ) -> NodeModel:
        """Return the untrained model with one replica per seed."""
        shape = ModelShape(
            features,
            classes,
            tuple(seeds),
            self.propagation_steps,
            backend,
            self.scaling,
            self.precision,
        )
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

    def features_of_rows(self, rows: SparseRows, fitted_on: NodeData) -> Matrix:
        """Return the model's input for some rows [k, d_x] of features like those of `fitted_on`."""
        data = NodeData.build(
            name=fitted_on.name,
            features=rows,
            labels=np.full(rows.shape[0], -1),
            edges=np.empty((2, 0), dtype=np.int64),
            class_names=fitted_on.class_names,
        )
        return self.features(data, fitted_on)

    def input_entries(self, data: NodeData) -> int:
        """Return an upper bound of the stored entries of `features(data)`."""
        return data.nodes * data.feature_count if self.scaling == "standard" else data.features.nnz

    @property
    def versions_per_step(self) -> int:
        """How many random versions of a replica a training step computes."""
        return 1

    def step_numbers(self, features: int, classes: int) -> StepNumbers:
        """Return what a training step of one replica holds, for a model of these sizes."""
        return count_step(self, features, classes)

    def memory_of(self, size: ProblemSize) -> MemoryEstimate:
        """Return an upper bound of the memory of training on a graph of this size."""
        return size.memory(self.step_numbers(size.features, size.classes))

    def memory_estimate(self, task: Task) -> MemoryEstimate:
        """Return an upper bound of the memory that a run on `task` needs."""
        data = task.data
        width = self.input_width(data.feature_count)
        entries = self.input_entries(data)
        is_dense = entries >= _DENSE * data.nodes * width
        recipe = self.recipe_by(task.metric, task.passes)
        trained = sum(split.train.size for split in task.splits)
        watched = sum(getattr(split, recipe.selection.on).size for split in task.splits)
        size = ProblemSize(
            nodes=data.nodes,
            edges=2 * data.edges.shape[1],
            features=width,
            classes=data.classes,
            entries=None if is_dense else entries,
            feature_bytes=_INPUT_BYTES if self.features_by_row else _PROPAGATED_BYTES,
            replicas=len(task.seeds),
            scored=data.nodes,
            labelled=min(data.nodes, max(trained, watched)),
            step_nodes=_step_nodes(recipe, task) if recipe.fanout else None,
            has_edge_weights=data.edge_weights is not None,
        )
        return self.memory_of(size)

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
        data.check_features(self.name)
        self.check()
        self.memory_estimate(task).check(task.device)
        recipe = self.recipe_by(task.metric, task.passes)
        graph = Graph.of(data).to(task.device)
        features = features_of(self.features(data)).to(task.device)
        model = self.build(features.width, data.classes, task.seeds, task.backend).to(task.device)
        problem = Problem(features, graph, data.labels, task.splits, task.seeds, task.class_weights)
        extra_loss = self.extra_loss(model, features, graph, task.seeds)
        objective = self.objective(model, features, graph)
        history = train(
            model,
            problem,
            recipe,
            task.progress,
            extra_loss=extra_loss,
            objective=objective,
            checkpoints=task.checkpoints,
            callbacks=task.callbacks,
        )
        history.check_usable()
        return Outcome(probabilities(model, features, graph), model, history)


@dataclass(frozen=True)
class HiddenNetwork(NetworkMethod):
    """A network of two layers, trained by Adam on the mean cross-entropy with L2 and dropout."""

    hops: ClassVar[int | str] = 2
    rule: ClassVar[type[Selection]]  # stops training and chooses the epoch
    decayed: ClassVar[tuple[str, ...]] = ("*",)  # patterns over the parameters that have L2
    # Paper: there is no third part in k-fold runs; the epoch is chosen on the evaluated fold.
    presets: ClassVar[Presets] = {
        ("cross-validation", "*"): {"watched": "test"},
    }

    hidden: Count = 16  # width of the hidden states
    learning_rate: float = 0.01  # of Adam
    weight_decay: float = 5e-4  # weight of the L2 penalty
    dropout: float = 0.5  # share of inputs and states that a step drops
    epochs: int = 200  # at most
    watched: Part = "validation"  # the nodes by which the epoch is chosen

    def selection(self) -> Selection:
        """Return the rule with the settings that the network has under the same names."""
        return from_attributes(self.rule, self, on=self.watched)

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


@dataclass(frozen=True)
class DeepNetwork(HiddenNetwork):
    """A network with any number of propagation layers between its first and its last layer."""

    hops: ClassVar[int | str] = "layers"

    layers: Count = 2  # propagation layers


def from_attributes(kind: type[T], source: object, **given: Any) -> T:
    """Return a dataclass with `given`, and what `source` has under the names of other fields."""
    names = {field.name for field in fields(cast(Any, kind))} - set(given)
    return kind(**{name: getattr(source, name) for name in names if hasattr(source, name)}, **given)


def presets_by_dataset(by_dataset: Mapping[str, Mapping[str, Any]]) -> Presets:
    """Return the same presets for fixed and random splits, and those of every network."""
    same = {
        (setting, dataset): fields
        for setting in ("fixed", "random")
        for dataset, fields in by_dataset.items()
    }
    return {**same, **HiddenNetwork.presets}


def _step_nodes(recipe: Recipe, task: Task) -> int:
    """Return an upper bound of the nodes that a step reads, on a sample of their neighbours."""
    batches = [min(recipe.batch or 1, split.train.size) for split in set(task.splits)]
    nodes = sum(batches)
    for count in recipe.fanout:
        nodes *= count + 1
    return min(nodes, task.data.nodes)


def propagated_entries(data: NodeData, steps: int) -> list[int]:
    """Return upper bounds of the stored entries of X, P X, ... P^steps X."""
    matrix = adjacency(data.edges, data.nodes)
    per_row = np.diff(data.features.indptr).astype(np.float64)
    entries = [int(per_row.sum())]
    for _ in range(steps):
        # A row of P X has the columns of all rows that it is a mean of, at most all of them.
        per_row = np.minimum(matrix @ per_row + per_row, data.feature_count)
        entries.append(int(per_row.sum()))
    return entries
