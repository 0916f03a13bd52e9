"""What tests of several packages share: a toy dataset, and Cora as the kernels read it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import settings

if find_spec("triton") and not torch.cuda.is_available():
    # Triton asks when it is imported, and again when a program is defined, whether to interpret:
    # without a GPU its own functions must be interpreted, for tests/interpreted.
    os.environ["TRITON_INTERPRET"] = "1"
    import triton  # noqa: F401

    del os.environ["TRITON_INTERPRET"]

from agnn.data import NodeData, Split, load_dataset, uniform_split
from agnn.graph import Graph, SparseFeatures

# How long an example takes says how busy the machine is, not whether the claim holds.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


def pytest_configure(config: pytest.Config) -> None:
    """Make errors of the warnings that a module of the tests causes."""
    modules = {path.stem for path in Path(__file__).parent.rglob("*.py")}
    config.addinivalue_line("filterwarnings", f"error:::({'|'.join(sorted(modules))})$")
    # It is about a result, and the small graphs of the tests have poor ones.
    config.addinivalue_line("filterwarnings", "ignore::agnn.errors.ResultWarning")


@pytest.fixture(scope="session")
def cora() -> NodeData:
    return load_dataset("cora")


@pytest.fixture(scope="session")
def cora_graph(cora: NodeData) -> Graph:
    return Graph.from_edges(cora.edges, cora.nodes)


@pytest.fixture(scope="session")
def cora_features(cora: NodeData) -> SparseFeatures:
    return SparseFeatures.from_scipy(cora.scaled_features("sum"))


def toy_data(seed: int = 0, nodes: int = 120, drawn: int = 3) -> NodeData:
    """Three classes, neighbours mostly alike; 0 to 4 are isolated, 3 to 7 without features."""
    source = np.random.default_rng(seed)
    labels = source.integers(3, size=nodes)
    features = source.random((nodes, 30)) * (source.random((nodes, 30)) < 0.15)
    features[np.arange(nodes), 10 * labels + source.integers(10, size=nodes)] += 1.0
    features[3:8] = 0.0
    i, j = source.integers(5, nodes, size=(2, drawn * nodes))
    alike = (labels[i] == labels[j]) | (source.random(i.size) < 0.2)
    data = {
        "name": "toy", "features": features, "labels": labels, "edges": [i[alike], j[alike]],
        "class_names": ("red", "green", "blue"),
    }  # fmt: skip
    fixed = uniform_split(NodeData.build(**data), seed, (20, 40, 50))
    renamed = Split("fixed", fixed.train, fixed.validation, fixed.test)
    return NodeData.build(**data, splits={"fixed": renamed})


@pytest.fixture(scope="session")
def toy() -> NodeData:
    return toy_data()


@pytest.fixture(scope="session")
def larger_toy() -> NodeData:
    return toy_data(nodes=6_000)


@pytest.fixture(scope="session")
def toys() -> tuple[NodeData, ...]:
    """Four toys with three times the edges: enough for methods that read nothing else."""
    return tuple(toy_data(seed, drawn=9) for seed in range(4))


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """One thread, unless a test sets its own: waiting for a second costs more than small work.

    `make test-portable` sets another number.
    """
    threads = int(os.environ.get("AGNN_TEST_THREADS", "1"))
    torch.set_num_threads(threads)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def tiny() -> NodeData:
    """Seven nodes: 5 has neither features nor label, 3 has no neighbour."""
    features = np.zeros((7, 4))
    features[[0, 1, 2, 3, 4, 6], [0, 1, 2, 3, 0, 1]] = [1, 2, 3, 4, 5, 6]
    features[0, 3] = 3
    return NodeData.build(
        name="tiny",
        features=features,
        labels=[0, 1, 0, 1, 0, -1, 1],
        edges=[[0, 1, 4, 5, 2, 6], [1, 2, 0, 4, 6, 0]],
        class_names=("even", "odd"),
        splits={"fixed": Split("fixed", [0, 1], [2, 3], [4, 6])},
    )
