"""One logistic regression a class, as scikit-learn's liblinear solver fits it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class OneVsRest:
    """Linear margins, one column a class; a class without a label has the margin -inf."""

    weight: NDArray[np.float64]  # [d, c]
    bias: NDArray[np.float64]  # [c]

    @classmethod
    def fit(cls, x: Any, labels: NDArray[np.int64], classes: int, strength: float) -> OneVsRest:
        """Each class against the others on sparse rows `x` [l, d]; `strength` is liblinear's C."""
        from sklearn.linear_model import LogisticRegression

        weight, bias = np.zeros((x.shape[1], classes)), np.full(classes, -np.inf)
        present = np.unique(labels)
        if present.size == 1:  # nothing to tell apart
            bias[present] = 0.0
            return cls(weight, bias)
        for label in present:
            model = LogisticRegression(C=strength, solver="liblinear", max_iter=1000)
            model.fit(x, labels == label)
            weight[:, label], bias[label] = model.coef_[0], model.intercept_[0]
        return cls(weight, bias)

    def margins(self, x: Any) -> NDArray[np.float64]:
        """X W + b; [n, c]."""
        return np.asarray(x @ self.weight + self.bias)

    @staticmethod
    def probabilities(margins: NDArray[np.float64]) -> NDArray[np.float64]:
        """Each class's logistic probability, scaled to rows that sum to one; [n, c]."""
        from scipy.special import log_expit

        # In logarithms: where every class is far off, plain numbers would all be zero.
        logs = log_expit(margins)
        powers = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))
