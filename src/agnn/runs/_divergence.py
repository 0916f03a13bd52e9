"""Replicas whose training diverged: which count, and what a reader must know about them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.training import History


def unusable_replicas(history: History | None, replicas: int) -> NDArray[np.bool_]:
    """Return which replicas diverged before any epoch had finite weights to keep; [R]."""
    if history is None or not bool(history.diverged.any()):
        return np.zeros(replicas, dtype=bool)
    return np.asarray(history.unusable.cpu().numpy())


def trial_means(values: Sequence[float], folds: int, unusable: NDArray[np.bool_]) -> list[float]:
    """Return the mean of each `folds` consecutive values, without those of unusable replicas [R].

    A trial without a usable replica is left out.
    """
    means = []
    for start in range(0, len(values), folds):
        trial = range(start, start + folds)
        usable = [values[replica] for replica in trial if not unusable[replica]]
        if usable:
            means.append(fmean(usable))
    return means


def divergence_warning(epochs: Sequence[int], replicas: int, unusable: int) -> str:
    """Return how many replicas diverged, at which `epochs`, and what leaves them out."""
    first = min(epochs)
    last = max(epochs)
    count = len(epochs)
    when = f"at epoch {first}" if first == last else f"from epoch {first} to {last}"
    warning = f"{count} of {replicas} replicas diverged, {when}"
    if count < replicas:
        warning += f", and the ensemble leaves {_them(count)} out"
    if unusable:
        warning += (
            f"; {unusable} had no finite weights to keep, so the accuracy leaves "
            f"{_them(unusable)} out"
        )
    return f"{warning}. Use a lower learning rate, and check the scale of the features."


def _them(count: int) -> str:
    return "it" if count == 1 else "them"
