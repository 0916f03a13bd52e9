"""Attention on a graph with edge weights: every backend equals the dense definition."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from agnn.graph import Graph, ReceptiveField
from agnn.kernels import (
    cosine_attention,
)
from agnn.kernels._cosine_attention import attention_weights
from properties import (
    CPU_BACKENDS,
    FAST_BACKENDS,
    as_matrix,
    assert_close,
    assert_same_bits,
    dense_attention,
    gradients,
)
from zoo import ZOO, Specimen, random_pairs

BETAS = (1.0, -0.7, 3.0)
ONE = torch.ones(1, dtype=torch.float64)


def betas(count: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.tensor(BETAS[:count], dtype=dtype)


def layer(graph: Graph, h: Tensor, beta: Tensor, backend: str) -> tuple[Tensor, ...]:
    """Output, gradient at h, gradient at beta."""
    return gradients(lambda h, b: cosine_attention(graph, h, b, backend=backend), (h, beta))


def defined(animal: Specimen, weights: Tensor, h: Tensor, beta: Tensor) -> tuple[Tensor, ...]:
    """The same by the definition, with dense matrices."""
    joined = animal.neighbourhoods()

    def dense(h: Tensor, beta: Tensor) -> Tensor:
        each = zip(h, beta, strict=True)
        return torch.stack([dense_attention(joined, x, b, weights) @ x for x, b in each])

    return gradients(dense, (h, beta))


@pytest.mark.parametrize("width", [7, 16])
@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_every_backend_is_the_dense_formula_in_output_and_gradients(backend, name, width):
    animal = ZOO[name]
    h, beta, weights = animal.states(2, width), betas(2), animal.weights()
    found = layer(animal.weighted_graph(weights), h, beta, backend)
    for one, other in zip(found, defined(animal, weights, h, beta), strict=True):
        assert_close(one, other, 1e-12, floor=1.0)


@pytest.mark.parametrize("beta", [0.0, 30.0, 100.0, -39.0, -60.0])
@pytest.mark.parametrize("name", ["hub", "zero row", "lopsided", "random"])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_an_extreme_beta_is_the_dense_formula(backend, name, beta):
    animal = ZOO[name]
    h, one, weights = animal.states(1, 16), beta * ONE, animal.weights()
    found = layer(animal.weighted_graph(weights), h, one, backend)
    for mine, other in zip(found, defined(animal, weights, h, one), strict=True):
        assert_close(mine, other, 1e-9, floor=1.0)


@pytest.mark.parametrize("name", ["hub", "zero row", "random"])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_float32_is_within_1e_5_of_float64(backend, name):
    animal, weights = ZOO[name], ZOO[name].weights().float().double()
    h, beta = animal.states(3, 16, torch.float32), betas(3, torch.float32)
    found = layer(animal.weighted_graph(weights.float()), h, beta, backend)
    exact = defined(animal, weights, h.double(), beta.double())
    floor = max(1.0, animal.graph().longest_row ** 0.5)
    for one, other in zip(found, exact, strict=True):
        assert one.dtype == torch.float32
        assert_close(one, other, 1e-5, floor=floor)


@pytest.mark.parametrize("size", [1e-15, 1e15])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_the_smallest_and_largest_weights_keep_float32_finite(backend, size):
    animal = ZOO["random"]
    weights = animal.weights() / animal.weights().max() if size < 1 else animal.weights()
    weights = (weights * size).clamp(1e-15, 1e15).float()
    h = animal.states(2, 16, torch.float32)
    beta = torch.tensor([5.0, -39.0])
    found = layer(animal.weighted_graph(weights), h, beta, backend)
    exact = defined(animal, weights.double(), h.double(), beta.double())
    for one, other in zip(found, exact, strict=True):
        assert_close(one, other, 1e-4, floor=4.0)


@pytest.mark.parametrize("name", ["path", "isolated nodes", "lopsided"])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_gradcheck(backend, name):
    animal = ZOO[name]
    graph = animal.weighted_graph(animal.weights())
    h, beta = animal.states(2, 3).requires_grad_(), betas(2).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda h, b: cosine_attention(graph, h, b, backend=backend), (h, beta), atol=1e-7
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_weight_1_everywhere_is_no_weights_bit_for_bit(backend, name, dtype):
    animal = ZOO[name]
    ones = animal.weighted_graph(torch.ones(animal.nodes, animal.nodes))
    assert ones.weights is not None
    h, beta = animal.states(3, 16, dtype), betas(3, dtype)
    found = layer(ones, h, beta, backend)
    for one, other in zip(found, layer(animal.graph(), h, beta, backend), strict=True):
        assert_same_bits(one, other)


@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_beta_zero_is_the_weighted_mean_of_neighbours_and_self(backend, name):
    animal = ZOO[name]
    h, weights = animal.states(1, 16), animal.weights()
    shares = weights.clone().fill_diagonal_(1.0) * animal.neighbourhoods()
    out = cosine_attention(animal.weighted_graph(weights), h, 0 * ONE, backend=backend)
    assert_close(out[0], shares @ h[0] / shares.sum(dim=1, keepdim=True), 1e-12)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_a_weight_that_tends_to_0_gives_the_graph_without_that_edge(backend):
    pairs = tuple(dict.fromkeys(tuple(sorted(pair)) for pair in random_pairs(30, 40, seed=3)))
    (i, j), rest = pairs[7], pairs[:7] + pairs[8:]
    assert (i, j) not in rest
    whole, smaller = Specimen(30, pairs), Specimen(30, rest)
    h, weights = whole.states(1, 16), whole.weights()
    without = layer(smaller.weighted_graph(weights), h, 2 * ONE, backend)
    gaps = []
    for weight in (1e-3, 1e-6, 1e-12):
        weights[i, j] = weights[j, i] = weight
        found = layer(whole.weighted_graph(weights), h, 2 * ONE, backend)
        pairs_of_results = zip(found, without, strict=True)
        gaps.append(max(float((one - other).abs().max()) for one, other in pairs_of_results))
        assert gaps[-1] < 1e3 * weight
    assert gaps[0] > 1e-5  # the edge did count


@pytest.mark.parametrize("name", ["lopsided", "random", "hub", "zero row"])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_relabelling_nodes_relabels_outputs(backend, name):
    animal, weights = ZOO[name], ZOO[name].weights()
    new = torch.randperm(animal.nodes, generator=torch.Generator().manual_seed(3))
    pairs = tuple((int(new[i]), int(new[j])) for i, j in animal.pairs)
    moved_weights = torch.empty_like(weights)
    moved_weights[new[:, None], new] = weights
    h = animal.states(1, 16)
    moved = torch.empty_like(h)
    moved[:, new] = h
    graph = Specimen(animal.nodes, pairs).weighted_graph(moved_weights)
    out = cosine_attention(graph, moved, 3 * ONE, backend=backend)
    plain = cosine_attention(animal.weighted_graph(weights), h, 3 * ONE, backend=backend)
    assert_close(out[:, new], plain, 1e-12)


@pytest.mark.parametrize("name", ["zero row", "random"])
def test_attention_weights_are_the_dense_softmax(name):
    animal, weights = ZOO[name], ZOO[name].weights()
    graph, h = animal.weighted_graph(weights), animal.states(2, 7)
    found = as_matrix(graph, attention_weights(graph, h, betas(2)))
    for r in range(2):
        expected = dense_attention(animal.neighbourhoods(), h[r], betas(2)[r], weights)
        assert_close(found[r], expected, 1e-13)


ANIMAL = Specimen(300, random_pairs(300, 200, seed=2), zero_rows=(10, 11, 12))
GRAPH = ANIMAL.weighted_graph(ANIMAL.weights())
FIELD = ReceptiveField.around(GRAPH, torch.tensor([0, 7, 11, 150, 299]), 3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("near", "far"), [(0, 1), (1, 2), (1, 3)])
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_the_first_rows_of_a_pruned_graph_have_the_bits_of_the_whole(backend, near, far, dtype):
    rows, nodes = FIELD.sizes[near], FIELD.nodes[: FIELD.sizes[far]]
    h, beta = ANIMAL.states(2, 16, dtype)[:, nodes], betas(2, dtype)

    def pruned(h: Tensor, beta: Tensor) -> Tensor:
        return cosine_attention(FIELD.graph, h, beta, rows=rows, backend=backend)

    def whole(h: Tensor, beta: Tensor) -> Tensor:
        everywhere = h.new_zeros(2, GRAPH.nodes, 16).index_copy(1, nodes, h)
        return cosine_attention(GRAPH, everywhere, beta, backend=backend)[:, FIELD.nodes[:rows]]

    found, expected = gradients(pruned, (h, beta)), gradients(whole, (h, beta))
    for one, other in zip(found, expected, strict=True):
        assert_same_bits(one, other)
