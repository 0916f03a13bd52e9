"""Comparison of a run with one class for all nodes, the features alone and the graph alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch
from torch import Tensor

from agnn.choosing import fitting_metric
from agnn.data import NodeData, Split
from agnn.methods import LabelPropagation, Ridge, Task
from agnn.metrics import MEASURES, NodeDifference, Summary, replica_values

if TYPE_CHECKING:
    from agnn.runs._run import Run

_TITLES: Final = {
    "most_frequent_class": "always predicting the most frequent class",
    "features": "the features without the graph (ridge regression)",
    "graph": "the graph without the features (label propagation)",
}
_ADVICE: Final = {
    "most_frequent_class": "The model has learned little or nothing. Check the features with "
    "`agnn inspect`, and try another method: {others}.",
    "features": "The graph adds little to this model. Try another method: {others}.",
    "graph": "The features add little to this model. Try another method: {others}.",
}
_ADVICE_AFTER_AUTO: Final = (
    "`auto` has tried the other methods already: more labels or other features may help. Check the "
    "features with `agnn inspect`."
)
# What may do better where most networks fail; "auto" tries all of them.
_OTHERS: Final = {
    "most_frequent_class": ("separated", "ridge", "boosting", "auto"),
    "features": ("separated", "ridge", "boosting", "auto"),
    "graph": ("label_propagation", "sgc", "auto"),
}
# The method that a baseline is, for a run that is worse.
_BETTER: Final = {"features": "ridge", "graph": "label_propagation"}
_ALL: Final = 100.0 - 1e-9  # of a score in percent
_STEPS: Final = 30  # of label propagation: further ones cost more than they change
_MANY_LABELS: Final = 5_000  # for training: the penalty matters little and a choice takes minutes
_MOST_EDGES: Final = 2_000_000  # up to which label propagation takes seconds


@dataclass(frozen=True)
class BaselineComparison:
    """How much better than a baseline a run is, on the same test nodes."""

    method: str  # of the run
    baseline: str  # "most_frequent_class", "features" or "graph"
    accuracy: float  # its mean test accuracy in percent
    metric: str  # that the difference is of
    value: float  # its mean over the replicas
    difference: NodeDifference  # the run's value minus the baseline's
    is_chosen: bool = False  # whether "auto" has chosen the method
    ranking: str | None = None  # where the classes say little: what the probabilities are good for

    @property
    def title(self) -> str:
        """What the baseline does, in words."""
        return _TITLES[self.baseline]

    @property
    def better_method(self) -> str | None:
        """The name of another method to train, where the run's is clearly worse."""
        name = _BETTER.get(self.baseline)
        return name if self.difference.is_worse and name != self.method else None

    @property
    def score(self) -> str:
        """The baseline's value with its unit, and the measure's name unless it is the accuracy."""
        measure = MEASURES[self.metric]
        name = "" if self.metric == "accuracy" else f"{measure.title} "
        return f"{name}{self.value:.{1 if measure.unit else measure.digits}f}{measure.unit}"

    @property
    def warning(self) -> str | None:
        """What to say where the run is worse or not clearly better; None where it is better."""
        if self.difference.is_clear:
            return None
        measure = MEASURES[self.metric]
        unit, digits = (" points", 1) if measure.unit else ("", measure.digits)
        low, high = self.difference.interval
        verdict = "Clearly worse" if self.difference.is_worse else "Not clearly better"
        return (
            f"{verdict} than {self.title}: {self.score}, a difference of "
            f"{self.difference.mean:+.{digits}f}{unit} (95 % interval {low:+.{digits}f} to "
            f"{high:+.{digits}f}). {self._advice}"
        )

    @property
    def _advice(self) -> str:
        if self.better_method is not None:
            return f"Use that instead: `--method {self.better_method}`."
        if not MEASURES[self.metric].is_loss and self.value + self.difference.mean >= _ALL:
            return "No method can do better than this one; a simple one may do as well."
        if self.ranking is not None:
            return self.ranking
        if self.is_chosen:
            return _ADVICE_AFTER_AUTO
        *names, last = [f"`{name}`" for name in _OTHERS[self.baseline] if name != self.method]
        named = f"{', '.join(names)} or {last}" if names else last
        return _ADVICE[self.baseline].format(others=named)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return {
            "baseline": self.baseline,
            "accuracy": self.accuracy,
            "metric": self.metric,
            "value": self.value,
            "difference": self.difference.to_dict(),
            "warning": self.warning,
        }


