"""The replicas as an ensemble: their mean probability and how much they disagree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from agnn.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from agnn.data import Split

SURE: Final = 0.6
"""The lead from which a prediction is called sure: 80 % against 20 % of two classes."""

UNSURE: Final = 0.2
"""The lead below which a prediction is called unsure: 60 % against 40 % of two classes."""

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

    def after(self, first: int) -> Ensemble:
        """The predictions of node `first` and all after it."""
        return Ensemble(self.probabilities[first:], self.disagreement[first:])


def ensemble_of(scores: Tensor, temperature: float = 1.0) -> Ensemble:
    """The ensemble of scores [R, n, c]: p = softmax(log(mean over r of p_r) / temperature).

    At temperature 1 this is the mean itself. No temperature changes a predicted class.
    """
    mean = mean_probabilities(scores)
    own = scores.argmax(-1).cpu().numpy()  # [R, n]
    disagreement = (own != mean.argmax(1)).mean(0)
    return Ensemble(tempered(mean, temperature), disagreement)


def mean_probabilities(scores: Tensor) -> NDArray[np.float64]:
    """Mean of scores [R, n, c] over the replicas, with rows that sum to 1; [n, c]."""
    import torch

    mean = np.asarray(scores.detach().mean(0, dtype=torch.float64).cpu().numpy())
    total = mean.sum(1, keepdims=True)
    # A method may know nothing about a node, as in a component without labels: all classes equal.
    return np.where(total > 0, mean / np.where(total > 0, total, 1.0), 1.0 / mean.shape[1])


def leads(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far the highest probability of each row is above the second highest; [n].

    Unlike the highest probability alone it means the same for two classes as for twenty.
    """
    if probabilities.shape[1] < 2:
        return np.ones(len(probabilities))
    second, first = np.partition(probabilities, -2, axis=1)[:, -2:].T
    return np.asarray(first - second)


def tempered(probabilities: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """softmax(log p / temperature) of every row; [n, c]."""
    from scipy.special import softmax

    if temperature == 1.0:
        return probabilities
    logits = np.log(np.maximum(probabilities, _TINY)) / temperature
    return np.asarray(softmax(logits, axis=1))


def held_out(
    scores: Tensor, splits: Sequence[Split], part: str
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Nodes in `part` of at least one replica, and the mean over exactly those replicas.

    A replica that has learned from a node's label does not take part in predicting that node.
    Returns indices [k], ascending, and probabilities [k, c].
    """
    import torch

    if scores.shape[0] != len(splits):
        raise InputError(f"{scores.shape[0]} replicas need as many splits; got {len(splits)}.")
    total = torch.zeros(scores.shape[1:], dtype=torch.float64)
    count = torch.zeros(scores.shape[1], dtype=torch.int64)
    for own, split in zip(scores.detach().cpu(), splits, strict=True):
        nodes = torch.tensor(getattr(split, part))
        total[nodes] += own[nodes]
        count[nodes] += 1
    found = count.nonzero()[:, 0]
    mean = total[found] / count[found, None]
    return found.numpy(), mean_probabilities(mean[None])
