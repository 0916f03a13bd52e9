"""Weighted sums: the reference equals the dense product, every backend the reference."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import ReceptiveField
from agnn.kernels import weighted_sum
from properties import CPU_BACKENDS, FAST_BACKENDS, assert_close, assert_same_bits, gradients
from zoo import ZOO, zoo_graph

SHAPES = ((1, 7), (2, 16), (4, 5), (8, 8), (16, 1))  # heads, width of each


def inputs(name: str, replicas: int, heads: int, width: int, dtype=torch.float64):
    """States, edge weights and loop weights without any symmetry."""
    graph, source = zoo_graph(name), torch.Generator().manual_seed(4)
    shapes = ((replicas, graph.edges, heads), (replicas, graph.nodes, heads))
    weights = [torch.randn(s, dtype=torch.float64, generator=source).to(dtype) for s in shapes]
    return (ZOO[name].states(replicas, width * heads, dtype), *weights)


def product(name: str, tensors, backend: str) -> tuple[Tensor, ...]:
    """Output and all gradients."""
    return gradients(lambda *each: weighted_sum(zoo_graph(name), *each, backend=backend), tensors)


@pytest.mark.parametrize("name", ZOO)
def test_the_reference_is_a_dense_product_by_head_in_output_and_gradients(name):
    graph, tensors = zoo_graph(name), inputs(name, 2, 2, 3)

    def dense(h: Tensor, edges: Tensor, loops: Tensor) -> Tensor:
        W = h.new_zeros(2, 2, graph.nodes, graph.nodes)
        W = W.index_put((*_all(2, 2, graph.receivers), graph.senders), edges.mT)
        W = W + torch.diag_embed(loops.mT)
        return torch.einsum("rkij,rjdk->ridk", W, h.unflatten(2, (3, 2))).flatten(2)

    for one, other in zip(
        product(name, tensors, "reference"), gradients(dense, tensors), strict=True
    ):
        assert_close(one, other, 1e-12)


def _all(replicas: int, heads: int, i: Tensor) -> tuple[Tensor, ...]:
    return torch.arange(replicas)[:, None, None], torch.arange(heads)[None, :, None], i


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize(("heads", "width"), SHAPES)
@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_every_backend_equals_the_reference(backend, name, heads, width, replicas):
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        tensors = inputs(name, replicas, heads, width, dtype)
        exact = product(name, [each.double() for each in tensors], "reference")
        for one, other in zip(product(name, tensors, backend), exact, strict=True):
            assert one.dtype == dtype
            assert_close(one, other, tolerance, floor=1.0)


@pytest.mark.parametrize("name", ["one node", "lopsided", "isolated nodes"])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_gradcheck(backend, name):
    tensors = tuple(each.requires_grad_() for each in inputs(name, 2, 2, 2))
    graph = zoo_graph(name)
    assert torch.autograd.gradcheck(
        lambda *each: weighted_sum(graph, *each, backend=backend), tensors
    )


@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_pruned_rows_give_the_whole_graphs_bits(backend):
    graph, (h, edges, loops) = zoo_graph("random"), inputs("random", 2, 4, 5, torch.float32)
    field = ReceptiveField.around(graph, torch.tensor([0, 7, 150]), 2)
    rows, read = field.sizes[0], field.sizes[2]
    count = int(field.graph.offsets[rows])

    def part(h: Tensor, edges: Tensor, loops: Tensor) -> Tensor:
        near, own = edges[:, field.edge_ids[:count]], loops[:, field.targets]
        return weighted_sum(field.graph, h[:, field.nodes[:read]], near, own, backend=backend)

    def whole(h: Tensor, edges: Tensor, loops: Tensor) -> Tensor:
        return weighted_sum(graph, h, edges, loops, backend=backend)[:, field.targets]

    found, expected = gradients(part, (h, edges, loops)), gradients(whole, (h, edges, loops))
    for one, other in zip(found, expected, strict=True):
        assert_same_bits(one, other)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_threads_change_no_bit(backend, monkeypatch):
    from agnn.kernels._cpu import threads

    monkeypatch.setattr(threads, "_WORTH_A_REGION", 1)
    monkeypatch.setattr(threads, "_WORTH_A_POOL", 1)
    tensors = inputs("random", 3, 2, 9, torch.float32)
    expected = product("random", tensors, backend)
    torch.set_num_threads(3)
    for one, other in zip(product("random", tensors, backend), expected, strict=True):
        assert_same_bits(one, other)


def test_fixed_weights_cost_no_gradient():
    h, edges, loops = inputs("path", 1, 1, 4)
    out = weighted_sum(zoo_graph("path"), h.requires_grad_(), edges, loops)
    assert len(out.grad_fn.next_functions) == 1  # the states alone


def test_weights_that_do_not_fit_are_refused():
    h, edges, loops = inputs("path", 1, 2, 4)
    with pytest.raises(InputError, match=r"`edges` must be torch.float64 of shape \[1, 10, 2\]"):
        weighted_sum(zoo_graph("path"), h, edges[:, 1:], loops)
    with pytest.raises(InputError, match=r"`heads` must be one of 1, 2, 4, 8, 16; got 3"):
        weighted_sum(zoo_graph("path"), h, edges, loops[..., :1].expand(-1, -1, 3))
