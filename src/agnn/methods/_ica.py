"""Iterative classification: a classifier on features and the neighbours' current labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from agnn.data import NodeData, Split
from agnn.graph import SparseMatrix, adjacency, normalise_rows
from agnn.methods._split_method import one_hot
from agnn.networks import Method, Outcome, Positive, Task, register


@register
@dataclass(frozen=True)
class ICA(Method):
    """Logistic regression on [X, a], where a_i counts the classes of node i's neighbours.

    A local model on X, fitted on the training nodes L, predicts the labels of all other nodes.
    These labels and the true ones of L give the a_i on which the relational model is fitted. Then
    the nodes outside L are visited `sweeps` times in one random order. Each takes the label that
    the relational model predicts, which the nodes after it already see.
    """

    name: ClassVar[str] = "ica"
    title: ClassVar[str] = "ICA"
    cites: ClassVar[str] = "Lu and Getoor 2003"
    uses_edge_weights: ClassVar[bool] = True
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "penalty_inverse": (0.1, 1.0, 10.0),
        "aggregate": ("count", "share"),
    }

    penalty_inverse: Positive = 1.0  # C, at its default
    aggregate: Literal["count", "share"] = "count"  # the program's default
    sweeps: Annotated[int, "at least 0"] = 10  # the program's default

    def run(self, task: Task) -> Outcome:
        """Return the scores; replicas of the same split differ in the order of the visits."""
        data = task.data
        data.check_features(self.name)
        fitted: dict[int, _Fitted] = {}
        scores = []
        for split, seed in zip(task.splits, task.seeds, strict=True):
            if id(split) not in fitted:
                fitted[id(split)] = self._fit(data, split)
            scores.append(torch.from_numpy(self._answers(fitted[id(split)], split, seed)).float())
        return Outcome(torch.stack(scores).to(task.device))

    def _fit(self, data: NodeData, split: Split) -> _Fitted:
        """Fit both models and compute the part of the margins that does not change."""
        from scipy import sparse

        x = data.features
        train = split.train
        classes = data.classes
        graph = adjacency(data.edges, data.nodes, data.edge_weights)
        weights = graph if self.aggregate == "count" else normalise_rows(graph)
        local = OneVsRest.fit(x[train], data.labels[train], classes, self.penalty_inverse)
        labels = local.margins(x).argmax(axis=1)
        labels[train] = data.labels[train]
        a = np.asarray(weights @ one_hot(labels, classes))
        columns = sparse.hstack([x[train].astype(np.float64), sparse.csr_array(a[train])], "csr")
        relational = OneVsRest.fit(columns, data.labels[train], classes, self.penalty_inverse)
        fixed = relational.weight[: data.feature_count]
        slopes = relational.weight[-classes:]
        return _Fitted(weights, labels, x @ fixed + relational.bias, slopes)

    def _answers(self, fitted: _Fitted, split: Split, seed: int) -> NDArray[np.float64]:
        """Return class probabilities [n, c] from the labels after the last sweep."""
        unlabelled = np.setdiff1d(np.arange(fitted.labels.size), split.train)
        order = np.random.default_rng(seed).permutation(unlabelled)
        labels = sweep(
            fitted.weights, fitted.labels, fitted.fixed, fitted.slopes, order, self.sweeps
        )
        a = fitted.weights @ one_hot(labels, fitted.slopes.shape[0])
        return OneVsRest.probabilities(fitted.fixed + a @ fitted.slopes)


@dataclass(frozen=True, eq=False)
class _Fitted:
    weights: SparseMatrix  # [n, n]: a = weights @ one-hot labels
    labels: NDArray[np.int64]  # [n], of the local model; true labels on L
    fixed: NDArray[np.float64]  # [n, c], the part of the margins from X
    slopes: NDArray[np.float64]  # [c, c], the weights of a


def sweep(
    weights: SparseMatrix,
    labels: NDArray[np.int64],
    fixed: NDArray[np.float64],
    slopes: NDArray[np.float64],
    order: NDArray[np.int64],
    sweeps: int,
) -> NDArray[np.int64]:
    """Return labels [n] after `sweeps` visits of `order`, each node taking its largest margin.

    Margins are fixed + a slopes. They change only if a neighbour changes its label. So the best
    labels are updated with each change, and a visit is one comparison.
    """
    current = labels.copy()
    margins = fixed + weights @ slopes[current]
    best = margins.argmax(axis=1)
    back = weights.T.tocsr()  # row i: the nodes that count node i, and its weight for them
    for _ in range(sweeps):
        is_still = True
        for i in order:
            if current[i] == best[i]:
                continue
            is_still = False
            near = slice(back.indptr[i], back.indptr[i + 1])
            nodes = back.indices[near]
            margins[nodes] += np.outer(back.data[near], slopes[best[i]] - slopes[current[i]])
            current[i] = best[i]
            best[nodes] = margins[nodes].argmax(axis=1)
        if is_still:
            break
    return current


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
