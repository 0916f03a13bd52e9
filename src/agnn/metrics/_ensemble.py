"""The replicas as an ensemble: mean probabilities, disagreement, and calibration.

Calibration is how well probabilities match frequencies; one temperature corrects them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from agnn.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

    from agnn.data import NodeData, Split

SURE: Final = 0.6
"""The lead from which a prediction is called sure: 80 % against 20 % of two classes."""

UNSURE: Final = 0.2
"""The lead below which a prediction is called unsure: 60 % against 40 % of two classes."""

BINS: Final = 15
_RANGE: Final = (-6.0, 6.0)  # natural logarithms of the temperatures searched
_ROWS_AT_ONCE: Final = 65_536
_TINY: Final = 1e-12  # stands for a probability of zero inside a logarithm


@dataclass(frozen=True, eq=False)
class Ensemble:
    """The joint prediction of R replicas for n nodes."""

    probabilities: NDArray[np.float64]
    """[n, c] Mean over the replicas, sharpened or softened by the temperature."""

    disagreement: NDArray[np.float64]
    """[n] Share of replicas whose own prediction differs from the ensemble's, from 0 to below 1."""

    @property
    def answers(self) -> NDArray[np.int64]:
        """[n] Index of the class with the highest probability; the first of equal ones."""
        return np.asarray(self.probabilities.argmax(1))

    @classmethod
    def of_scores(cls, scores: Tensor, temperature: float = 1.0) -> Ensemble:
        """Return the ensemble of scores [R, n, c]: softmax(log(mean over r of p_r) / temperature).

        At temperature 1 this is the mean itself. No temperature changes a predicted class.
        """
        mean = mean_probabilities(scores)
        predictions = scores.argmax(-1).cpu().numpy()  # [R, n]
        disagreement = (predictions != mean.argmax(1)).mean(0)
        return Ensemble(apply_temperature(mean, temperature), disagreement)

    @classmethod
    def held_out(
        cls, scores: Tensor, splits: Sequence[Split], temperature: float = 1.0
    ) -> tuple[NDArray[np.int64], Ensemble]:
        """Return the test nodes of all replicas, each with the ensemble of those that test it."""
        nodes, means = held_out_predictions(scores, splits, "test")
        answers = np.empty(scores.shape[1], dtype=np.int64)
        answers[nodes] = means.argmax(1)
        tests = np.zeros(scores.shape[1])
        differing = np.zeros(scores.shape[1])  # replicas whose own prediction differs
        for replica, split in zip(scores, splits, strict=True):
            tests[split.test] += 1
            differing[split.test] += (
                replica.argmax(-1).cpu().numpy()[split.test] != answers[split.test]
            )
        disagreement = differing[nodes] / tests[nodes]
        return nodes, Ensemble(apply_temperature(means, temperature), disagreement)


def mean_probabilities(scores: Tensor) -> NDArray[np.float64]:
    """Return the mean of scores [R, n, c] over the replicas, with rows that sum to 1; [n, c]."""
    import torch

    return _sum_to_one(np.asarray(scores.detach().mean(0, dtype=torch.float64).cpu().numpy()))


