"""The Laplacian SVM against its kernel form and against the plain SVM."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from agnn.errors import InputError
from agnn.methods._manifold_regularisation import ManifoldRegularisation


def parts(toy):
    x = toy.features.toarray().astype(float)
    a = np.zeros((toy.nodes, toy.nodes))
    a[toy.edges[0], toy.edges[1]] = a[toy.edges[1], toy.edges[0]] = 1.0
    return x, np.diag(a.sum(1)) - a, toy.split("fixed").train


def test_the_kernel_is_the_one_deformed_by_the_laplacian(toy):
    """K~ = K - K (I + r L K)^-1 r L K with K = X X' / ambient, r = intrinsic: n by n, dense."""
    x, laplacian, train = parts(toy)
    k, r = x @ x.T / 0.3, 0.2
    inner = np.linalg.solve(np.eye(toy.nodes) + r * laplacian @ k, r * laplacian @ k)
    expected = k - k @ inner
    method = ManifoldRegularisation(ambient=0.3, intrinsic=0.2)
    assert method.kernel(toy, toy.split("fixed")) == pytest.approx(expected[:, train], abs=1e-8)


def test_without_the_graph_term_it_is_a_linear_svm(toy):
    x, _, train = parts(toy)
    method = ManifoldRegularisation(ambient=0.5, intrinsic=0.0)
    found = np.log(method.scores(toy, toy.split("fixed")))
    labels = toy.labels[train]
    # hinge + 0.5 |w|^2 is hinge + |w|^2 / (2 C) at C = 1
    machines = [SVC(kernel="linear", C=1.0).fit(x[train], labels == k) for k in range(3)]
    margins = np.stack([m.decision_function(x) for m in machines], 1)
    assert found[:, 1] - found[:, 0] == pytest.approx(margins[:, 1] - margins[:, 0], abs=5e-3)
    assert found[:, 2] - found[:, 0] == pytest.approx(margins[:, 2] - margins[:, 0], abs=5e-3)


def test_a_strong_graph_term_makes_neighbours_alike(toy):
    split, (i, j) = toy.split("fixed"), toy.edges
    weak, strong = (
        np.log(ManifoldRegularisation(intrinsic=weight).scores(toy, split))
        for weight in (0.0, 100.0)
    )
    assert np.abs(strong[i] - strong[j]).mean() < 0.2 * np.abs(weak[i] - weak[j]).mean()


@pytest.mark.parametrize("fields", [{"ambient": 0.0}, {"intrinsic": -1.0}])
def test_a_weight_without_a_minimum_is_refused(fields):
    with pytest.raises(InputError, match=r"must be (above|at least) 0; got"):
        ManifoldRegularisation(**fields)
