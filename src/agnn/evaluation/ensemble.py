"""The replicas as one classifier: their mean probability and how far they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import torch
from torch import Tensor

from agnn.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.data import Split

_TINY: Final = 1e-12  # stands for a probability of zero below a logarithm


@dataclass(frozen=True, eq=False)
class Ensemble:
    """What R replicas say together about n nodes."""

    probabilities: NDArray[np.float64]
    """[n, c] The mean over the replicas, sharpened or softened by the temperature."""

    disagreement: NDArray[np.float64]
    """[n] The share of replicas whose own answer is not the ensemble's, from 0 to below 1."""

    @property
    def answers(self) -> NDArray[np.int64]:
        """[n] The class with the highest probability; of equal ones the first."""
        return np.asarray(self.probabilities.argmax(1))

    def after(self, first: int) -> Ensemble:
        """What they say about node `first` and those behind it."""
        return Ensemble(self.probabilities[first:], self.disagreement[first:])


def ensemble_of(scores: Tensor, temperature: float = 1.0) -> Ensemble:
    """The ensemble of scores [R, n, c]: p = softmax(log(mean over r of p_r) / temperature).

    At temperature 1 that is the mean itself, and no temperature changes an answer.
    """
    mean = mean_probabilities(scores)
    own = scores.argmax(-1).cpu().numpy()  # [R, n]
    disagreement = (own != mean.argmax(1)).mean(0)
    return Ensemble(tempered(mean, temperature), disagreement)


def mean_probabilities(scores: Tensor) -> NDArray[np.float64]:
    """The mean of scores [R, n, c] over the replicas, rows made to sum to 1; [n, c]."""
    mean = np.asarray(scores.detach().mean(0, dtype=torch.float64).cpu().numpy())
    total = mean.sum(1, keepdims=True)
    # A method may know nothing of a node, as a component without a label: all classes alike.
    return np.where(total > 0, mean / np.where(total > 0, total, 1.0), 1.0 / mean.shape[1])


def tempered(probabilities: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """softmax(log p / temperature) of every row; [n, c]."""
    if temperature == 1.0:
        return probabilities
    logits = np.log(np.maximum(probabilities, _TINY)) / temperature
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return np.asarray(powers / powers.sum(1, keepdims=True))


def held_out(
    scores: Tensor, splits: Sequence[Split], part: str
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The nodes that are in `part` of some replica, and the mean over those replicas alone.

    A replica that has learned from a node's label says nothing about that node here. Gives
    indices [k], ascending, and probabilities [k, c].
    """
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
