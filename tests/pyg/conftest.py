"""What the tests of the PyG layer share: whether the kernels were called."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from torch import Tensor

from agnn.graph import Graph
from agnn.pyg import _conv as conv


@pytest.fixture
def kernel_calls(monkeypatch: pytest.MonkeyPatch) -> list[Graph]:
    """The graphs of all calls to the kernels from here on."""
    calls: list[Graph] = []
    real: Callable[..., Tensor] = conv.cosine_attention

    def recorded(graph: Graph, *rest: Tensor) -> Tensor:
        calls.append(graph)
        return real(graph, *rest)

    monkeypatch.setattr(conv, "cosine_attention", recorded)
    return calls
