"""The Triton programs of the later methods on a real GPU equal the reference, gradients too."""

from __future__ import annotations

import pytest
import torch
from benchmarks.synthetic import power_law
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels import Dropout, DropoutAt, weighted_sum
from agnn.kernels._additive_attention import additive_attention
from properties import assert_close, assert_same_bits
from zoo import ZOO

GPU = "cuda"
SINGLE, DOUBLE = torch.float32, torch.float64
TOLERANCES = {DOUBLE: 1e-9, SINGLE: 1e-5}
# Graph, heads, width of each, type. Every shape and type is compiled anew: all graphs in one
# shape, all shapes on one graph.
CASES = [
    *((name, 8, 3, dtype) for dtype in TOLERANCES for name in ZOO),
    *(("random", heads, width, SINGLE) for heads, width in ((1, 7), (2, 16), (8, 8), (16, 33))),
]


def drawn(*shape: int, dtype: torch.dtype = DOUBLE, seed: int = 0) -> Tensor:
    source = torch.Generator(GPU).manual_seed(seed)
    return torch.randn(shape, generator=source, device=GPU, dtype=DOUBLE).to(dtype)


def both_ways(function, inputs: list[Tensor], backend: str) -> list[Tensor]:
    """The output and the gradients of a random weighted sum of it at all inputs."""
    leaves = [each.detach().requires_grad_() for each in inputs]
    out = function(*leaves, backend=backend)
    weights = drawn(*out.shape, dtype=out.dtype, seed=5)
    return [out.detach(), *torch.autograd.grad(out, leaves, weights)]


def check(function, inputs: list[Tensor], dtype: torch.dtype, floor: float = 1.0) -> None:
    """In `dtype` the programs give what the reference gives in double precision."""
    found = both_ways(function, [each.to(dtype) for each in inputs], "triton")
    rounded = [each.to(dtype).double() for each in inputs]
    exact = both_ways(function, rounded, "reference")
    for one, other in zip(found, exact, strict=True):
        assert one.dtype == dtype
        assert_close(one, other, TOLERANCES[dtype], floor=floor)


def size(graph: Graph) -> float:
    """Terms of either sign add up to about the root of their number; float32 rounds by that."""
    return max(1.0, 4 * graph.longest_row**0.5)


def drops(replicas: int) -> tuple[DropoutAt, DropoutAt]:
    stream = Dropout(range(replicas), [0.5, 0.0, 0.8][:replicas], GPU)
    stream.epoch += 3
    return stream.at(0), stream.at(1)


def attention_inputs(h: Tensor, heads: int) -> list[Tensor]:
    replicas, _, width = h.shape
    vectors = [drawn(replicas, width // heads, heads, seed=s) for s in (1, 2)]
    return [h, *vectors, drawn(replicas, width, seed=3)]


def layer(graph: Graph, *, rows: int | None = None, is_dropped: bool = False):
    """Additive attention on a graph whose labels are not in order, as a function of tensors."""
    ids = 5 + torch.arange(graph.nodes, device=GPU).flip(0)

    def function(h: Tensor, *vectors: Tensor, backend: str) -> Tensor:
        drop, value_drop = drops(h.shape[0]) if is_dropped else (None, None)
        return additive_attention(
            graph, h, *vectors, row_ids=ids, rows=rows, drop=drop, value_drop=value_drop,
            backend=backend,
        )  # fmt: skip

    return function


@pytest.mark.parametrize(("name", "heads", "width", "dtype"), CASES)
def test_additive_attention_equals_the_reference(name, heads, width, dtype):
    graph = ZOO[name].graph().to(GPU)
    h = ZOO[name].states(2, heads * width).to(GPU)
    check(layer(graph), attention_inputs(h, heads), dtype, size(graph) * width**0.5)


@pytest.mark.parametrize(("heads", "width", "dtype"), [(1, 3, DOUBLE), (8, 8, SINGLE)])
@pytest.mark.parametrize("name", ["hub", "lopsided", "isolated nodes", "random"])
def test_dropped_additive_attention_equals_the_reference(name, heads, width, dtype):
    graph = ZOO[name].graph().to(GPU)
    h = ZOO[name].states(3, heads * width).to(GPU)
    floor = 5 * size(graph) * width**0.5  # what is kept may be scaled up five times
    check(layer(graph, is_dropped=True), attention_inputs(h, heads), dtype, floor)


@pytest.mark.parametrize("rows", [None, 7_000])
def test_additive_attention_over_hubs_and_pruned_rows_equals_the_reference(rows):
    graph = power_law(20_000, 200_000, device=GPU)
    assert graph.long_rows.count > 0
    inputs = attention_inputs(drawn(2, 20_000, 16), 4)
    function = layer(graph, rows=rows, is_dropped=True)
    check(function, inputs, DOUBLE, 1.0)


def test_additive_attention_passes_gradcheck():
    graph = ZOO["lopsided"].graph().to(GPU)
    inputs = attention_inputs(ZOO["lopsided"].states(2, 6).to(GPU), 2)
    leaves = tuple(each.requires_grad_() for each in inputs)
    function = layer(graph, is_dropped=True)
    assert torch.autograd.gradcheck(lambda *each: function(*each, backend="triton"), leaves)


def test_additive_attention_gives_the_same_bits_again_and_alone():
    graph = power_law(50_000, 500_000, device=GPU)
    inputs = [each.float() for each in attention_inputs(drawn(3, 50_000, 64), 8)]
    first, second = (both_ways(layer(graph), inputs, "triton") for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert_same_bits(one, other)
    alone = both_ways(layer(graph), [each[1:2] for each in inputs], "triton")
    assert_same_bits(alone[0][0], first[0][1])


def sums_inputs(graph: Graph, h: Tensor, heads: int, rows: int) -> list[Tensor]:
    """States and weights without any symmetry."""
    replicas = h.shape[0]
    edges = drawn(replicas, graph.edges_of(rows), heads, seed=1)
    return [h, edges, drawn(replicas, rows, heads, seed=2)]


def sums(graph: Graph):
    def function(*tensors: Tensor, backend: str) -> Tensor:
        return weighted_sum(graph, *tensors, backend=backend)

    return function


@pytest.mark.parametrize(("name", "heads", "width", "dtype"), CASES)
def test_a_weighted_sum_equals_the_reference(name, heads, width, dtype):
    graph = ZOO[name].graph().to(GPU)
    h = ZOO[name].states(2, heads * width).to(GPU)
    check(sums(graph), sums_inputs(graph, h, heads, graph.nodes), dtype, size(graph) * width**0.5)


@pytest.mark.parametrize("rows", [20_000, 7_000])
def test_a_weighted_sum_over_hubs_and_pruned_rows_equals_the_reference(rows):
    graph = power_law(20_000, 200_000, device=GPU)
    assert graph.long_rows.count > 0
    inputs = sums_inputs(graph, drawn(2, 20_000, 10), 2, rows)
    check(sums(graph), inputs, DOUBLE)


def test_a_weighted_sum_gives_the_same_bits_again_and_alone():
    graph = power_law(50_000, 500_000, device=GPU)
    inputs = [each.float() for each in sums_inputs(graph, drawn(3, 50_000, 32), 2, 50_000)]
    first, second = (both_ways(sums(graph), inputs, "triton") for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert_same_bits(one, other)
    alone = both_ways(sums(graph), [each[1:2] for each in inputs], "triton")
    assert_same_bits(alone[0][0], first[0][1])
