"""Manifold regularisation: a support vector machine that is smooth along the graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData, Split
from agnn.graph import SparseMatrix, adjacency
from agnn.methods._split_method import SplitMethod
from agnn.networks import Positive, register


@register
@dataclass(frozen=True)
class ManifoldRegularisation(SplitMethod):
    """The Laplacian SVM with a linear kernel, one per class against the others.

    It minimises  sum over L of hinge(y_i f_i) + `ambient` |w|^2 + `intrinsic` f' (D - A) f  with
    f = X w + b. With M = `ambient` I + `intrinsic` X' (D - A) X this is an ordinary SVM with
    C = 1/2 and the kernel X M^-1 X', so the solver needs only the labelled rows. M is dense and
    d_x by d_x; no matrix is n by n. The scores are the softmax of the margins.
    """

    name: ClassVar[str] = "manifold_regularisation"
    title: ClassVar[str] = "ManiReg"
    cites: ClassVar[str] = "Belkin, Niyogi and Sindhwani 2006"
    uses_edge_weights: ClassVar[bool] = True
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "ambient": (0.005, 0.05, 0.5, 5.0),
        "intrinsic": (0.0045, 0.045, 0.45),
    }

    ambient: Positive = 0.005  # gamma_A l in the source
    intrinsic: Annotated[float, "at least 0"] = 0.045  # gamma_I l / (u + l)^2 in the source

    def scores(self, data: NodeData, split: Split) -> NDArray[np.float64]:
        """Return class probabilities [n, c]."""
        from scipy.special import softmax
        from sklearn.svm import SVC

        data.check_features(self.name)
        labels = data.labels[split.train]
        margins = np.full((data.nodes, data.classes), -np.inf)
        present = np.unique(labels)
        if present.size == 1:  # a single class
            margins[:, present] = 0.0
            return np.asarray(softmax(margins, axis=1))
        kernel = self.kernel(data, split)
        for label in present:
            machine = SVC(kernel="precomputed", C=0.5)
            machine.fit(kernel[split.train], labels == label)
            margins[:, label] = machine.decision_function(kernel)
        return np.asarray(softmax(margins, axis=1))

    def kernel(self, data: NodeData, split: Split) -> NDArray[np.float64]:
        """Return X M^-1 X_L' [n, l], the kernel between all nodes and L."""
        from scipy import linalg, sparse

        x = data.features.astype(np.float64)
        graph = adjacency(data.edges, data.nodes, data.edge_weights)
        degrees: NDArray[np.float64] = np.asarray(graph.sum(axis=1))
        laplacian: SparseMatrix = sparse.diags_array(degrees).tocsr() - graph
        m = self.intrinsic * (x.T @ (laplacian @ x)).toarray()
        m[np.diag_indices_from(m)] += self.ambient
        solved = linalg.solve(m, x[split.train].T.toarray(), assume_a="pos", overwrite_a=True)
        return np.asarray(x @ solved)
