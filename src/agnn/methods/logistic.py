"""Logistic regression on vectors: what reads the labels after an embedding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData, Split


def one_against_rest(
    vectors: NDArray[np.float32], data: NodeData, split: Split, penalty_inverse: float
) -> NDArray[np.float32]:
    """Class probabilities [n, c] from one classifier a class, fitted on the training nodes.

    A class without a training label has probability 0, and is certain where it is the only one.
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
