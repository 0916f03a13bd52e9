"""The single-layer perceptron: softmax regression on the labelled rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData, Split
from agnn.methods._split_method import SplitMethod, unit_rows
from agnn.networks import Positive, register


@register
@dataclass(frozen=True)
class SingleLayerPerceptron(SplitMethod):
    """softmax(X W + b), fitted to the training nodes with the penalty |W|^2 / (2 C).

    It minimises the sum of the cross-entropy and the penalty; C is `penalty_inverse`. Neither the
    graph nor the features of other nodes are used. The problem is convex, so scikit-learn's solver
    finds its only solution.
    """

    name: ClassVar[str] = "single_layer_perceptron"
    title: ClassVar[str] = "Single-layer perceptron"
    cites: ClassVar[str] = "Yang, Cohen and Salakhutdinov 2016"
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "penalty_inverse": (0.1, 1.0, 10.0, 100.0),
        "has_unit_rows": (False, True),
    }

    penalty_inverse: Positive = 1.0  # C of scikit-learn, its default
    has_unit_rows: bool = False  # raw features, as in the source's program

    def scores(self, data: NodeData, split: Split) -> NDArray[np.float64]:
        """Return class probabilities [n, c]."""
        from sklearn.linear_model import LogisticRegression

        data.check_features(self.name)
        x = unit_rows(data.features) if self.has_unit_rows else data.features
        labels = data.labels[split.train]
        present = np.unique(labels)
        scores = np.zeros((data.nodes, data.classes))
        if present.size == 1:  # a single class
            scores[:, present] = 1.0
            return scores
        model = LogisticRegression(C=self.penalty_inverse, max_iter=10_000)
        model.fit(x[split.train], labels)
        scores[:, present] = model.predict_proba(x)
        return scores