def compare_with_baselines(run: Run) -> tuple[BaselineComparison, ...]:
    """Compare a run on its test nodes with every baseline that is not its method itself.

    Unusable replicas are left out. There is no baseline without test nodes, and none with the
    graph alone where that is very large.
    """
    method = run.method
    data = run.data
    usable = np.flatnonzero(~run.unusable)
    splits = tuple(run.splits[replica] for replica in usable)
    if not all(split.test.size for split in splits):
        return ()
    metric = run.metric or fitting_metric(data)
    task = Task(
        data=data,
        splits=splits,
        seeds=tuple(range(len(splits))),
        metric=None if metric == "accuracy" else metric,
        passes=tuple(run.passes[replica] for replica in usable) if run.passes else (),
    )
    scores = run.scores[usable]
    rivals = {"most_frequent_class": _most_frequent(data, splits, task.passes)}
    if data.feature_count and not (isinstance(method, Ridge) and method.views == ("X",)):
        ridge = Ridge(views=("X",))
        if max(split.train.size for split in splits) > _MANY_LABELS:
            ridge = replace(ridge, penalties=(1.0,))
        rivals["features"] = ridge.run(task).scores
    if 0 < data.edges.shape[1] <= _MOST_EDGES and not isinstance(method, LabelPropagation):
        rivals["graph"] = LabelPropagation(max_steps=_STEPS).run(task).scores
    comparisons = []
    for name, rival in rivals.items():
        used = metric
        difference = NodeDifference.between(used, scores, rival, data, splits, task.passes)
        if difference is None:  # AUC, where no test part has two classes
            used = "accuracy"
            difference = NodeDifference.between(used, scores, rival, data, splits, task.passes)
        if difference is None:
            continue
        accuracy = Summary(replica_values("accuracy", rival, data, splits, task.passes)).mean
        values = replica_values(used, rival, data, splits, task.passes)
        mean = Summary([value for value in values if not math.isnan(value)]).mean
        ranking = None
        if name == "most_frequent_class" and used != "auc":
            ranking = _ranking_words(run, scores, rival, task)
        comparisons.append(
            BaselineComparison(
                method=method.name,
                baseline=name,
                accuracy=accuracy,
                metric=used,
                value=mean,
                difference=difference,
                is_chosen=run.is_automatic,
                ranking=ranking,
            )
        )
    return tuple(comparisons)


def _ranking_words(run: Run, scores: Tensor, rival: Tensor, task: Task) -> str | None:
    """Say that scores [R, n, 2] rank nodes well, and what to do with that; None if they do not."""
    data = task.data
    splits = task.splits
    if data.classes != 2:
        return None
    difference = NodeDifference.between("auc", scores, rival, data, splits, task.passes)
    if difference is None or not difference.is_clear:
        return None
    area = Summary(replica_values("auc", scores, data, splits, task.passes)).mean
    common = int(rival[0, 0].argmax())
    answers = scores.argmax(-1).cpu().numpy()
    predicted = [classes[split.test] for classes, split in zip(answers, splits, strict=True)]
    share = 100.0 * float(np.mean(np.concatenate(predicted) == common))
    weights = ""
    if run.method.takes_class_weights and run.class_weight is None:
        weights = "train with `--class-weight balanced`, or "
    return (
        f"It predicts '{data.class_names[common]}' for {share:.0f} % of the test nodes, but its "
        f"ranking is informative (AUC {area:.1f} %): {weights}choose your own threshold for the "
        f"probabilities that `agnn predict --out` writes."
    )


def _most_frequent(data: NodeData, splits: Sequence[Split], passes: Sequence[int]) -> Tensor:
    """Return the shares of the classes among each split's test nodes, for every node; [R, n, c].

    Not of its training nodes: drawn in equal numbers per class, they do not know the most frequent.
    Of cross-fitted replicas all test nodes of a pass count together: in a fold of one node, the
    class of that node would always be the most frequent.
    """
    counts = np.array(
        [np.bincount(data.labels[split.test], minlength=data.classes) for split in splits]
    )
    if passes:
        is_together = np.equal.outer(passes, passes)  # [R, R]
        counts = is_together @ counts
    shares = torch.tensor(counts / counts.sum(axis=1, keepdims=True))
    return shares[:, None].expand(-1, data.nodes, -1)
