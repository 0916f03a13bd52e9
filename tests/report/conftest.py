"""A short run on a toy graph, for pages and figures."""

from __future__ import annotations

import numpy as np
import pytest

from agnn.data import NodeData
from agnn.runs import Run, evaluate, preset_method

NAMES = ("<script>alert(1)</script>", 'a "b" & $\\frac{$', "blue")


@pytest.fixture(scope="session")
def named_toy(toy: NodeData) -> NodeData:
    """The toy graph under class names that try to break out."""
    return NodeData.build(
        name="toy", features=toy.features, labels=toy.labels, edges=toy.edges, class_names=NAMES,
        splits=dict(toy.splits),
    )  # fmt: skip


@pytest.fixture(scope="session")
def short_run(named_toy: NodeData) -> Run:
    method = preset_method("agnn", "fixed", "toy").with_fields(epochs=4, layers=2)
    return evaluate(method, named_toy, "fixed", (0, 1, 2))


@pytest.fixture
def relevance() -> np.ndarray:
    return np.array([[0.05, -0.2, np.nan], [-0.001, 0.1, -0.3], [0.4, -0.25, 0.02]])
