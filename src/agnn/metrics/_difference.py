"""The difference of two classifiers in a measure, paired by test node, with its interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData, Split
from agnn.errors import InputError
from agnn.metrics._measures import (
    MEASURES,
    Interval,
    Labels,
    Summary,
    auc,
    balanced_accuracy,
    macro_f1,
    scored_nodes,
)

if TYPE_CHECKING:
    from torch import Tensor

_NORMAL: Final = 1.96  # a normal distribution has 95 % within this many deviations


@dataclass(frozen=True)
class TrialDifference:
    """A classifier's value of a measure minus another's, over the same trials."""

    mean: float
    interval: Interval  # 95 %, over test nodes and trials
    n: int  # trials that both have

    @property
    def is_tie(self) -> bool:
        """Whether the interval does not exclude that both are equally good."""
        return self.interval.low <= 0.0 <= self.interval.high

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return {
            "mean": self.mean,
            "interval": list(self.interval),
            "n": self.n,
            "is_tie": self.is_tie,
        }

    @classmethod
    def between(
        cls,
        nodes: Sequence[NDArray[np.int64]],
        first: Sequence[NDArray[np.float64]],
        second: Sequence[NDArray[np.float64]],
        differences: Sequence[float] | None = None,
    ) -> TrialDifference:
        """Return the mean over trials of the first classifier's measure minus the second's.

        Trial r tests `nodes[r]` [k_r], which contribute `first[r]` and `second[r]` [k_r] to the
        measure. If these are only some of its nodes, `differences` are those of the trials over all
        of them, and the interval is rather too wide.

        Nodes and trials are two crossed samples, and test nodes may be the same in every trial or
        drawn anew. The mean varies as the trials do, plus what trials have in common because they
        test the same nodes, but by no less than its nodes vary. The interval is Student's, because
        a few trials know their own spread badly (degrees of freedom by Satterthwaite 1946).
        """
        gaps = [ours - theirs for ours, theirs in zip(first, second, strict=True)]
        trials = Summary(differences or [float(gap.mean()) for gap in gaps])
        over_nodes, in_common = _node_variances(nodes, gaps)
        if trials.standard_error is None:
            reach = _NORMAL * math.sqrt(over_nodes)
        else:
            over_both = max(over_nodes, trials.standard_error**2 + in_common)
            reach = _student(over_both, over_both - over_nodes, trials.n - 1) * math.sqrt(over_both)
        return TrialDifference(
            trials.mean, Interval(trials.mean - reach, trials.mean + reach), trials.n
        )


@dataclass(frozen=True)
class NodeDifference:
    """A classifier's value of a measure minus another's, on the same test nodes."""

    mean: float
    interval: Interval  # 95 %, over test nodes
    is_loss: bool = False  # whether a lower value is better

    @property
    def is_clear(self) -> bool:
        """Whether the first classifier is better beyond the uncertainty of the test nodes."""
        return self.interval.high < 0.0 if self.is_loss else self.interval.low > 0.0

    @property
    def is_worse(self) -> bool:
        """Whether the first classifier is worse beyond the uncertainty of the test nodes."""
        return self.interval.low > 0.0 if self.is_loss else self.interval.high < 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return {
            "mean": self.mean,
            "interval": list(self.interval),
            "is_clear": self.is_clear,
            "is_worse": self.is_worse,
        }

    @classmethod
    def between(
        cls,
        measure: str,
        scores: Tensor,
        other: Tensor,
        data: NodeData,
        splits: Sequence[Split],
        passes: Sequence[int] = (),
    ) -> NodeDifference | None:
        """Return the measure of `scores` [R, n, c] minus that of `other`, on the same test nodes.

        Paired by node: what both predict alike says nothing about which is better. Every node
        counts with its mean over the replicas that have it for test. Replicas whose measure is not
        defined, such as AUC without two classes to test, are left out; None if that leaves none.
        With `passes` [R] the folds of a pass are measured together.
        """
        total = np.zeros(data.nodes)
        count = np.zeros(data.nodes)
        by_classifier = (
            _contributions(measure, of, data, splits, passes) for of in (scores, other)
        )
        for (nodes, first), (_, second) in zip(*by_classifier, strict=True):
            gain = first - second
            if np.isfinite(gain).all():
                total[nodes] += gain
                count[nodes] += 1
        tested = count > 0
        if not tested.any():
            return None
        # Replicas that test the same node are no new evidence about nodes: one value for each.
        gains = total[tested] / count[tested]
        mean = float(gains.mean())
        n = gains.size
        reach = _NORMAL * float(gains.std(ddof=1)) / math.sqrt(n) if n > 1 else math.inf
        is_loss = MEASURES[measure].is_loss
        return NodeDifference(mean, Interval(mean - reach, mean + reach), is_loss)


def _contributions(
    measure: str, scores: Tensor, data: NodeData, splits: Sequence[Split], passes: Sequence[int]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Give the test nodes of each replica, or of each pass, with what each node contributes."""
    for nodes, probabilities in scored_nodes(scores, splits, passes):
        contributions = node_contributions(measure, data.labels[nodes], probabilities)
        del probabilities  # there may be 100 million nodes
        yield nodes, contributions


