"""Run: a trained method with its data, and everything that can be asked of it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

import numpy as np
import torch

from agnn.data import NodeData, Split, SplitSpec, preset_name
from agnn.errors import DataError, InputError
from agnn.graph import Graph, hop_rings
from agnn.methods import Method
from agnn.metrics import (
    MEASURES,
    Calibration,
    Ensemble,
    Summary,
    calibrated,
    ensemble_of,
    replica_values,
)
from agnn.runs._baselines import BaselineComparison, compared_with_baselines
from agnn.runs._class_weights import ClassWeight, fitting_metric, rare_class_warning
from agnn.runs._divergence import divergence_warning, trial_means, unusable_replicas
from agnn.runs._inference import Inference
from agnn.runs._new_nodes import scores_of_new
from agnn.runs._node_finder import NodeFinder
from agnn.runs._predictions import Predictions, id_name

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from torch import Tensor

    from agnn.data import ReadKeywords
    from agnn.graph import Features, View
    from agnn.nn import NodeModel
    from agnn.training import History

# Up to this many nodes all are scored at the first question, so that later ones are look-ups.
_WHOLE_AT_ONCE: Final = 100_000
# Edges whose attention some tens of replicas compute within a second.
_FEW_EDGES: Final = 300_000
_OPTIMISTIC: Final = (
    "the epoch was chosen on the evaluated fold, which is the paper's protocol and optimistic"
)


@dataclass(eq=False)
class _Kept:
    """What has been computed so far."""

    scores: Tensor | None = None  # [R, n, c] on the CPU


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A method trained on a graph: replicas, their accuracy, and their predictions.

    `agnn.evaluate` returns a run, `save` and `agnn.load_run` round-trip it through a folder, and
    `NodeClassifier.run_` is one. Whole-graph results (`scores`, `ensemble`, `calibration`) are
    computed when they are first needed and kept; `precompute` does that ahead of time.
    """

    data: NodeData
    method: Method
    splits: tuple[Split, ...]  # one per replica
    seeds: tuple[int, ...]  # one per replica
    accuracy: Summary
    """Percent of the test nodes: one value per replica; with folds, one per trial.

    Unusable replicas are left out, see `unusable`.
    """

    model: NodeModel | None = None
    """The trained network; None for methods without one."""

    split_spec: str = "fixed"
    history: History | None = None
    """Losses and accuracies per epoch; None without epochs, or if an old folder lacks them."""

    chosen: Sequence[Mapping[str, Any]] | None = None
    """Each replica's hyper-parameters, if they were tuned on validation nodes."""

    seconds: float = 0.0  # of training
    device: str = "cpu"
    backend: str = "auto"
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)
    """Where it was trained: processor, cores, threads, memory, GPU; empty in an old folder."""

    class_weight: ClassWeight = None
    metric: str | None = None
    """By which epochs and settings were chosen; None: by the method's own rule."""

    choice: Mapping[str, Any] | None = None
    """What was tried, what won and by how much, where the method was chosen automatically."""

    notes: Mapping[str, Any] | None = None
    """The caller's own words, saved with the run."""

    known_scores: Tensor | None = None  # [R, n, c]; None: computed from the model
    known_temperature: float | None = None  # None: fitted to the validation nodes
    known_inputs: tuple[Features, Graph] | None = None
    """What the model reads, where that is known already or differs from what the data gives."""

    folder: Path | None = None  # where it was loaded from or last saved to
    _kept: _Kept = field(default_factory=_Kept, init=False)

    def __post_init__(self) -> None:
        if self.model is None and self.known_scores is None:
            raise InputError("a run needs a model or the scores of its replicas.")
        if self.known_scores is not None:
            self._keep(self.known_scores)

    def __repr__(self) -> str:
        return (
            f"Run({self.method.title} on {self.data.name}, split {self.split_spec}, "
            f"{self.replicas} replicas: {accuracy_words(self.accuracy)})"
        )

    # What it is

    @property
    def split(self) -> Split:
        """The first replica's split."""
        return self.splits[0]

    @property
    def replicas(self) -> int:
        """Number of trained models."""
        return len(self.splits)

    @property
    def folds(self) -> int:
        """Number of replicas per trial; 1 without folds."""
        return SplitSpec.parse(self.split_spec).folds

    @property
    def diverged(self) -> NDArray[np.bool_]:
        """[R] Replicas whose training diverged."""
        if self.history is None:
            return np.zeros(self.replicas, dtype=bool)
        return np.asarray(self.history.diverged.cpu().numpy())

    @property
    def diverged_epochs(self) -> list[int] | None:
        """The epoch, from 1, at which each replica diverged, 0 if it did not; None if unknown."""
        found = None if self.history is None else self.history.diverged_epochs
        return None if found is None else found.tolist()

    @property
    def unusable(self) -> NDArray[np.bool_]:
        """[R] Replicas that diverged before there was an epoch with finite weights to keep.

        Accuracies and other measures leave them out. A trial is the mean over its other folds;
        without any it is left out too.
        """
        return unusable_replicas(self.history, self.replicas)

    @cached_property
    def members(self) -> NDArray[np.int64]:
        """The replicas that form the ensemble: those that did not diverge, by index.

        If all diverged, those with an epoch of finite weights to keep.
        """
        out = self.diverged
        return np.flatnonzero(~(self.unusable if out.all() else out))

    @property
    def betas(self) -> list[list[float]] | None:
        """Every replica's betas, layer by layer; None for methods without them."""
        betas = None if self.model is None else self.model.betas
        return None if betas is None else betas.tolist()

    @property
    def selected_epochs(self) -> list[int] | None:
        """The epoch, from 1, whose weights each replica keeps; None without epochs."""
        return None if self.history is None else self.history.selected_epochs.tolist()

    @property
    def seconds_per_replica_epoch(self) -> float | None:
        """Training time per replica and epoch; None without epochs."""
        if self.history is None:
            return None
        return self.seconds / (self.replicas * self.history.training_loss.shape[0])

    @property
    def configuration(self) -> str | None:
        """How the hyper-parameters were found: "tuned", or "published" on a dataset of the package.

        None on any other graph: nobody has published any for it.
        """
        is_published = self.method.configuration == "published"
        if is_published and preset_name(self.data) == "*":
            return None
        return self.method.configuration

    @property
    def caveat(self) -> str | None:
        """A warning about how the accuracy was obtained, or None."""
        return _OPTIMISTIC if getattr(self.method, "watched", None) == "test" else None

    @cached_property
    def baselines(self) -> tuple[BaselineComparison, ...]:
        """How much better it is than one class for all, the features alone and the graph alone.

        By the metric of the run; if none was asked for, by accuracy, or where a class is rare by
        the metric that suits it.
        """
        usable = np.flatnonzero(~self.unusable)
        splits = [self.splits[replica] for replica in usable]
        metric = self.metric or fitting_metric(self.data)
        return compared_with_baselines(
            self.method, self.scores[usable], self.data, splits, metric,
            is_chosen=self.choice is not None, is_weighted=self.class_weight is not None,
        )  # fmt: skip

    @property
    def warnings(self) -> list[str]:
        """What a reader of the accuracy must know.

        Replicas that diverged, baselines that the run does not clearly beat (those that it is worse
        than come first), edge weights that the method has no use for, and rare classes.
        """
        compared = sorted(self.baselines, key=lambda baseline: not baseline.difference.is_worse)
        found = [each.warning for each in compared if each.warning is not None]
        if self.data.edge_weights is not None and not self.method.uses_edge_weights:
            found.append(f"{self.method.title} does not use edge weights: every edge counts alike.")
        if self.metric in (None, "accuracy") and (rare := rare_class_warning(self.data)):
            found.append(rare)
        epochs = [each for each in self.diverged_epochs or [] if each]
        if not epochs:
            return found
        return [divergence_warning(epochs, self.replicas, int(self.unusable.sum())), *found]

    # What it predicts

    def precompute(self) -> None:
        """Compute what predictions need, so that the first question is as fast as the others."""
        self._finder.prepare()
        if self.model is not None:
            self._inference.prepare()
        if self._kept.scores is None:
            self._keep(self._inference.scores())
        self.ensemble_at([0])

    @property
    def has_scores(self) -> bool:
        """Whether `scores` are known already."""
        return self._kept.scores is not None

    @property
    def scores(self) -> Tensor:
        """Every replica's class probabilities at every node; [R, n, c] on the CPU."""
        if self._kept.scores is None:
            self._keep(self._inference.scores())
        found = self._kept.scores
        assert found is not None  # noqa: S101
        return found

    def scores_at(self, nodes: ArrayLike) -> Tensor:
        """Every replica's class probabilities at some nodes [k], given by index; [R, k, c].

        In a large graph only what these nodes depend on is computed, unless `scores` is known.
        """
        wanted = torch.as_tensor(nodes, dtype=torch.int64)
        if self._kept.scores is not None or self.data.nodes <= _WHOLE_AT_ONCE:
            return self.scores[:, wanted]
        return self.scores_around(wanted)

    def scores_around(self, nodes: ArrayLike) -> Tensor:
        """The same, always from what these nodes depend on."""
        return self._inference.scores_around(torch.as_tensor(nodes, dtype=torch.int64))

    @cached_property
    def calibration(self) -> Calibration:
        """The ensemble on test nodes: temperature, accuracy and calibration error."""
        splits = [self.splits[replica] for replica in self.members]
        return calibrated(self.scores[self.members], self.data, splits)

    @cached_property
    def temperature(self) -> float:
        """The temperature of the ensemble, fitted to the validation nodes that chose the epoch."""
        return self.known_temperature or self.calibration.temperature

    @cached_property
    def ensemble(self) -> Ensemble:
        """The ensemble's predictions at every node."""
        return self.ensemble_of(self.scores)

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """[n, c] The ensemble's probabilities at the run's temperature."""
        return self.ensemble.probabilities

    def ensemble_of(self, scores: Tensor) -> Ensemble:
        """The ensemble of scores [R, k, c] at the run's temperature; see `members`."""
        is_whole = self.members.size == self.replicas
        return ensemble_of(scores if is_whole else scores[self.members], self.temperature)

    def ensemble_at(self, nodes: ArrayLike) -> Ensemble:
        """The ensemble's predictions at some nodes [k], given by index; see `scores_at`."""
        return self.ensemble_of(self.scores_at(nodes))

    def predict(
        self, ids: Sequence[Hashable] | None = None, *, batch: int | None = None
    ) -> Predictions:
        """The predictions for the nodes with these ids, or for all nodes.

        `batch` nodes are computed at a time, replica by replica, so that the scores of all nodes
        and replicas need not fit in memory. By default that is done where they would not.
        """
        names = self.data.class_names
        if ids is None:
            return Predictions.of_data(self.data, names, self._whole_ensemble(batch))
        nodes = [self.node(each) for each in ids]
        return Predictions.of_data(self.data, names, self.ensemble_at(nodes), nodes)

    def _whole_ensemble(self, batch: int | None) -> Ensemble:
        """The ensemble at every node, in batches if asked for or if memory is short."""
        if batch is not None and batch < 1:
            raise InputError(f"`batch` must be at least 1; got {batch}.")
        if self.model is None or self.has_scores:
            return self.ensemble
        size = batch or self._inference.batch_that_fits()
        if size is None:
            return self.ensemble
        parts = [self.ensemble_of(each) for each in self._inference.scores_in_batches(size)]
        return Ensemble(
            np.concatenate([each.probabilities for each in parts]),
            np.concatenate([each.disagreement for each in parts]),
        )

    def predict_new(self, nodes: Any, edges: Any, **options: Unpack[ReadKeywords]) -> Predictions:
        """The predictions for nodes that were not there in training.

        `nodes` and `edges` are files or pandas frames, with the columns that the run was trained
        on; an edge may name new and known ids. Of the options `node_id`, `source`, `target`,
        `database`, `drop_unknown`, `edge_weight` and `ignore_weights` apply. The cost is that of
        the new nodes' neighbourhood, whatever the size of the graph.
        """
        self._require_network("predict nodes it has not seen")
        ids, scores = scores_of_new(self._inference, nodes, edges, **options)
        found = self.ensemble_of(scores)
        if not np.isfinite(found.probabilities).all():
            raise InputError("the numbers in the columns of the new nodes are too large.")
        return replace(
            Predictions.of(ids, self.data.class_names, found), id_name=id_name(self.data)
        )

    def predict_graph(self, data: NodeData) -> Predictions:
        """The predictions for every node of another graph with the same features."""
        found = self.ensemble_of(self.scores_on(data))
        return Predictions.of_data(data, self.data.class_names, found)

    def scores_on(self, data: NodeData) -> Tensor:
        """Every replica's class probabilities at the nodes of other data; [R, n, c]."""
        if self.is_trained_on(data):
            return self.scores
        model = self._require_network(f"predict other nodes than those of '{self.data.name}'")
        if data.feature_count != self.data.feature_count:
            raise InputError(
                f"'{data.name}' has {data.feature_count} features, but the model was trained on "
                f"{self.data.feature_count}."
            )
        return Inference(model, data, self.method, self.data).scores()

    def is_trained_on(self, data: NodeData) -> bool:
        """Whether `data` is the run's own."""
        return data is self.data or data.fingerprint == self.data.fingerprint

    def measure(self, name: str) -> Summary:
        """A measure on the test nodes by name, such as "auc": one value per replica or trial.

        Unusable replicas are left out, as in `accuracy`.
        """
        values = replica_values(name, self.scores, self.data, self.splits)
        return Summary(trial_means(values, self.folds, self.unusable))

    @cached_property
    def measures(self) -> dict[str, Summary]:
        """Every measure of `agnn.metrics.MEASURES` on the test nodes, by name."""
        return {name: self.measure(name) for name in MEASURES}

    def explain(self, node: Hashable, *, limit: int = 10) -> Any:
        """The reasons for the prediction of one node, given by its id.

        At most `limit` neighbours and features are listed. See `agnn.explanation.Explanation`.
        """
        # Explanations are made of runs, not the other way round: looked up when asked for.
        return import_module("agnn.report").shown_explanation(self, self.node(node), limit=limit)

    def to_pyg(self, replica: int = 0) -> Any:
        """One replica of AGNN, AGNN+, GCN or GLN as a module for torch_geometric, to explain it.

        See `agnn.pyg.trained_module`; `agnn.pyg.pyg_data(run)` is its input.
        """
        return import_module("agnn.pyg").trained_module(self, replica)

    # What it is made of

    def node(self, name: Hashable) -> int:
        """The index of the node with this id: the id itself, or its text."""
        return self._finder.find(name)

    def has_node(self, name: Hashable) -> bool:
        """Whether `node` knows this id."""
        return self._finder.knows(name)

    @property
    def network(self) -> NodeModel:
        """The trained network; raises for methods without one."""
        return self._require_network("be inspected")

    @property
    def graph(self) -> Graph:
        """The whole graph, on the CPU."""
        return self._inference.graph

    @property
    def features(self) -> Features:
        """The features of all nodes as the model reads them, on its device."""
        return self._inference.on_device[0]

    def whole_view(self) -> View:
        """The model's input for all nodes."""
        return self._inference.whole_view()

    def view_of(self, node: int) -> View:
        """The model's input for one node, given by index."""
        self.check_node(node)
        return self._inference.view_around(torch.tensor([node]))

    def is_cheap(self, nodes: ArrayLike) -> bool:
        """Whether `scores_at` returns at once for these nodes [k]: known, or little to compute."""
        if self._kept.scores is not None or self.data.nodes <= _WHOLE_AT_ONCE:
            return True
        wanted = torch.as_tensor(nodes, dtype=torch.int64)
        for hops in range(self.network.hops):
            within = torch.cat(hop_rings(self.graph, wanted, hops))
            # Counted before they are walked: one more hop may be the whole graph.
            if int(self.graph.degrees[within].sum()) > _FEW_EDGES:
                return False
        return True

    def check_node(self, node: int) -> None:
        """Raise unless the data has a node of this index."""
        if not 0 <= node < self.data.nodes:
            raise InputError(
                f"`node` must be an index from 0 to {self.data.nodes - 1}; got {node}. "
                f"For an id use `run.node(id)`."
            )

    def save(self, folder: Path | str, *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the run to a new folder of JSON, arrays and safetensors, completely or not at all.

        `notes` are any JSON values of the caller's; they come back as `notes`.
        """
        from agnn.runs._folder import save_run

        save_run(self, folder, notes=notes)

    def to_dict(self) -> dict[str, Any]:
        """How the run was made and what it reached, as JSON values."""
        from agnn.runs._folder import run_config

        return run_config(self)

    @cached_property
    def _inference(self) -> Inference:
        return Inference(self.network, self.data, self.method, known=self.known_inputs)

    @cached_property
    def _finder(self) -> NodeFinder:
        return NodeFinder(self.data)

    def _require_network(self, purpose: str) -> NodeModel:
        if self.model is None:
            raise InputError(f"{self.method.title} has no trained network, so it cannot {purpose}.")
        return self.model

    def _keep(self, scores: Tensor) -> None:
        if scores.shape != (self.replicas, self.data.nodes, self.data.classes):
            raise DataError(f"the run's scores do not fit its data: {list(scores.shape)}.")
        self._kept.scores = scores.detach().cpu()

    def __getstate__(self) -> dict[str, Any]:
        # For copies and pickles: fields only, not what can be computed from them.
        return {each.name: getattr(self, each.name) for each in fields(self)}


def accuracy_words(accuracy: Summary) -> str:
    """Mean and standard error in percent."""
    if accuracy.standard_error is None:
        return f"{accuracy.mean:.2f} %"
    return f"{accuracy.mean:.2f} ± {accuracy.standard_error:.2f} %"