def _sum_to_one(mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows divided by their sums, in the same memory; [n, c]."""
    total = mean.sum(1, keepdims=True)
    is_known = total > 0
    np.divide(mean, total, out=mean, where=is_known)  # in place: there may be 100 million nodes
    # A method may know nothing about a node, as in a component without labels: all classes equal.
    mean[~is_known[:, 0]] = 1.0 / mean.shape[1]
    return mean


def leads(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far the highest probability of each row is above the second highest; [n].

    Unlike the highest probability alone it means the same for two classes as for twenty.
    """
    if probabilities.shape[1] < 2:
        return np.ones(len(probabilities))
    second, highest = np.partition(probabilities, -2, axis=1)[:, -2:].T
    return np.asarray(highest - second)


def apply_temperature(
    probabilities: NDArray[np.float64], temperature: float
) -> NDArray[np.float64]:
    """Return softmax(log p / temperature) of every row; [n, c]."""
    if temperature == 1.0:
        return probabilities
    values = _logarithms(probabilities)
    values /= temperature
    values -= values.max(1, keepdims=True)
    np.exp(values, out=values)
    values /= values.sum(1, keepdims=True)
    return values


def _logarithms(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log p in an array of its own."""
    values = np.maximum(probabilities, _TINY)
    return np.log(values, out=values)


def held_out_predictions(
    scores: Tensor, splits: Sequence[Split], part: str
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return nodes in `part` of some replica, and the mean over exactly those replicas.

    A replica that has learned from a node's label does not take part in predicting that node.
    Returns indices [k], ascending, and probabilities [k, c].
    """
    import torch

    if scores.shape[0] != len(splits):
        raise InputError(f"{scores.shape[0]} replicas need as many splits; got {len(splits)}.")
    count = torch.zeros(scores.shape[1], dtype=torch.int64)
    for split in splits:
        count[torch.tensor(getattr(split, part))] += 1
    predicted = count.nonzero()[:, 0]
    row_of = torch.empty_like(count)
    row_of[predicted] = torch.arange(len(predicted))
    total = torch.zeros(len(predicted), scores.shape[2], dtype=torch.float64)
    for replica, split in zip(scores.detach().cpu(), splits, strict=True):
        for start in range(0, getattr(split, part).size, _ROWS_AT_ONCE):
            nodes = torch.tensor(getattr(split, part)[start : start + _ROWS_AT_ONCE])
            total.index_add_(0, row_of[nodes], replica[nodes].double())
    return predicted.numpy(), _sum_to_one(total.div_(count[predicted, None]).numpy())


@dataclass(frozen=True, eq=False)
class Reliability:
    """Predictions in bins of equal width by confidence, which is their highest probability."""

    count: NDArray[np.int64]  # [bins]
    confidence: NDArray[np.float64]  # [bins] mean per bin; 0 if it is empty
    accuracy: NDArray[np.float64]  # [bins] share of correct predictions; 0 if it is empty

    @property
    def error(self) -> float:
        """Expected calibration error: |accuracy - confidence|, weighted by the counts."""
        gaps = np.abs(self.accuracy - self.confidence)
        return float((self.count * gaps).sum() / max(self.count.sum(), 1))


@dataclass(frozen=True, eq=False)
class Calibration:
    """The fitted temperature, and the ensemble on test nodes without and with it."""

    temperature: float
    validation_nodes: int
    test_nodes: int
    accuracy: float  # percent of the test nodes that the ensemble predicts correctly
    before: Reliability
    after: Reliability

    @property
    def has_helped(self) -> bool:
        """Whether the calibration error on test nodes is lower with the temperature."""
        return self.validation_nodes > 0 and self.after.error < self.before.error

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return {
            "temperature": self.temperature,
            "validation_nodes": self.validation_nodes,
            "test_nodes": self.test_nodes,
            "ensemble_accuracy": self.accuracy,
            "calibration_error_before": self.before.error,
            "calibration_error_after": self.after.error,
        }

    @classmethod
    def of(
        cls, scores: Tensor, data: NodeData, splits: Sequence[Split], *, fit_on: str = "validation"
    ) -> Calibration:
        """Fit the temperature to the validation nodes and measure its effect on the test nodes.

        Where it does not help on validation nodes that it was not fitted to, it stays 1.

        With `fit_on="test"` it is fitted to the test nodes: the folds of cross-fitted replicas,
        which chose neither weights nor epoch of the replica that predicts them.

        The validation nodes have also chosen the epoch, and settings where any were chosen: the
        model is a little better on them than on new nodes, so the temperature tends to leave the
        ensemble slightly over-confident. What is measured on test nodes shows by how much.

        Each node is predicted only by the replicas that have it in that part of their split. If
        replicas have different splits, a node may be a validation node of one and a test node of
        another: its label then enters the temperature and nothing else. In that case a node is also
        predicted by fewer replicas than a new node will be: the accuracy is that of a smaller
        ensemble, and the temperature leaves the whole ensemble slightly under-confident.
        """
        held_out = {part: held_out_predictions(scores, splits, part) for part in {fit_on, "test"}}
        validation, probabilities = held_out[fit_on]
        temperature = helpful_temperature(probabilities, data.labels[validation])
        test, means = held_out["test"]
        labels = data.labels[test]
        right = means.argmax(1) == labels
        return Calibration(
            temperature=temperature,
            validation_nodes=int(validation.size),
            test_nodes=int(test.size),
            accuracy=100.0 * float(right.mean()) if test.size else float("nan"),
            before=reliability(means, labels),
            after=reliability(means, labels, temperature=temperature),
        )


def reliability(
    probabilities: NDArray[Any],
    labels: NDArray[np.int64],
    bins: int = BINS,
    temperature: float = 1.0,
) -> Reliability:
    """Return the reliability of probabilities [k, c] at a temperature for labels [k]."""
    confidence = np.empty(labels.size)
    right = np.empty(labels.size, dtype=bool)
    for start in range(0, labels.size, _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        batch = apply_temperature(np.asarray(probabilities[rows], np.float64), temperature)
        confidence[rows] = batch.max(1)
        right[rows] = batch.argmax(1) == labels[rows]
    bin_of = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    count = np.bincount(bin_of, minlength=bins)
    divisor = np.maximum(count, 1)  # an empty bin has the sum 0
    return Reliability(
        count=count,
        confidence=np.bincount(bin_of, confidence, minlength=bins) / divisor,
        accuracy=np.bincount(bin_of, right, minlength=bins) / divisor,
    )


def fit_temperature(probabilities: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Return the temperature with the least log loss of probabilities [k, c] for labels [k].

    A label counts as 1 - e, and e = 1 / (k + 2) is shared by the other classes. Without that, the
    least loss would be at certainty if all k predictions are correct, which k nodes cannot prove
    (Platt 1999). 1 if there are no nodes to fit it to.
    """
    from scipy.optimize import minimize_scalar

    if not labels.size:
        return 1.0

    k, c = probabilities.shape
    doubt = 1.0 / (k + 2)
    rows = np.arange(k)

    def loss(log_temperature: float) -> float:
        softened = apply_temperature(probabilities, float(np.exp(log_temperature)))
        terms = _logarithms(softened)
        of_label = terms[rows, labels] * (1.0 - doubt)
        terms *= doubt / max(c - 1, 1)
        terms[rows, labels] = of_label
        return float(-terms.sum())

    optimum = minimize_scalar(loss, bounds=_RANGE, method="bounded", options={"xatol": 1e-6})
    return float(np.exp(optimum.x))


def helpful_temperature(probabilities: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Return the fitted temperature, or 1 where it does not help on nodes it was not fitted to.

    Fitted to every other node, it must lower the log loss of the rest, both halves together.
    """
    before = after = 0.0
    for start in (0, 1):
        fitted = slice(start, None, 2)
        held = slice(1 - start, None, 2)
        temperature = fit_temperature(probabilities[fitted], labels[fitted])
        before += _log_loss(probabilities[held], labels[held])
        after += _log_loss(apply_temperature(probabilities[held], temperature), labels[held])
    return fit_temperature(probabilities, labels) if after < before else 1.0


def _log_loss(probabilities: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Return the sum of -log p of the true class."""
    true = probabilities[np.arange(labels.size), labels]
    return float(-np.log(np.maximum(true, _TINY)).sum())
