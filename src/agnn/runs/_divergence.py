"""Replicas whose training diverged: which count, and what a reader must know about them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from agnn.metrics import replica_values

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from agnn.data import NodeData, Split, SplitSpec
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


def trial_values(
    measure: str,
    scores: Tensor,
    data: NodeData,
    splits: Sequence[Split],
    spec: SplitSpec,
    unusable: NDArray[np.bool_],
) -> list[float]:
    """Return a measure on test nodes: one value per replica, with folds per trial.

    A trial of k folds is the mean over them; where they are cross-fitted it is one value over the
    nodes of all folds. Unusable replicas [R] are left out.
    """
    if not spec.is_cross_fitted:
        values = replica_values(measure, scores, data, splits)
        return trial_means(values, spec.folds, unusable)
    usable = np.flatnonzero(~unusable).tolist()
    passes = spec.passes(len(splits))
    return replica_values(
        measure,
        scores[usable],
        data,
        [splits[replica] for replica in usable],
        [passes[replica] for replica in usable],
    )


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
