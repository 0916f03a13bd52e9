"""Every fast kernel against its definition, on inputs small enough to take an instant.

`EXAMPLES` has one entry per operation. `agnn doctor` runs them all; tests use them wherever
something must hold for every operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import numpy as np
import torch
from torch import Tensor

from agnn.graph import DenseFeatures, Graph, Propagation, SparseFeatures, Walks
from agnn.kernels._adam import adam_step
from agnn.kernels._additive_attention import additive_attention
from agnn.kernels._backends import BACKENDS, obstacle
from agnn.kernels._consistency import consistency
from agnn.kernels._cosine_attention import cosine_attention
from agnn.kernels._cross_entropy import cross_entropy
from agnn.kernels._dense_linear import dense_linear
from agnn.kernels._dropout import Dropout, dropout
from agnn.kernels._dropped_propagate import EntryDropout, dropped_propagate
from agnn.kernels._layer_norm import layer_norm
from agnn.kernels._links import feature_linear
from agnn.kernels._neighbour_sample import sample_neighbours
from agnn.kernels._part_rows import FACTS, Matrices, Runs, part_rows
from agnn.kernels._propagate import propagate
from agnn.kernels._random_walk import random_walks
from agnn.kernels._skip_gram import (
    Descent,
    hierarchical_skip_gram,
    negative_skip_gram,
    pair_skip_gram,
)
from agnn.kernels._weighted_sum import weighted_sum

_NODES = 40
_FEATURES = 24
_WIDTH = 16
_REPLICAS = 2
# float32 sums in another order differ by some 1e-6 here; a wrong kernel differs in the first digit.
_TOLERANCE: Final = 1e-4

Example = Callable[[str, str], list[Tensor]]  # (backend, device) -> outputs and gradients


class Check(NamedTuple):
    """The result of checking one operation of one backend."""

    backend: str
    kernel: str
    fault: str | None  # what is wrong; None if nothing is


def self_check() -> list[Check]:
    """Compare every operation of every available backend with its definition.

    Outputs and all gradients are compared. A backend that is not installed is left out.

    >>> from agnn.kernels import self_check
    >>> [check for check in self_check() if check.fault is not None]
    []
    """
    return [
        Check(backend, operation, _fault(example, backend, BACKENDS[backend].device or "cpu"))
        for backend in BACKENDS
        if backend != "reference"
        for operation, example in EXAMPLES.items()
        if obstacle(backend, operation) is None
    ]


def _fault(example: Example, backend: str, device: str) -> str | None:
    try:
        results = example(backend, device)
        expected = example("reference", device)
    except Exception as error:  # a broken installation may raise anything; it is a finding here
        return f"{type(error).__name__}: {error}"
    for f, e in zip(results, expected, strict=True):
        gap = float((f - e).abs().max())
        if not gap < _TOLERANCE:  # in this form because a comparison with NaN is false
            return f"it differs from the reference by {gap:.2g}"
    return None


def _random(device: str, seed: int, *shape: int) -> Tensor:
    values = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    return torch.from_numpy(values).to(device)


def _leaf(device: str, seed: int, *shape: int) -> Tensor:
    return _random(device, seed, *shape).requires_grad_()


def _states(device: str) -> Tensor:
    return _leaf(device, 3, _REPLICAS, _NODES, _WIDTH)


def _graph(device: str) -> Graph:
    edges = np.random.default_rng(1).integers(0, _NODES - 1, (2, 3 * _NODES))  # the last is alone
    return Graph.from_edges(edges, _NODES).to(device)


def _sparse(device: str) -> SparseFeatures:
    from scipy import sparse

    dense = _random("cpu", 5, _NODES, _FEATURES).numpy()
    features = SparseFeatures.from_scipy(sparse.csr_matrix(np.where(dense > 0.8, dense, 0.0)))
    return features.to(device)


def _dropout(device: str) -> Dropout:
    return Dropout(range(_REPLICAS), [0.25] * _REPLICAS, device)


def _with_gradients(out: Tensor, *inputs: Tensor) -> list[Tensor]:
    upstream = _random(str(out.device), 2, *out.shape)
    return [out.detach(), *torch.autograd.grad(out, inputs, upstream)]


def _cosine_attention(backend: str, device: str) -> list[Tensor]:
    h = _states(device)
    beta = torch.tensor([0.5, 3.0], device=device, requires_grad=True)
    return _with_gradients(cosine_attention(_graph(device), h, beta, backend=backend), h, beta)


def _additive_attention(backend: str, device: str) -> list[Tensor]:
    h = _states(device)
    rows = torch.arange(_NODES, device=device)
    drop = _dropout(device)
    into = _leaf(device, 13, _REPLICAS, 4, 4)
    outof = _leaf(device, 14, _REPLICAS, 4, 4)
    bias = _leaf(device, 15, _REPLICAS, _WIDTH)
    out = additive_attention(
        _graph(device),
        h,
        into,
        outof,
        bias,
        row_ids=rows,
        drop=drop.at(0),
        value_drop=drop.at(1),
        backend=backend,
    )
    return _with_gradients(out, h, into, outof, bias)


def _weighted_sum(backend: str, device: str) -> list[Tensor]:
    graph = _graph(device)
    h = _states(device)
    edges = _leaf(device, 17, _REPLICAS, graph.edges, 2)
    loops = _leaf(device, 18, 2, _NODES, 2)
    return _with_gradients(weighted_sum(graph, h, edges, loops, backend=backend), h, edges, loops)


def _propagate(backend: str, device: str) -> list[Tensor]:
    h = _states(device)
    return _with_gradients(propagate(Propagation.symmetric(_graph(device)), h, backend=backend), h)


def _dropped_propagate(backend: str, device: str) -> list[Tensor]:
    graph = _graph(device)
    h = _leaf(device, 3, _REPLICAS, _NODES, 7)
    stream = _dropout(device)
    labels = (torch.arange(count, device=device) for count in (graph.edges, _NODES))
    drop = EntryDropout(stream.at(0), stream.at(1), *labels)
    out = dropped_propagate(Propagation.symmetric(graph), h, drop, backend=backend)
    return _with_gradients(out, h)


def _sparse_linear(backend: str, device: str) -> list[Tensor]:
    weight = _leaf(device, 6, 2, _FEATURES, _WIDTH)
    bias = _leaf(device, 7, 2, _WIDTH)
    drop = _dropout(device).at(0)
    out = feature_linear(_sparse(device), weight, bias, drop=drop, backend=backend)
    return _with_gradients(out, weight, bias)


def _shared_linear(backend: str, device: str) -> list[Tensor]:
    weight = _leaf(device, 6, 2, _FEATURES, _WIDTH)
    bias = _leaf(device, 7, 2, _WIDTH)
    x = DenseFeatures(_random(device, 5, _NODES, _FEATURES), torch.arange(_NODES, device=device))
    drop = _dropout(device).at(0)
    return _with_gradients(
        feature_linear(x, weight, bias, drop=drop, backend=backend), weight, bias
    )


def _dense_linear(backend: str, device: str) -> list[Tensor]:
    h = _states(device)
    weight = _leaf(device, 9, 2, _WIDTH, 7)
    bias = _leaf(device, 10, 2, 7)
    rows = torch.arange(_NODES, device=device)
    drop = _dropout(device).at(0)
    out = dense_linear(h, weight, bias, rows, drop=drop, backend=backend)
    return _with_gradients(out, h, weight, bias)


def _dropout_alone(backend: str, device: str) -> list[Tensor]:
    h = _states(device)
    rows = torch.arange(_NODES, device=device)
    return _with_gradients(dropout(h, rows, _dropout(device).at(0), backend=backend), h)


def _layer_norm(backend: str, device: str) -> list[Tensor]:
    h = _states(device)
    return _with_gradients(layer_norm(h, backend=backend), h)


def _cross_entropy(backend: str, device: str) -> list[Tensor]:
    logits = _leaf(device, 11, _REPLICAS, _NODES, 7)
    labels = (torch.arange(_REPLICAS * _NODES) % 7).view(_REPLICAS, _NODES).to(device)
    weights = torch.full((_REPLICAS, _NODES), 1.0 / _NODES, device=device)
    return _with_gradients(cross_entropy(logits, labels, weights, backend=backend), logits)


def _consistency(backend: str, device: str) -> list[Tensor]:
    logits = _leaf(device, 12, _REPLICAS, 3, _NODES, 7)
    return _with_gradients(consistency(logits, temperature=0.5, backend=backend), logits)


def _adam(backend: str, device: str) -> list[Tensor]:
    moved = _random(device, 20, _REPLICAS, 5)
    gradient = _random(device, 21, _REPLICAS, 5)
    m = torch.zeros_like(moved)
    v = torch.zeros_like(moved)
    step = torch.ones(1, device=device)
    rates = torch.tensor([0.1, 0.01], device=device)
    decays = torch.full((1, _REPLICAS), 5e-4, device=device)
    adam_step([moved], [gradient], [m], [v], step, rates, decays, backend=backend)
    return [moved, m, v]


def _part_rows(backend: str, device: str) -> list[Tensor]:
    graph = _graph(device)
    rows = part_rows(backend, device)
    h, g = (_random(device, seed, _REPLICAS, _NODES, _WIDTH) for seed in (3, 4))
    beta = torch.tensor([0.5, 3.0], device=device)
    facts = h.new_zeros(_REPLICAS, _NODES, FACTS)
    out = torch.empty_like(h)
    dh = torch.empty_like(h)
    moved = torch.empty_like(h)
    of_beta = h.new_empty(_REPLICAS, _NODES)
    offsets = np.searchsorted(graph.receivers.cpu().numpy(), np.arange(_NODES + 1))
    runs = Runs.of(np.ones(_NODES, dtype=np.bool_), offsets)
    rows.norms(h, facts, 0, _NODES)
    rows.attend(graph, h, beta, facts, runs, out)
    rows.slopes(g, out, facts, _NODES)
    rows.attend_back(graph, h, g, beta, facts, runs, (dh, of_beta))
    rows.propagate(Matrices.of(Propagation.symmetric(graph)), h, runs, moved)
    return [out, dh, of_beta, moved, rows.block_sums(of_beta, np.array([0, 10, _NODES]))]


def _random_walk(backend: str, device: str) -> list[Tensor]:
    walks = random_walks(_graph(device), Walks(2, 6, p=0.5, q=2.0), 0, backend=backend)
    return [torch.from_numpy(walks)]


def _neighbour_sample(backend: str, device: str) -> list[Tensor]:
    samples = sample_neighbours(_graph(device), np.arange(_NODES), 3, 12345, backend=backend)
    return [torch.from_numpy(array) for array in samples]


def _skip_gram(backend: str, device: str) -> list[Tensor]:
    graph = _graph(device)
    descent = Descent(width=_WIDTH)
    walks = random_walks(graph, Walks(2, 6), 0, backend="reference")
    pairs = torch.stack([graph.receivers, graph.senders]).numpy()
    vectors = (
        hierarchical_skip_gram(walks, _NODES, descent, 2, 1, 0, backend=backend),
        negative_skip_gram(walks, _NODES, descent, 2, 1, 3, 0, backend=backend),
        pair_skip_gram(
            pairs,
            np.ones(graph.edges),
            _NODES,
            descent,
            100,
            3,
            0,
            is_symmetric=False,
            backend=backend,
        ),
    )
    return [torch.from_numpy(of_nodes) for of_nodes in vectors]


EXAMPLES: Final[Mapping[str, Example]] = {
    "cosine_attention": _cosine_attention,
    "additive_attention": _additive_attention,
    "weighted_sum": _weighted_sum,
    "propagate": _propagate,
    "dropped_propagate": _dropped_propagate,
    "sparse_linear": _sparse_linear,
    "shared_linear": _shared_linear,
    "dense_linear": _dense_linear,
    "dropout": _dropout_alone,
    "layer_norm": _layer_norm,
    "cross_entropy": _cross_entropy,
    "consistency": _consistency,
    "adam": _adam,
    "part_rows": _part_rows,
    "random_walk": _random_walk,
    "neighbour_sample": _neighbour_sample,
    "skip_gram": _skip_gram,
}
