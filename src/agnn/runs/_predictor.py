"""What a trained method predicts, at the nodes of its training and at others."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, Unpack

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from agnn.data import NodeData, ReadKeywords
from agnn.errors import DataError, InputError
from agnn.graph import Features, Graph, View
from agnn.metrics import Calibration, Ensemble, Interval
from agnn.networks import NodeModel
from agnn.runs._inference import Inference
from agnn.runs._new_nodes import scores_of_new
from agnn.runs._node_finder import NodeFinder
from agnn.runs._part_results import PredictionFiles
from agnn.runs._predictions import Predictions
from agnn.runs._result import TrainingResult

# Up to this many nodes all are scored at the first question, so that later ones are look-ups.
_WHOLE_AT_ONCE: Final = 100_000


class KnownResults(NamedTuple):
    """Results that a run need not compute from its model and data; None: computed when needed."""

    scores: Tensor | None = None  # [R, n, c]
    temperature: float | None = None
    inputs: tuple[Features, Graph] | None = None  # what the model reads, if not what the data gives
    # Of a run on a folder of parts: itself at the labelled nodes alone, and what it predicts.
    labelled: Any = None
    predictions: PredictionFiles | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Predictor(TrainingResult):
    """A trained method with its data: what it predicts at known and new nodes, and how surely.

    Whole-graph results (`scores`, `ensemble`, `calibration`) are computed when they are first
    needed and kept; `precompute` does that ahead of time. `Run` adds how good that is.
    """

    known: KnownResults = field(default_factory=KnownResults)
    folder: Path | None = None  # where it was loaded from or last saved to

    def __post_init__(self) -> None:
        scores = self.known.scores
        if self.model is None and scores is None:
            raise InputError("a run needs a model or the scores of its replicas.")
        shape = (self.replicas, self.data.nodes, self.data.classes)
        if scores is not None and scores.shape != shape:
            raise DataError(f"the run's scores do not fit its data: {list(scores.shape)}.")

    # What it predicts

    def precompute(self) -> None:
        """Compute what predictions need, so that the first question is as fast as the others."""
        self._finder.prepare()
        if self.model is not None:
            self._inference.prepare()
        self.ensemble_of(self.scores[:, :1])

    @property
    def is_in_parts(self) -> bool:
        """Whether the graph and the predictions are in parts on disk."""
        return self.known.predictions is not None

    @property
    def labelled(self) -> Self:
        """The run at its labelled nodes alone, without the graph, if that is in parts; else itself.

        What is measured with labels is measured there. Its node k is `data.labelled[k]`.
        """
        return self.known.labelled or self

    @property
    def has_scores(self) -> bool:
        """Whether `scores` are known already."""
        return self.known.scores is not None or "scores" in vars(self)

    @cached_property
    def scores(self) -> Tensor:
        """Every replica's class probabilities at every node; [R, n, c] on the CPU."""
        scores = self.known.scores
        return self._inference.scores() if scores is None else scores.detach().cpu()

    def scores_at(self, nodes: ArrayLike) -> Tensor:
        """Return every replica's class probabilities at some nodes [k], given by index; [R, k, c].

        In a large graph only what these nodes depend on is computed, unless `scores` is known.
        """
        indices = torch.as_tensor(nodes, dtype=torch.int64)
        if self.has_scores or self.data.nodes <= _WHOLE_AT_ONCE:
            return self.scores[:, indices]
        return self.scores_around(indices)

    def scores_around(self, nodes: ArrayLike) -> Tensor:
        """Return the same, always from what these nodes depend on."""
        return self._inference.scores_around(torch.as_tensor(nodes, dtype=torch.int64))

    @cached_property
    def calibration(self) -> Calibration:
        """The ensemble on test nodes: temperature, accuracy and calibration error."""
        run = self.labelled
        scores = run.scores[self.members]
        fit_on = "test" if self.is_cross_fitted else "validation"
        return Calibration.of(scores, run.data, run.member_splits, fit_on=fit_on)

    @property
    def interval(self) -> Interval:
        """The 95 % interval of the ensemble's accuracy in percent, over test nodes.

        Wilson's, as wide as the number of test nodes demands; where replicas are cross-fitted,
        wider, because their folds are few.
        """
        tested = self.calibration.test_nodes
        right = round(self.calibration.accuracy * tested / 100)
        return Interval.percent(right, tested, self.folds if self.is_cross_fitted else 1)

    @cached_property
    def temperature(self) -> float:
        """The temperature of the ensemble, fitted to validation nodes; see `calibration`."""
        return self.known.temperature or self.calibration.temperature

    @cached_property
    def ensemble(self) -> Ensemble:
        """The ensemble's predictions at every node."""
        return self.ensemble_of(self.scores)

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """[n, c] The ensemble's probabilities at the run's temperature."""
        return self.ensemble.probabilities

    def ensemble_of(self, scores: Tensor) -> Ensemble:
        """Return the ensemble of scores [R, k, c] at the run's temperature; see `members`."""
        is_whole = self.members.size == self.replicas
        return Ensemble.of_scores(scores if is_whole else scores[self.members], self.temperature)

    def ensemble_at(self, nodes: ArrayLike) -> Ensemble:
        """Return the ensemble's predictions at some nodes [k], given by index; see `scores_at`."""
        return self.ensemble_of(self.scores_at(nodes))

    def predict(
        self, ids: Sequence[Hashable] | None = None, *, batch: int | None = None
    ) -> Predictions:
        """Return the predictions for the nodes with these ids, or for all nodes.

        `batch` nodes are computed at a time, replica by replica, so that the scores of all nodes
        and replicas need not fit in memory. By default that is done where they would not. A run on
        a folder of parts has them in files.
        """
        names = self.data.class_names
        files = self.known.predictions
        if ids is None and files is not None:
            return files.read(names)
        if ids is None:
            return Predictions.of_data(self.data, names, self._whole_ensemble(batch))
        nodes = [self.node(node_id) for node_id in ids]
        return Predictions.of_data(self.data, names, self.ensemble_at(nodes), nodes)

    def predict_out_of_fold(self) -> Predictions:
        """Return predictions for the test nodes, each by the replicas that were not trained on it.

        With cross-fitting these are all labelled nodes; otherwise those that some replica tests.
        """
        nodes, ensemble = self.out_of_fold
        return Predictions.of_data(self.data, self.data.class_names, ensemble, nodes.tolist())

    @property
    def out_of_fold(self) -> tuple[NDArray[np.int64], Ensemble]:
        """The test nodes [k], and the ensemble of those replicas that test each."""
        run = self.labelled
        scores = run.scores[self.members]
        nodes, ensemble = Ensemble.held_out(scores, run.member_splits, self.temperature)
        return nodes if run is self else self.data.labelled[nodes], ensemble

    def _whole_ensemble(self, batch: int | None) -> Ensemble:
        """Return the ensemble at every node, in batches if asked for or if memory is short."""
        if batch is not None and batch < 1:
            raise InputError(f"`batch` must be at least 1; got {batch}.")
        if self.model is None or self.has_scores:
            return self.ensemble
        size = batch or self._inference.batch_that_fits()
        if size is None:
            return self.ensemble
        parts = [self.ensemble_of(scores) for scores in self._inference.scores_in_batches(size)]
        return Ensemble(
            np.concatenate([part.probabilities for part in parts]),
            np.concatenate([part.disagreement for part in parts]),
        )

    def predict_new(self, nodes: Any, edges: Any, **options: Unpack[ReadKeywords]) -> Predictions:
        """Return the predictions for nodes that were not there in training.

        `nodes` and `edges` are files or pandas frames, with the columns that the run was trained
        on; an edge may name new and known ids. Of the options `node_id`, `source`, `target`,
        `database`, `drop_unknown`, `edge_weight` and `ignore_weights` apply. The cost is that of
        the new nodes' neighbourhood, whatever the size of the graph.
        """
        return self.score_new(nodes, edges, **options)[0]

    def score_new(
        self, nodes: Any, edges: Any, **options: Unpack[ReadKeywords]
    ) -> tuple[Predictions, Tensor]:
        """Return what `predict_new` returns, and every replica's probabilities; [R, k, c]."""
        self._require_network("predict nodes it has not seen")
        ids, scores = scores_of_new(self._inference, nodes, edges, **options)
        ensemble = self.ensemble_of(scores)
        if not np.isfinite(ensemble.probabilities).all():
            raise InputError("the numbers in the columns of the new nodes are too large.")
        predictions = Predictions.of(ids, self.data.class_names, ensemble)
        return replace(predictions, id_name=self.data.id_name), scores

    def predict_graph(self, data: NodeData) -> Predictions:
        """Return the predictions for every node of another graph with the same features."""
        ensemble = self.ensemble_of(self.scores_on(data))
        return Predictions.of_data(data, self.data.class_names, ensemble)

    def scores_on(self, data: NodeData) -> Tensor:
        """Return every replica's class probabilities at the nodes of other data; [R, n, c]."""
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
        """Return whether `data` is the run's own."""
        return data is self.data or data.fingerprint == self.data.fingerprint

    # What it is made of

    def node(self, name: Hashable) -> int:
        """Return the index of the node with this id: the id itself, or its text."""
        return self._finder.find(name)

    def has_node(self, name: Hashable) -> bool:
        """Return whether `node` knows this id."""
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
        """Return the model's input for all nodes."""
        return self._inference.whole_view()

    def view_of(self, node: int) -> View:
        """Return the model's input for one node, given by index."""
        self.check_node(node)
        return self._inference.view_around(torch.tensor([node]))

    def is_cheap(self, nodes: ArrayLike) -> bool:
        """Return whether `scores_at` takes little time for these nodes [k]."""
        if self.has_scores or self.data.nodes <= _WHOLE_AT_ONCE:
            return True
        return self._inference.is_cheap(torch.as_tensor(nodes, dtype=torch.int64))

    def check_node(self, node: int) -> None:
        """Raise unless the data has a node of this index."""
        if not 0 <= node < self.data.nodes:
            raise InputError(
                f"`node` must be an index from 0 to {self.data.nodes - 1}; got {node}. "
                f"For an id use `run.node(id)`."
            )

    @cached_property
    def _inference(self) -> Inference:
        return Inference(self.network, self.data, self.method, known=self.known.inputs)

    @cached_property
    def _finder(self) -> NodeFinder:
        return NodeFinder(self.data)

    def _require_network(self, purpose: str) -> NodeModel:
        if self.model is None:
            raise InputError(f"{self.method.title} has no trained network, so it cannot {purpose}.")
        return self.model

    def __getstate__(self) -> dict[str, Any]:
        # For copies and pickles: fields only, not what can be computed from them.
        return {column.name: getattr(self, column.name) for column in fields(self)}