def node_contributions(
    measure: str, labels: Labels, probabilities: NDArray[Any]
) -> NDArray[np.float64]:
    """Return one number per node [k], whose mean is the measure and whose spread gives its error.

    Accuracy and log loss are such means. For balanced accuracy, macro F1 and AUC the numbers are
    the measure plus each node's influence on it, the linear approximation of how the measure
    changes with the nodes that happen to be tested; for AUC they are those of DeLong et al. 1988.
    """
    if measure not in _CONTRIBUTIONS:
        raise InputError(f"no contributions of nodes are known for '{measure}'.")
    return _CONTRIBUTIONS[measure](labels, probabilities)


def _node_variances(
    nodes: Sequence[NDArray[np.int64]], gaps: Sequence[NDArray[np.float64]]
) -> tuple[float, float]:
    """Return the variance of the mean over nodes, and the mean covariance of two trials."""
    count = len(gaps)
    if count == 1 and gaps[0].size == 1:
        return math.inf, 0.0
    by_node = np.zeros(1 + max(int(tested.max()) for tested in nodes))
    alone = 0.0  # the variance if no two trials had a node in common
    for tested, gap in zip(nodes, gaps, strict=True):
        share = (gap - gap.mean()) / (count * math.sqrt(gap.size * max(gap.size - 1, 1)))
        by_node[tested] += share
        alone += float(share @ share)
    over_nodes = float(by_node @ by_node)
    pairs = (count - 1) / count  # of the count² pairs of trials, the share of two different ones
    return over_nodes, max(0.0, (over_nodes - alone) / pairs) if pairs else 0.0


def _student(variance: float, by_trials: float, freedom: int) -> float:
    """Return the half-width of a 95 % interval in deviations.

    `by_trials` is the part of the variance that is estimated with few degrees of freedom.
    """
    from scipy.stats import t

    if not by_trials > 0.0:
        return _NORMAL
    return float(t.ppf(0.975, freedom * (variance / by_trials) ** 2))


def _accuracy(labels: Labels, probabilities: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(100.0 * (probabilities.argmax(1) == labels))


def _log_loss(labels: Labels, probabilities: NDArray[Any]) -> NDArray[np.float64]:
    true = probabilities[np.arange(labels.size), labels].astype(np.float64)
    return -np.log(np.maximum(true, 1e-12))


def _balanced_accuracy(labels: Labels, probabilities: NDArray[Any]) -> NDArray[np.float64]:
    right = (probabilities.argmax(1) == labels).astype(np.float64)
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    shares = np.bincount(codes, right) / counts
    influence = (right - shares[codes]) * labels.size / (counts.size * counts[codes])
    return np.asarray(balanced_accuracy(labels, probabilities.argmax(1)) + 100.0 * influence)


def _f1(labels: Labels, probabilities: NDArray[Any]) -> NDArray[np.float64]:
    answers = probabilities.argmax(1)
    classes = np.union1d(labels, answers)
    influence = np.zeros(labels.size)
    for label in classes:
        is_class = labels == label
        is_answer = answers == label
        twice_shared = 2.0 * (is_class & is_answer)
        either = 1.0 * is_class + is_answer
        # F1 = 2 TP / (TP + FP + TP + FN), a ratio of two sums over the nodes.
        influence += (twice_shared - twice_shared.sum() / either.sum() * either) / either.sum()
    return macro_f1(labels, answers) + 100.0 * labels.size * influence / classes.size


def _auc(labels: Labels, probabilities: NDArray[Any]) -> NDArray[np.float64]:
    classes = [1] if probabilities.shape[1] == 2 else range(probabilities.shape[1])
    influences = []
    for label in classes:
        is_class = labels == label
        if not 0 < np.count_nonzero(is_class) < labels.size:
            continue
        inside = probabilities[is_class, label]
        outside = probabilities[~is_class, label]
        # The area is the share of pairs, one node of the class and one other, in the right order.
        ordered = np.empty(labels.size)
        ordered[is_class] = _share_below(np.sort(outside), inside)
        ordered[~is_class] = 1.0 - _share_below(np.sort(inside), outside)
        area = ordered[is_class].mean()
        weight = np.where(is_class, labels.size / inside.size, labels.size / outside.size)
        influences.append((ordered - area) * weight)
    influence = np.mean(influences, axis=0) if influences else np.full(labels.size, np.nan)
    return auc(labels, probabilities) + 100.0 * influence


def _share_below(ordered: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of `ordered` below each value; equal ones count one half."""
    counts = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return np.asarray(counts / (2.0 * ordered.size))


_CONTRIBUTIONS: Final[Mapping[str, Callable[[Labels, NDArray[Any]], NDArray[np.float64]]]] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "f1": _f1,
    "auc": _auc,
    "log_loss": _log_loss,
}
