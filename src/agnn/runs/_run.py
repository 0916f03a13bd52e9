"""Run: a trained method with what it predicts, how good that is, and what can be made of it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from agnn.choosing import rare_class_warning
from agnn.data import SplitSpec
from agnn.metrics import (
    MEASURES,
    Summary,
)
from agnn.runs._baselines import BaselineComparison, compare_with_baselines
from agnn.runs._label_file import class_of, node_of
from agnn.runs._predictor import Predictor
from agnn.runs._result import divergence_warning, trial_values
from agnn.runs._summary import ResultSummary
from agnn.training import Progress

if TYPE_CHECKING:
    from agnn.decisions import Novelty, PredictionSets, Score, Threshold
    from agnn.explanation import Explanation
    from agnn.web.explore import ExplorerCell


@dataclass(frozen=True, eq=False, repr=False)
class Run(Predictor):
    """A method trained on a graph: replicas, their accuracy, and their predictions.

    `agnn.evaluate` returns a run, `save` and `agnn.load_run` round-trip it through a folder, and
    `NodeClassifier.run_` is one. Whole-graph results (`scores`, `ensemble`, `calibration`) are
    computed when they are first needed and kept; `precompute` does that ahead of time.
    """

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the result in one look."""
        warnings = "".join(f"<li>{escape(warning)}</li>" for warning in self.warnings)
        listed = f"<ul>{warnings}</ul>" if warnings else ""
        return f"<p>{escape(repr(self))}</p>{self.result.html()}{listed}"

    # How good it is

    def measure(self, name: str) -> Summary:
        """Return a measure on the test nodes, such as "auc": one value per replica or trial.

        Unusable replicas are left out, as in `accuracy`.
        """
        spec = SplitSpec.parse(self.split_spec)
        run = self.labelled
        return Summary(trial_values(name, run.scores, run.data, run.splits, spec, self.unusable))

    @cached_property
    def measures(self) -> dict[str, Summary]:
        """Every measure of `agnn.metrics.MEASURES` on the test nodes, by name."""
        return {name: self.measure(name) for name in MEASURES}

    @cached_property
    def baselines(self) -> tuple[BaselineComparison, ...]:
        """How much better it is than one class for all, the features alone and the graph alone.

        By the metric of the run; if none was asked for, by accuracy, or where a class is rare by
        the metric that suits it. A run on a folder of parts is compared with one class for all.
        """
        return compare_with_baselines(self.labelled)

    @cached_property
    def result(self) -> ResultSummary:
        """How good it is, compared with what, on what, and what to do next, in a few lines."""
        return ResultSummary.of(self)

    @property
    def warnings(self) -> list[str]:
        """What a reader of the accuracy must know.

        Replicas that diverged, baselines that the run does not clearly beat (those that it is worse
        than come first), edge weights that the method has no use for, and rare classes.
        """
        baselines = sorted(self.baselines, key=lambda baseline: not baseline.difference.is_worse)
        warnings = [baseline.warning for baseline in baselines if baseline.warning is not None]
        if self.data.is_weighted and not self.method.uses_edge_weights:
            warnings.append(
                f"{self.method.title} does not use edge weights: every edge counts alike."
            )
        if self.metric in (None, "accuracy") and (rare := rare_class_warning(self.data)):
            warnings.append(rare)
        epochs = [epoch for epoch in self.diverged_epochs or [] if epoch]
        if epochs:
            unusable = int(self.unusable.sum())
            warnings.insert(0, divergence_warning(epochs, self.replicas, unusable))
        return warnings

    # What can be made of it. Each of these calls the function of that purpose, which takes a run;
    # its package imports this one, so it is imported when it is called.

    def predict_set(
        self,
        coverage: float = 0.9,
        ids: Sequence[Hashable] | None = None,
        *,
        score: Score = "lac",
        by_class: bool = False,
        calibrate_on: str | Sequence[Hashable] | None = None,
    ) -> PredictionSets:
        """Return for some nodes, or all, the classes that fit, the true one in `coverage` of them.

        See `agnn.decisions.calibrate_sets`; its rule also takes new nodes.
        """
        from agnn.decisions import AskedNodes, calibrate_sets

        rule = calibrate_sets(
            self, coverage, score=score, by_class=by_class, calibrate_on=calibrate_on
        )
        return rule.predict(AskedNodes.known(self, ids))

    def predict_novelty(
        self,
        false_alarms: float = 0.05,
        ids: Sequence[Hashable] | None = None,
        *,
        calibrate_on: str | Sequence[Hashable] | None = None,
    ) -> Novelty:
        """Return for some nodes, or all, how unlike the labelled ones they are.

        See `agnn.decisions.calibrate_novelty`; its rule also takes new nodes.
        """
        from agnn.decisions import AskedNodes, calibrate_novelty

        rule = calibrate_novelty(self, false_alarms, calibrate_on=calibrate_on)
        return rule.predict(AskedNodes.known(self, ids))

    def choose_threshold(
        self,
        class_name: str,
        *,
        precision: float | None = None,
        recall: float | None = None,
        costs: tuple[float, float] | None = None,
        calibrate_on: str | Sequence[Hashable] | None = None,
    ) -> Threshold:
        """Return the probability from which to act on a class, for one of three goals.

        See `agnn.decisions.choose_threshold`; `threshold.apply(predictions)` adds a column.
        """
        from agnn.decisions import choose_threshold

        return choose_threshold(
            self,
            class_name,
            precision=precision,
            recall=recall,
            costs=costs,
            calibrate_on=calibrate_on,
        )

    def explain(self, node: Hashable, *, limit: int = 10) -> Explanation:
        """Explain the prediction of one node, given by its id.

        At most `limit` neighbours and features are listed. See `agnn.explanation.Explanation`.
        """
        from agnn.report import shown_explanation

        return shown_explanation(self, self.node(node), limit=limit)

    def explorer(
        self,
        *,
        cohort: str | None = None,
        nodes: Sequence[Hashable] | None = None,
        limit: int = 40,
        height: int = 760,
    ) -> ExplorerCell:
        """Return the explorer for a notebook cell: the page of `agnn share`, without a network.

        It is about the first `limit` nodes of a cohort such as "wrong", about these `nodes`, or by
        default about the first of every cohort and a sample. `height` is that of the frame in
        pixels. With the extra `notebook` the page also takes labels: `explorer.labels` has them,
        and `run.retrain(explorer.labels)` trains with them.
        """
        from agnn.web.explore import explorer_cell

        return explorer_cell(self, cohort=cohort, nodes=nodes, limit=limit, height=height)

    def retrain(
        self,
        labels: Mapping[Hashable, str],
        *,
        device: str = "auto",
        backend: str = "auto",
        progress: Progress | None = None,
    ) -> Run:
        """Return a run of the same method, settings and seeds, trained with further labels.

        `labels` has the name of a class by node id, as `run.explorer().labels`. A node that is
        labelled here becomes a training node; see `agnn.runs.retrain`, which takes indices.
        """
        from agnn.runs._retrain import retrain

        by_index = {node_of(self.data, k): class_of(self.data, labels[k]) for k in labels}
        return retrain(self, by_index, device=device, backend=backend, progress=progress)

    def to_pyg(self, replica: int = 0) -> torch.nn.Module:
        """Return one replica of AGNN, AGNN+, GCN or GLN as a module for torch_geometric.

        See `agnn.pyg.trained_module`; `agnn.pyg.pyg_data(run)` is its input.
        """
        from agnn.pyg import trained_module

        return trained_module(self, replica)

    def save(self, folder: Path | str, *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the run to a new folder of JSON, arrays and safetensors, completely or not at all.

        `notes` are any JSON values of the caller's; they come back as `notes`.
        """
        from agnn.runs._folder import save_run

        save_run(self, folder, notes=notes)

    def to_dict(self) -> dict[str, Any]:
        """Return how the run was made and what it reached, as JSON values."""
        from agnn.runs._folder import run_config

        return run_config(self)
