"""Fast kernels against their definition, on a graph small enough to be checked in an instant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import numpy as np
import torch
from torch import Tensor

from agnn.graph import FeatureMatrix, Graph, symmetric
from agnn.kernels import (
    BACKENDS,
    additive_attention,
    cosine_attention,
    cross_entropy,
    dense_linear,
    obstacle,
    propagate,
    sparse_linear,
    weighted_sum,
)

_NODES, _FEATURES, _WIDTH, _REPLICAS = 40, 24, 16, 2
# float32 sums in another order differ by some 1e-6 here; a wrong kernel differs in the first digit.
_TOLERANCE: Final = 1e-4

Kernel = Callable[[str, str], list[Tensor]]  # (backend, device) -> output and gradients


class Check(NamedTuple):
    """One kernel of one backend, and what is wrong with it."""

    backend: str
    kernel: str
    fault: str | None


def self_checks() -> list[Check]:
    """Each kernel of each backend that should work here, outputs and gradients."""
    fast = [name for name in BACKENDS if name != "reference" and obstacle(name) is None]
    return [
        Check(backend, name, _fault(kernel, backend, BACKENDS[backend].device or "cpu"))
        for backend in fast
        for name, kernel in _KERNELS.items()
        if obstacle(backend, name) is None
    ]


def _fault(kernel: Kernel, backend: str, device: str) -> str | None:
    try:
        found, expected = kernel(backend, device), kernel("reference", device)
    except Exception as error:  # a broken installation may raise anything; it is a finding here
        return f"{type(error).__name__}: {error}"
    for f, e in zip(found, expected, strict=True):
        gap = float((f - e).abs().max())
        if not gap < _TOLERANCE:  # so, because NaN is not above it either
            return f"it differs from the reference by {gap:.2g}"
    return None


def _drawn(seed: int, *shape: int) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape, dtype=np.float32))


def _graph() -> Graph:
    edges = np.random.default_rng(1).integers(0, _NODES - 1, (2, 3 * _NODES))  # the last is alone
    return Graph.from_edges(edges, _NODES)


def _with_gradients(out: Tensor, *inputs: Tensor) -> list[Tensor]:
    upstream = _drawn(2, *out.shape).to(out.device)
    return [out.detach(), *torch.autograd.grad(out, inputs, upstream)]


def _cosine_attention(backend: str, device: str) -> list[Tensor]:
    h = _drawn(3, _REPLICAS, _NODES, _WIDTH).to(device).requires_grad_()
    beta = torch.tensor([0.5, 3.0], device=device, requires_grad=True)
    return _with_gradients(cosine_attention(_graph().to(device), h, beta, backend=backend), h, beta)


def _propagate(backend: str, device: str) -> list[Tensor]:
    h = _drawn(4, _REPLICAS, _NODES, _WIDTH).to(device).requires_grad_()
    return _with_gradients(propagate(symmetric(_graph().to(device)), h, backend=backend), h)


def _sparse_linear(backend: str, device: str) -> list[Tensor]:
    from scipy import sparse

    dense = _drawn(5, _NODES, _FEATURES).numpy()
    x = FeatureMatrix.from_scipy(sparse.csr_matrix(np.where(dense > 0.8, dense, 0.0)))
    weight = _drawn(6, _REPLICAS, _FEATURES, _WIDTH).to(device).requires_grad_()
    bias = _drawn(7, _REPLICAS, _WIDTH).to(device).requires_grad_()
    return _with_gradients(sparse_linear(x.to(device), weight, bias, backend=backend), weight, bias)


def _dense_linear(backend: str, device: str) -> list[Tensor]:
    h = _drawn(8, _REPLICAS, _NODES, _WIDTH).to(device).requires_grad_()
    weight = _drawn(9, _REPLICAS, _WIDTH, 7).to(device).requires_grad_()
    bias = _drawn(10, _REPLICAS, 7).to(device).requires_grad_()
    rows = torch.arange(_NODES, device=device)
    out = dense_linear(h, weight, bias, rows, backend=backend)
    return _with_gradients(out, h, weight, bias)


def _cross_entropy(backend: str, device: str) -> list[Tensor]:
    logits = _drawn(11, _REPLICAS, _NODES, 7).to(device).requires_grad_()
    labels = (torch.arange(_REPLICAS * _NODES) % 7).view(_REPLICAS, _NODES).to(device)
    weights = torch.full((_REPLICAS, _NODES), 1.0 / _NODES, device=device)
    return _with_gradients(cross_entropy(logits, labels, weights, backend=backend), logits)


def _additive_attention(backend: str, device: str) -> list[Tensor]:
    h = _drawn(12, _REPLICAS, _NODES, _WIDTH).to(device).requires_grad_()
    into = _drawn(13, _REPLICAS, 4, 4).to(device).requires_grad_()
    outof = _drawn(14, _REPLICAS, 4, 4).to(device).requires_grad_()
    bias = _drawn(15, _REPLICAS, _WIDTH).to(device).requires_grad_()
    rows, graph = torch.arange(_NODES, device=device), _graph().to(device)
    out = additive_attention(graph, h, into, outof, bias, row_ids=rows, backend=backend)
    return _with_gradients(out, h, into, outof, bias)


def _weighted_sum(backend: str, device: str) -> list[Tensor]:
    graph = _graph().to(device)
    h = _drawn(16, _REPLICAS, _NODES, _WIDTH).to(device).requires_grad_()
    edges = _drawn(17, _REPLICAS, graph.edges, 2).to(device).requires_grad_()
    loops = _drawn(18, _REPLICAS, _NODES, 2).to(device).requires_grad_()
    out = weighted_sum(graph, h, edges, loops, backend=backend)
    return _with_gradients(out, h, edges, loops)


_KERNELS: Final[Mapping[str, Kernel]] = {
    "cosine_attention": _cosine_attention,
    "propagate": _propagate,
    "sparse_linear": _sparse_linear,
    "dense_linear": _dense_linear,
    "cross_entropy": _cross_entropy,
    "additive_attention": _additive_attention,
    "weighted_sum": _weighted_sum,
}
