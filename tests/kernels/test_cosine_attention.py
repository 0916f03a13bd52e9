"""The attention layer: the reference equals the dense formula, every backend the reference."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels import (
    cosine_attention,
)
from agnn.kernels._cosine_attention import attention_weights
from properties import (
    CPU_BACKENDS,
    FAST_BACKENDS,
    WIDTHS,
    as_matrix,
    assert_close,
    dense_attention,
    gradients,
)
from zoo import ZOO, zoo_graph

BETAS = (1.0, -0.7, 3.0)
EXTREMES = (0.0, 30.0, 60.0, 100.0, -5.0, -39.0, -60.0)


def betas(count: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.tensor(BETAS[:count], dtype=dtype)


def layer(graph: Graph, h: Tensor, beta: Tensor, backend: str) -> tuple[Tensor, ...]:
    """Output, gradient at h, gradient at beta."""
    return gradients(lambda h, b: cosine_attention(graph, h, b, backend=backend), (h, beta))


def term_size(graph: Graph) -> float:
    """What k terms of size 1 and either sign add up to, k the largest degree: about its root.

    The gradients are sums that may cancel; float32 rounds relative to their terms.
    """
    return max(1.0, graph.longest_row**0.5)


def test_memory_is_born_nan_in_this_room():
    assert torch.empty(3).isnan().all()


@pytest.mark.parametrize("name", ZOO)
def test_the_reference_is_the_dense_formula_in_output_and_gradients(name):
    animal = ZOO[name]
    h, beta = animal.states(2, 7), betas(2)

    def dense(h: Tensor, beta: Tensor) -> Tensor:
        return torch.stack(
            [
                dense_attention(animal.neighbourhoods(), *each) @ each[0]
                for each in zip(h, beta, strict=True)
            ]
        )

    found, expected = layer(zoo_graph(name), h, beta, "reference"), gradients(dense, (h, beta))
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, 1e-12)


@pytest.mark.parametrize("name", ZOO)
def test_attention_weights_are_the_dense_softmax(name):
    animal = ZOO[name]
    h, beta = animal.states(2, 7), betas(2)
    found = as_matrix(zoo_graph(name), attention_weights(zoo_graph(name), h, beta))
    for r in range(2):
        assert_close(found[r], dense_attention(animal.neighbourhoods(), h[r], beta[r]), 1e-13)


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_every_backend_equals_the_reference_in_float64(backend, name, width, replicas):
    h, beta = ZOO[name].states(replicas, width), betas(replicas)
    found = layer(zoo_graph(name), h, beta, backend)
    for one, other in zip(found, layer(zoo_graph(name), h, beta, "reference"), strict=True):
        assert_close(one, other, 1e-9, floor=1.0)


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_float32_is_within_1e_5_of_float64(backend, name, width, replicas):
    h, beta = ZOO[name].states(replicas, width, torch.float32), betas(replicas, torch.float32)
    found = layer(zoo_graph(name), h, beta, backend)
    exact = layer(zoo_graph(name), h.double(), beta.double(), "reference")
    for one, other in zip(found, exact, strict=True):
        assert one.dtype == torch.float32
        assert_close(one, other, 1e-5, floor=term_size(zoo_graph(name)))


@pytest.mark.parametrize("beta", EXTREMES)
@pytest.mark.parametrize("name", ["hub", "path", "zero row", "lopsided", "complete", "random"])
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_an_extreme_beta_equals_the_reference(backend, name, beta):
    h, graph = ZOO[name].states(1, 16), zoo_graph(name)
    exact = layer(graph, h, torch.tensor([beta], dtype=torch.float64), "reference")
    found = layer(graph, h, torch.tensor([beta], dtype=torch.float64), backend)
    for one, other in zip(found, exact, strict=True):
        assert_close(one, other, 1e-9, floor=1.0)


@pytest.mark.parametrize("beta", EXTREMES)
@pytest.mark.parametrize("name", ["hub", "path", "zero row", "lopsided", "complete", "random"])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_an_extreme_beta_keeps_float32_accurate(backend, name, beta):
    h, graph = ZOO[name].states(1, 16, torch.float32), zoo_graph(name)
    exact = layer(graph, h.double(), torch.tensor([beta], dtype=torch.float64), "reference")
    found = layer(graph, h, torch.tensor([beta], dtype=torch.float32), backend)
    for one, other in zip(found, exact, strict=True):
        # A cosine is good to a few parts in 1e7, and beta multiplies that before the exponential.
        assert_close(one, other, 1e-5 * max(1.0, abs(beta) / 10), floor=term_size(graph))


@pytest.mark.parametrize("beta", [100.0, -60.0])
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_replicas_with_extreme_and_ordinary_beta_go_together(backend, beta):
    h, graph = ZOO["random"].states(2, 16), zoo_graph("random")
    both = torch.tensor([1.0, beta], dtype=torch.float64)
    for one, other in zip(
        layer(graph, h, both, backend), layer(graph, h, both, "reference"), strict=True
    ):
        assert_close(one, other, 1e-9, floor=1.0)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
@pytest.mark.parametrize("width", [7, 16])
def test_strided_input_and_gradient_give_what_contiguous_ones_give(backend, width):
    h, graph = ZOO["random"].states(2, width), zoo_graph("random")
    strided = h.transpose(1, 2).contiguous().transpose(1, 2)
    beta = torch.stack([betas(2), betas(2)], dim=1)[:, 0]
    assert not strided.is_contiguous()
    assert not beta.is_contiguous()

    def turned(h: Tensor, beta: Tensor) -> Tensor:  # its gradient arrives strided
        return cosine_attention(graph, h, beta, backend=backend).transpose(1, 2)

    found = gradients(turned, (strided, beta))
    expected = gradients(turned, (h, betas(2)))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


@pytest.mark.parametrize("name", ["one node", "path", "isolated nodes", "lopsided"])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_gradcheck(backend, name):
    h, beta = ZOO[name].states(2, 3).requires_grad_(), betas(2).requires_grad_()
    graph = zoo_graph(name)
    assert torch.autograd.gradcheck(
        lambda h, b: cosine_attention(graph, h, b, backend=backend), (h, beta), atol=1e-7
    )


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_a_second_backward_pass_gives_the_same_and_another_gradient_its_own(backend):
    h, graph = ZOO["random"].states(1, 16).requires_grad_(), zoo_graph("random")
    beta = betas(1).requires_grad_()
    out = cosine_attention(graph, h, beta, rows=200, backend=backend)
    g = torch.randn_like(out)
    first = torch.autograd.grad(out, (h, beta), g, retain_graph=True)
    other = torch.autograd.grad(out, (h, beta), -2 * g, retain_graph=True)
    again = torch.autograd.grad(out, (h, beta), g)
    for one, two, three in zip(first, other, again, strict=True):
        assert torch.equal(one, three)
        assert_close(two, -2 * one, 1e-12)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_zero_rows_average_evenly_and_pass_finite_gradients(backend, dtype):
    animal, graph = ZOO["zero row"], zoo_graph("zero row")
    h = animal.states(1, 16, dtype)
    out, dh, dbeta = layer(graph, h, torch.tensor([30.0], dtype=dtype), backend)
    evenly = h[0, animal.neighbourhoods()[1]].mean(0)
    assert_close(out[0, 1], evenly, 1e-6)
    assert dh.abs().max() < 1e3
    assert torch.isfinite(dbeta).all()


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_very_small_and_very_large_states_keep_their_direction(backend):
    h, graph = ZOO["random"].states(1, 16), zoo_graph("random")
    plain = cosine_attention(graph, h, betas(1), backend=backend)
    for size in (1e-9, 1e9):
        scaled = cosine_attention(graph, size * h, betas(1), backend=backend)
        assert_close(scaled / size, plain, 1e-12)
