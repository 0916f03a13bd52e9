"""Additive attention: the reference equals the dense formula, every backend the reference."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own convention)
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import Graph, ReceptiveField
from agnn.kernels import (
    Dropout,
    DropoutAt,
    dropout,
    weighted_sum,
)
from agnn.kernels._additive_attention import additive_attention, additive_attention_weights
from properties import CPU_BACKENDS, FAST_BACKENDS, assert_close, assert_same_bits, gradients
from zoo import ZOO, zoo_graph

SHAPES = ((8, 8), (1, 7), (8, 3), (2, 16), (16, 1), (4, 9))  # heads, width of each


def inputs(name: str, replicas: int, heads: int, width: int, dtype=torch.float64):
    """States of a specimen, the two vectors and a bias."""
    source = torch.Generator().manual_seed(3)
    shapes = [(replicas, width, heads)] * 2 + [(replicas, width * heads)]
    vectors = [torch.randn(s, dtype=torch.float64, generator=source).to(dtype) for s in shapes]
    return (ZOO[name].states(replicas, width * heads, dtype), *vectors)


def drops(replicas: int, rate: float | None) -> DropoutAt | None:
    return None if rate is None else Dropout(range(5, 5 + replicas), [rate] * replicas).at(2)


def layer(graph: Graph, tensors, rate: float | None, backend: str) -> tuple[Tensor, ...]:
    """Output and all gradients."""
    ids, drop = torch.arange(graph.nodes), drops(tensors[0].shape[0], rate)
    values = drops(tensors[0].shape[0], rate and rate / 2)
    return gradients(
        lambda *each: additive_attention(
            graph, *each, row_ids=ids, drop=drop, value_drop=values, backend=backend
        ),
        tensors,
    )


def dense(neighbourhoods: Tensor, h: Tensor, a: Tensor, b: Tensor, bias: Tensor) -> Tensor:
    """One replica by the formula, head by head."""
    d, K = a.shape
    out = torch.empty_like(h).view(-1, d, K)
    for k in range(K):
        own = h.view(-1, d, K)[:, :, k]
        score = F.leaky_relu((own @ a[:, k])[:, None] + own @ b[:, k], 0.2)
        out[:, :, k] = score.masked_fill(~neighbourhoods, -torch.inf).softmax(1) @ own
    return out.flatten(1) + bias


@pytest.mark.parametrize("name", ZOO)
def test_the_reference_is_the_dense_formula_in_output_and_gradients(name):
    tensors = inputs(name, 2, 2, 3)
    near = ZOO[name].neighbourhoods()

    def formula(*each: Tensor) -> Tensor:
        return torch.stack([dense(near, *one) for one in zip(*each, strict=True)])

    found = layer(zoo_graph(name), tensors, None, "reference")
    for one, other in zip(found, gradients(formula, tensors), strict=True):
        assert_close(one, other, 1e-11)


@pytest.mark.parametrize("rate", [None, 0.6])
@pytest.mark.parametrize(("heads", "width"), SHAPES)
@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_every_backend_equals_the_reference(backend, name, heads, width, rate):
    for dtype, tolerance in ((torch.float64, 1e-10), (torch.float32, 2e-5)):
        tensors = inputs(name, 2, heads, width, dtype)
        found = layer(zoo_graph(name), tensors, rate, backend)
        exact = layer(zoo_graph(name), [each.double() for each in tensors], rate, "reference")
        for one, other in zip(found, exact, strict=True):
            assert one.dtype == dtype
            assert_close(one, other, tolerance, floor=max(1, zoo_graph(name).longest_row) ** 0.5)


@pytest.mark.parametrize("size", [30.0, 1000.0])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_large_scores_neither_overflow_nor_lose_the_row(backend, size):
    h, a, b, bias = inputs("random", 1, 2, 8, torch.float32)
    found = layer(zoo_graph("random"), (h, size * a, size * b, bias), None, backend)
    tensors = [each.double() for each in (h, size * a, size * b, bias)]
    exact = layer(zoo_graph("random"), tensors, None, "reference")
    assert_close(found[0], exact[0], 1e-6 * size)
    assert all(torch.isfinite(each).all() for each in found)


@pytest.mark.parametrize("rate", [None, 0.5])
@pytest.mark.parametrize("name", ["one node", "lopsided", "isolated nodes"])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_gradcheck(backend, name, rate):
    tensors = tuple(each.requires_grad_() for each in inputs(name, 2, 2, 2))
    ids, graph = torch.arange(zoo_graph(name).nodes), zoo_graph(name)
    assert torch.autograd.gradcheck(
        lambda *each: additive_attention(
            graph,
            *each,
            row_ids=ids,
            drop=drops(2, rate),
            value_drop=drops(2, rate),
            backend=backend,
        ),
        tensors,
    )


def test_attention_sums_to_one_over_each_neighbourhood_and_makes_the_output():
    graph, (h, a, b, _) = zoo_graph("random"), inputs("random", 2, 4, 5)
    edges, loops = additive_attention_weights(graph, h, a, b)
    assert_close(loops.index_add(1, graph.receivers, edges), torch.ones_like(loops), 1e-13)
    P = torch.zeros(2, 4, 200, 200, dtype=h.dtype)
    P[:, :, graph.receivers, graph.senders] = edges.mT
    P[:, :, torch.arange(200), torch.arange(200)] = loops.mT
    out = additive_attention(
        graph, h, a, b, torch.zeros(2, 20, dtype=h.dtype), row_ids=torch.arange(200)
    )
    expected = torch.einsum("rkij,rjdk->ridk", P, h.unflatten(2, (5, 4)))
    assert_close(out.unflatten(2, (5, 4)), expected, 1e-12)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_dropout_drops_single_heads_of_edges_and_keeps_the_mean(backend):
    """Of many draws of the output of a complete graph, the mean is the output without dropout."""
    graph, replicas = zoo_graph("complete"), 400
    tensors = [each.expand(replicas, *each.shape[1:]) for each in inputs("complete", 1, 2, 3)]
    ids, drop = torch.arange(20), Dropout(range(replicas), [0.5] * replicas).at(2)
    h, a, b, _ = tensors
    bias = torch.zeros(replicas, 6, dtype=h.dtype)
    out = additive_attention(graph, h, a, b, bias, row_ids=ids, drop=drop, backend=backend)
    plain = additive_attention(graph, h[:1], a[:1], b[:1], bias[:1], row_ids=ids, backend=backend)
    deviation = out.std(0) / replicas**0.5
    assert ((out.mean(0) - plain[0]).abs() < 5 * deviation).all()
    heads = (out - plain).unflatten(2, (3, 2)).abs().sum((0, 1, 2))
    assert not torch.equal(heads[0], heads[1])


@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_pruned_rows_give_the_whole_graphs_bits(backend, cora_graph):
    targets = torch.tensor([3, 77, 500, 2000])
    field = ReceptiveField.around(cora_graph, targets, 1)
    h, a, b, bias = (
        torch.randn(s, generator=torch.Generator().manual_seed(k))
        for k, s in enumerate(((2, cora_graph.nodes, 24), (2, 3, 8), (2, 3, 8), (2, 24)))
    )
    drop, rows = drops(2, 0.6), field.sizes[0]

    def part(h: Tensor, *rest: Tensor) -> Tensor:
        return additive_attention(
            field.graph, h[:, field.nodes], *rest, row_ids=field.nodes, rows=rows, drop=drop,
            value_drop=drops(2, 0.3), backend=backend,
        )  # fmt: skip

    def whole(h: Tensor, *rest: Tensor) -> Tensor:
        ids = torch.arange(cora_graph.nodes)
        out = additive_attention(
            cora_graph, h, *rest, row_ids=ids, drop=drop, value_drop=drops(2, 0.3), backend=backend
        )
        return out[:, field.targets]

    for one, other in zip(
        gradients(part, (h, a, b, bias)), gradients(whole, (h, a, b, bias)), strict=True
    ):
        assert_same_bits(one, other)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_threads_and_other_replicas_change_no_bit(backend, cora_graph, monkeypatch):
    from agnn.kernels._cpu import threads

    monkeypatch.setattr(threads, "_WORTH_A_REGION", 1)
    monkeypatch.setattr(threads, "_WORTH_A_POOL", 1)
    source = torch.Generator().manual_seed(0)
    shapes = ((3, cora_graph.nodes, 16), (3, 8, 2), (3, 8, 2), (3, 16))
    tensors = [torch.randn(shape, generator=source) for shape in shapes]
    expected = layer(cora_graph, tensors, 0.5, backend)
    torch.set_num_threads(3)
    for one, other in zip(layer(cora_graph, tensors, 0.5, backend), expected, strict=True):
        assert_same_bits(one, other)
    torch.set_num_threads(1)
    alone = layer(cora_graph, [each[:1] for each in tensors], 0.5, backend)
    assert_same_bits(alone[0][0], expected[0][0])


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_dropped_values_are_summed_and_whole_ones_give_the_scores(backend):
    graph, (h, a, b, bias) = zoo_graph("random"), inputs("random", 2, 2, 8)
    ids, drop = torch.arange(200), drops(2, 0.5)
    P = additive_attention_weights(graph, h, a, b)
    found = additive_attention(graph, h, a, b, bias, row_ids=ids, value_drop=drop, backend=backend)
    expected = weighted_sum(graph, dropout(h, ids, drop), *P) + bias[:, None]
    assert_close(found, expected, 1e-12)


MISFITS = [
    ({"heads": 3}, r"`heads` must be one of 1, 2, 4, 8, 16; got 3"),
    ({"width": 5}, r"`receiving` must be torch.float64 of shape \[1, 4, 2\]"),
    ({"bias": 7}, r"`bias` must be torch.float64 of shape \[1, 8\]"),
    ({"ids": 5}, "`row_ids` has 5 labels for the 6 rows"),
]


@pytest.mark.parametrize(("change", "words"), MISFITS)
def test_what_does_not_fit_is_refused(change, words):
    h = ZOO["path"].states(1, 8)
    vector = torch.zeros(1, change.get("width", 4), change.get("heads", 2), dtype=h.dtype)
    bias = torch.zeros(1, change.get("bias", 8), dtype=h.dtype)
    ids = torch.arange(change.get("ids", 6))
    with pytest.raises(InputError, match=words):
        additive_attention(zoo_graph("path"), h, vector, vector, bias, row_ids=ids)
