"""A chain of links is differentiated as one node, and gives what its links give one by one."""

from __future__ import annotations

import pytest
import torch

from agnn.errors import InputError
from agnn.kernels import (
    CosineAttentionLink,
    DenseLinearLink,
    ReLU,
    cosine_attention,
    dense_linear,
    run_chain,
)
from properties import CPU_BACKENDS, assert_same_bits
from zoo import ZOO, zoo_graph


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_a_chain_gives_the_outputs_and_gradients_of_its_links_one_by_one(backend):
    graph, n = zoo_graph("random"), zoo_graph("random").nodes
    source = torch.Generator().manual_seed(0)
    leaves = [
        ZOO["random"].states(2, 16, torch.float32) - 0.3,
        torch.tensor([1.0, 4.0]),
        torch.randn(2, 16, 5, generator=source),
        torch.randn(2, 5, generator=source),
    ]
    g = torch.randn(2, n, 5, generator=source)
    ids = torch.arange(n)

    def chained(h, beta, weight, bias):
        links = [
            ReLU(),
            CosineAttentionLink(graph, beta, None, backend),
            DenseLinearLink(weight, bias, ids, None, backend),
        ]
        return run_chain(links, h)

    def one_by_one(h, beta, weight, bias):
        states = cosine_attention(graph, torch.relu(h), beta, backend=backend)
        return dense_linear(states, weight, bias, ids, backend=backend)

    found = []
    for function in (chained, one_by_one):
        own = [leaf.clone().requires_grad_() for leaf in leaves]
        out = function(*own)
        found.append([out.detach(), *torch.autograd.grad(out, own, g)])
    for one, other in zip(*found, strict=True):
        assert_same_bits(one, other)


def test_a_chain_is_one_node():
    h = torch.ones(1, 3, 4, requires_grad=True)
    out = run_chain([ReLU(), ReLU(), ReLU()], h)
    assert [each for each, _ in out.grad_fn.next_functions if each is not None] == [
        h.expand_as(h).grad_fn.next_functions[0][0]
    ]


def test_asking_for_a_second_derivative_is_refused_in_words():
    h = torch.ones(1, 3, 4, requires_grad=True)
    with pytest.raises(InputError, match="differentiable once"):
        torch.autograd.grad(run_chain([ReLU()], h).sum(), h, create_graph=True)


def test_changing_an_input_in_place_before_the_backward_pass_is_an_error():
    h = torch.ones(1, 3, 4, requires_grad=True) * 1.0
    out = run_chain([ReLU()], h)
    h.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
