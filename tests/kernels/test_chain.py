"""A chain of links is differentiated as one node, and gives what its links give one by one."""

from __future__ import annotations

import pytest
import torch

from agnn.errors import InputError
from agnn.graph import Propagation
from agnn.kernels import (
    ELU,
    Anchor,
    Blend,
    CosineAttentionLink,
    DenseLinearLink,
    HeadMean,
    Link,
    PropagateLink,
    ReLU,
    _propagate as propagate_link,
    cosine_attention,
    dense_linear,
    propagate,
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


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_without_gradients_states_are_written_over_with_the_same_bits(backend, monkeypatch):
    """All but those that the caller has, or that a later link reads."""
    monkeypatch.setattr(propagate_link, "_LARGE", 1)
    P, anchor = Propagation.symmetric(zoo_graph("random")), Anchor()
    h = ZOO["random"].states(2, 40, torch.float32) - 0.3
    given = h.clone()

    def links():
        layer = PropagateLink(P, None, backend)
        return [ReLU(), layer, ReLU(), anchor, ReLU(), layer, ELU(), Blend(anchor, 0.25), layer]

    expected = run_chain(links(), given.clone().requires_grad_()).detach()
    with torch.no_grad():
        assert_same_bits(run_chain(links(), h), expected)
    assert_same_bits(h, given)


def test_a_large_state_is_propagated_in_its_place(monkeypatch):
    P, h = Propagation.symmetric(zoo_graph("random")), ZOO["random"].states(2, 40, torch.float32)
    expected = propagate(P, h)
    assert PropagateLink(P, None, "auto").overwrite(h) is not h
    monkeypatch.setattr(propagate_link, "_LARGE", 1)
    assert PropagateLink(P, 3, "auto").overwrite(h) is not h  # of some rows only
    assert PropagateLink(P, None, "auto").overwrite(h) is h
    assert_same_bits(h, expected)


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


class Doubled(Link):
    """Twice the input: a link between an anchor and what comes back to it."""

    def forward(self, x):
        return 2 * x

    def backward(self, gradient):
        return 2 * gradient, ()


def test_a_blend_reads_its_anchor_and_leaves_it_its_share_of_the_gradient():
    x = torch.randn(2, 5, 3, dtype=torch.float64).requires_grad_()
    anchor, weights = Anchor(), torch.randn(2, 5, 3, dtype=torch.float64)
    links = [Doubled(), anchor, Doubled(), Blend(anchor, 0.3), Doubled(), Blend(anchor, 0.8)]
    out = run_chain(links, x)

    def formula(x):
        h = 2 * x
        return 0.8 * 2 * (0.3 * 2 * h + 0.7 * h) + 0.2 * h

    torch.testing.assert_close(out, formula(x))
    (expected,) = torch.autograd.grad(formula(x), x, weights)
    for _ in range(2):  # a second backward pass starts afresh
        (found,) = torch.autograd.grad(out, x, weights, retain_graph=True)
        torch.testing.assert_close(found, expected)


class FirstRows(Link):
    """The first rows of the input, as a pruned layer gives them."""

    def __init__(self, rows):
        self.rows = rows

    def forward(self, x):
        self.n = x.shape[1]
        return x[:, : self.rows]

    def backward(self, gradient):
        return torch.nn.functional.pad(gradient, (0, 0, 0, self.n - self.rows)), ()


def test_a_blend_of_fewer_rows_takes_the_anchors_first():
    x = torch.randn(1, 5, 2, dtype=torch.float64).requires_grad_()
    anchor = Anchor()
    out = run_chain([anchor, FirstRows(3), Blend(anchor, 0.25)], x)
    torch.testing.assert_close(out, x[:, :3])
    (found,) = torch.autograd.grad(out, x, torch.ones_like(out))
    assert found[0, :, 0].tolist() == [1, 1, 1, 0, 0]


@pytest.mark.parametrize("heads", [1, 4])
def test_the_mean_over_heads_and_elu_are_their_formulas(heads):
    x = torch.randn(2, 3, 8, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: run_chain([ELU(), HeadMean(heads)], x), (x,))
    mean = torch.nn.functional.elu(x).view(2, 3, 8 // heads, heads).mean(-1)
    torch.testing.assert_close(run_chain([ELU(), HeadMean(heads)], x), mean)
