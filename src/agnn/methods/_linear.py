"""Linear classifiers that several methods share, and the scale of their input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData, Split

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from agnn.data import SparseRows

_FEW_COLUMNS = 0.25  # share of stored entries from which features are a table of numbers


@dataclass(frozen=True, eq=False)
class OneVsRest:
    """One logistic regression per class; a class without a label has the margin -inf."""

    weight: NDArray[np.float64]  # [d, c]
    bias: NDArray[np.float64]  # [c]

    @classmethod
    def fit(
        cls, x: Any, labels: NDArray[np.int64], classes: int, penalty_inverse: float
    ) -> OneVsRest:
        """Fit each class against the others on rows `x` [l, d]; `penalty_inverse` is C."""
        from sklearn.linear_model import LogisticRegression

        weight = np.zeros((x.shape[1], classes))
        bias = np.full(classes, -np.inf)
        present = np.unique(labels)
        if present.size == 1:  # nothing to distinguish
            bias[present] = 0.0
            return cls(weight, bias)
        for label in present:
            model = LogisticRegression(C=penalty_inverse, solver="liblinear", max_iter=1000)
            model.fit(x, labels == label)
            weight[:, label] = model.coef_[0]
            bias[label] = model.intercept_[0]
        return cls(weight, bias)

    def margins(self, x: Any) -> NDArray[np.float64]:
        """Return X W + b; [n, c]."""
        return np.asarray(x @ self.weight + self.bias)

    @staticmethod
    def probabilities(margins: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return each class's logistic probability, scaled so that rows sum to one; [n, c]."""
        from scipy.special import log_expit, softmax

        # In logarithms: where every class is unlikely, the probabilities would all be zero.
        return np.asarray(softmax(log_expit(margins), axis=1))


def one_against_rest(
    vectors: NDArray[np.float32], data: NodeData, split: Split, penalty_inverse: float
) -> NDArray[np.float32]:
    """Return class probabilities [n, c] from one classifier per class on the training nodes.

    A class without a training label has probability 0; the only class has probability 1.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    labels = data.labels[split.train]
    known = np.unique(labels)
    scores = np.zeros((data.nodes, data.classes), np.float32)
    if known.size == 1:
        scores[:, known] = 1.0
        return scores
    single = LogisticRegression(solver="liblinear", C=penalty_inverse, random_state=0)
    fitted = OneVsRestClassifier(single).fit(vectors[split.train], labels)
    scores[:, known] = fitted.predict_proba(vectors)
    return scores


def unit_rows(features: SparseRows) -> SparseRows:
    """Return X with every row divided by its Euclidean length; a zero row stays zero."""
    squares = np.asarray(features.multiply(features).sum(axis=1), dtype=np.float64)
    scale = np.power(squares, -0.5, out=np.zeros_like(squares), where=squares > 0)
    matrix = features.copy()
    matrix.data = (features.data * np.repeat(scale, np.diff(features.indptr))).astype(np.float32)
    return matrix


def has_sparse_rows(data: NodeData) -> bool:
    """Return whether the features are like bags of words, and not a table of numbers."""
    return bool(data.features.nnz < _FEW_COLUMNS * data.nodes * data.feature_count)


def scaled_columns_or_rows(data: NodeData) -> csr_array[Any, Any]:
    """Return rows of length 1 for bags of words, else standardised columns; [n, d_x]."""
    from scipy import sparse
    from sklearn.preprocessing import normalize

    X = data.features.astype(np.float64)
    if has_sparse_rows(data):
        return sparse.csr_array(normalize(X))
    dense = X.toarray()
    spread = dense.std(axis=0)
    centred = dense - dense.mean(axis=0)
    return sparse.csr_array(centred / np.where(spread > 0.0, spread, 1.0))
