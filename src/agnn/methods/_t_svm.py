"""The transductive support vector machine, which also optimises the unknown labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData, Split
from agnn.data.scaling import SparseRows
from agnn.methods._split_method import SplitMethod, unit_rows
from agnn.networks import Positive, register

Margin = Callable[[Any], NDArray[np.float64]]  # rows [k, d_x] -> [k]

_FIRST_WEIGHT = 1e-5  # of an unlabelled row when annealing starts, relative to its last weight
_GROWTH = 10.0  # of that weight from stage to stage
_MOST_SWITCHES = 10  # rounds of switching per stage; later rounds change very little


@register
@dataclass(frozen=True)
class TransductiveSVM(SplitMethod):
    """One linear SVM per class, optimised over its weights and the labels of unlabelled rows.

    It minimises  |w|^2 / 2 + C sum over L of hinge(y f) + C* sum over U of hinge(y* f)  over w and
    the labels y* of the unlabelled rows U. The share of positives in U is fixed at that in the
    training rows L. C* grows in stages from almost 0. In each stage a positive and a negative row
    whose slacks sum to more than 2 switch labels, until there is no such pair. C is
    `penalty_inverse` over the mean squared row length. The scores are the softmax of the margins.
    """

    name: ClassVar[str] = "t_svm"
    title: ClassVar[str] = "T-SVM"
    cites: ClassVar[str] = "Joachims 1999"
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "unlabelled_weight": (0.01, 0.1, 1.0),
        "has_unit_rows": (False, True),
    }

    # SVM-light's default C, relative to 1 / mean squared row length
    penalty_inverse: Positive = 1.0
    unlabelled_weight: Positive = 1.0  # C* / C at the last stage
    has_unit_rows: bool = False  # whether features are scaled to rows of length 1

    def scores(self, data: NodeData, split: Split) -> NDArray[np.float64]:
        """Return class probabilities [n, c]."""
        from scipy.special import softmax

        data.check_features(self.name)
        x = unit_rows(data.features) if self.has_unit_rows else data.features
        labels = data.labels[split.train]
        margins = np.full((data.nodes, data.classes), -np.inf)
        present = np.unique(labels)
        if present.size == 1:  # a single class
            margins[:, present] = 0.0
            return np.asarray(softmax(margins, axis=1))
        c = self.penalty_inverse / max(float(np.mean(x.multiply(x).sum(axis=1))), 1e-12)
        for label in present:
            margins[:, label] = self._margin(x, split.train, labels == label, c)
        return np.asarray(softmax(margins, axis=1))

    def _margin(
        self, x: SparseRows, train: NDArray[np.int64], is_positive: NDArray[np.bool_], c: float
    ) -> NDArray[np.float64]:
        """Return the margin [n] of one class against the others."""
        signs = np.zeros(x.shape[0])
        is_other = np.ones(x.shape[0], dtype=bool)
        signs[train] = np.where(is_positive, 1.0, -1.0)
        is_other[train] = False
        free = np.flatnonzero(is_other)
        margin = _svm(x[train], signs[train], np.full(train.size, c))
        margins = margin(x)
        if not free.size:
            return margins
        positives = min(max(round(is_positive.mean() * free.size), 1), free.size - 1)
        signs[free] = -1.0
        signs[free[np.argsort(-margins[free], kind="stable")[:positives]]] = 1.0
        final = self.unlabelled_weight * c
        weight = _FIRST_WEIGHT * final
        while weight < final:
            weight = min(weight * _GROWTH, final)
            for _ in range(_MOST_SWITCHES):
                margins = _svm(x, signs, _weights(signs, free, c, weight, positives))(x)
                if not _switch(signs, margins, free):
                    break
        return margins


def _weights(
    signs: NDArray[np.float64], free: NDArray[np.int64], c: float, weight: float, positives: int
) -> NDArray[np.float64]:
    """Return the weight of each row's slack: `c` on L, `weight` on U, balanced by sign."""
    weights = np.full(signs.size, c)
    balance = positives / max(free.size - positives, 1)
    weights[free] = np.where(signs[free] > 0, weight * balance, weight)
    return weights


def _switch(
    signs: NDArray[np.float64], margins: NDArray[np.float64], free: NDArray[np.int64]
) -> bool:
    """Switch the labels of all pairs whose slacks are positive and sum to more than 2.

    Rows are paired in the order of their slacks. Return whether any pair was switched.
    """
    slack = np.maximum(1.0 - signs * margins, 0.0)
    sides = []
    for sign in (1.0, -1.0):
        side = free[(signs[free] == sign) & (slack[free] > 0.0)]
        sides.append(side[np.argsort(-slack[side], kind="stable")])
    count = min(side.size for side in sides)
    up, down = (side[:count] for side in sides)
    is_bad = slack[up] + slack[down] > 2.0
    signs[up[is_bad]] = -1.0
    signs[down[is_bad]] = 1.0
    return bool(is_bad.any())


def _svm(x: SparseRows, signs: NDArray[np.float64], weights: NDArray[np.float64]) -> Margin:
    """Fit a linear SVM with these weights of the slacks and return its margin function."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    machine = LinearSVC(loss="hinge", C=1.0, random_state=0, max_iter=300)
    with warnings.catch_warnings():
        # An approximate solution is enough for a stage.
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(x, signs, sample_weight=weights)
    margin: Margin = machine.decision_function
    return margin
