"""Every Triton program on a real GPU equals the reference, outputs and all gradients."""

from __future__ import annotations

import pytest
import torch
from benchmarks.synthetic import power_law
from torch import Tensor

from agnn.graph import DenseFeatures, Graph, Propagation, SparseFeatures
from agnn.kernels import (
    Dropout,
    adam_step,
    cosine_attention,
    cross_entropy,
    dense_linear,
    dropout,
    feature_linear,
    propagate,
)
from properties import WIDTHS, assert_close, assert_same_bits
from zoo import ZOO

GPU = "cuda"
TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-5}


def with_gradients(out: Tensor, *inputs: Tensor) -> list[Tensor]:
    source = torch.Generator(GPU).manual_seed(5)
    weights = torch.randn(out.shape, generator=source, device=GPU, dtype=torch.float64)
    return [out.detach(), *torch.autograd.grad(out, inputs, weights.to(out.dtype))]


def attention(graph: Graph, h: Tensor, beta: Tensor, backend: str) -> list[Tensor]:
    h, beta = h.detach().requires_grad_(), beta.detach().requires_grad_()
    return with_gradients(cosine_attention(graph, h, beta, backend=backend), h, beta)


def size(graph: Graph) -> float:
    """Terms of either sign add up to about the root of their number; float32 rounds by that."""
    return max(1.0, 4 * graph.longest_row**0.5)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ZOO)
def test_attention_equals_the_reference(name, width, dtype):
    graph = ZOO[name].graph().to(GPU)
    h = ZOO[name].states(3, width, dtype).to(GPU)
    beta = torch.tensor([1.0, -0.7, 3.0], dtype=dtype, device=GPU)
    exact = attention(graph, h.double(), beta.double(), "reference")
    for one, other in zip(attention(graph, h, beta, "triton"), exact, strict=True):
        assert one.dtype == dtype
        assert_close(one, other, TOLERANCES[dtype], floor=size(graph))


@pytest.mark.parametrize("beta", [0.0, 30.0, 100.0, -39.0, -60.0])
@pytest.mark.parametrize("name", ["hub", "zero row", "lopsided", "complete"])
def test_attention_with_an_extreme_beta_equals_the_reference(name, beta):
    graph, h = ZOO[name].graph().to(GPU), ZOO[name].states(1, 16).to(GPU)
    betas = torch.tensor([beta], dtype=torch.float64, device=GPU)
    found, exact = (attention(graph, h, betas, each) for each in ("triton", "reference"))
    for one, other in zip(found, exact, strict=True):
        assert_close(one, other, 1e-9, floor=1.0)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("width", [7, 16])
@pytest.mark.parametrize("name", ZOO)
def test_weighted_attention_equals_the_reference(name, width, dtype):
    weights = ZOO[name].weights().to(dtype)
    graph = ZOO[name].weighted_graph(weights).to(GPU)
    h = ZOO[name].states(3, width, dtype).to(GPU)
    beta = torch.tensor([1.0, -0.7, 3.0], dtype=dtype, device=GPU)
    exact = attention(graph, h.double(), beta.double(), "reference")
    for one, other in zip(attention(graph, h, beta, "triton"), exact, strict=True):
        assert one.dtype == dtype
        assert_close(one, other, TOLERANCES[dtype], floor=size(graph))


@pytest.mark.parametrize("name", ["hub", "zero row", "random"])
def test_weight_1_everywhere_is_no_weights_bit_for_bit(name):
    plain = ZOO[name].graph().to(GPU)
    ones = ZOO[name].weighted_graph(torch.ones(plain.nodes, plain.nodes)).to(GPU)
    h = ZOO[name].states(3, 16, torch.float32).to(GPU)
    beta = torch.tensor([1.0, -0.7, 3.0], device=GPU)
    both = (attention(graph, h, beta, "triton") for graph in (ones, plain))
    for one, other in zip(*both, strict=True):
        assert_same_bits(one, other)


def test_attention_passes_gradcheck():
    graph = ZOO["lopsided"].graph().to(GPU)
    h = ZOO["lopsided"].states(2, 5).to(GPU).requires_grad_()
    beta = torch.tensor([1.3, -0.4], dtype=torch.float64, device=GPU, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda h, b: cosine_attention(graph, h, b, backend="triton"), (h, beta), atol=1e-9
    )


def test_a_hub_of_a_million_neighbours_equals_the_reference():
    n = 1_000_001
    spokes = torch.stack([torch.zeros(n - 1, dtype=torch.int64), torch.arange(1, n)])
    graph = Graph.from_edges(spokes, n).to(GPU)
    assert graph.long_rows.count == 1
    h = torch.randn(1, n, 16, device=GPU, generator=torch.Generator(GPU).manual_seed(0))
    beta = torch.ones(1, device=GPU)
    exact = attention(graph, h.double(), beta.double(), "reference")
    for one, other in zip(attention(graph, h, beta, "triton"), exact, strict=True):
        assert_close(one, other, 1e-5, floor=1.0)


def test_hubs_among_short_rows_equal_the_reference_in_pruned_rows_too():
    graph = power_law(20_000, 200_000, device=GPU)
    assert graph.long_rows.count > 0
    h = torch.randn(2, 20_000, 16, device=GPU, dtype=torch.float64).requires_grad_()
    beta = torch.tensor([2.0, -1.0], device=GPU, dtype=torch.float64, requires_grad=True)
    both = [
        with_gradients(cosine_attention(graph, h, beta, rows=7_000, backend=each), h, beta)
        for each in ("triton", "reference")
    ]
    for one, other in zip(*both, strict=True):
        assert_close(one, other, 1e-9, floor=1.0)


def test_states_of_half_precision_are_summed_in_single():
    graph = ZOO["hub"].graph().to(GPU)
    h = ZOO["hub"].states(2, 16, torch.float32).to(GPU).bfloat16()
    beta = torch.tensor([1.0, -0.7], device=GPU)
    exact = attention(graph, h.double(), beta.double(), "reference")
    out, dh, dbeta = attention(graph, h, beta, "triton")
    assert out.dtype == dh.dtype == torch.bfloat16
    assert dbeta.dtype == torch.float32
    # One rounding of the result to 8 bits, none on the way.
    assert_close(out.double(), exact[0], 2**-8)


def test_the_same_call_gives_the_same_bits():
    graph = power_law(50_000, 500_000, device=GPU)
    h = torch.randn(3, 50_000, 16, device=GPU)
    beta = torch.tensor([1.0, 2.0, 3.0], device=GPU)
    first, second = (attention(graph, h, beta, "triton") for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert_same_bits(one, other)
    alone = attention(graph, h[1:2], beta[1:2], "triton")
    assert_same_bits(alone[0][0], first[0][1])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ZOO)
def test_propagation_equals_the_reference(name, width):
    graph = ZOO[name].graph().to(GPU)
    weights = Propagation.symmetric(graph, torch.float64)
    lopsided = torch.rand(graph.edges, dtype=torch.float64, device=GPU)
    P = Propagation(graph, lopsided, weights.loop_weights)
    h = ZOO[name].states(2, width).to(GPU).requires_grad_()
    both = [with_gradients(propagate(P, h, backend=each), h) for each in ("triton", "reference")]
    for one, other in zip(*both, strict=True):
        assert_close(one, other, 1e-12, floor=1.0)


def drop(replicas: int) -> Dropout:
    stream = Dropout(range(replicas), [0.5, 0.0, 0.8][:replicas], GPU)
    stream.epoch += 3
    return stream


def test_dropout_drops_what_the_reference_drops():
    h = torch.randn(3, 1000, 33, device=GPU)
    rows = torch.randperm(1000, device=GPU)
    both = [dropout(h, rows, drop(3).at(1), backend=each) for each in ("triton", "reference")]
    assert_same_bits(*both)


@pytest.mark.parametrize("is_dropped", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_sparse_first_layer_equals_the_reference(width, is_dropped):
    from scipy import sparse

    matrix = sparse.random_array((900, 700), density=0.05, rng=0).tolil()
    matrix[0, :], matrix[:, 3] = 1.0, 2.0  # longer than a program goes through
    x = SparseFeatures.from_scipy(matrix.tocsr(), torch.float64).to(GPU)
    weight = torch.randn(3, 700, width, device=GPU, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(3, width, device=GPU, dtype=torch.float64, requires_grad=True)
    at = drop(3).at(0) if is_dropped else None
    both = [
        with_gradients(feature_linear(x, weight, bias, drop=at, backend=each), weight, bias)
        for each in ("triton", "reference")
    ]
    for one, other in zip(*both, strict=True):
        assert_close(one, other, 1e-11)


@pytest.mark.parametrize("is_dropped", [False, True])
@pytest.mark.parametrize("storage", [torch.float32, torch.bfloat16])
def test_the_dense_first_layer_equals_the_reference(storage, is_dropped):
    values = torch.randn(9_000, 100, device=GPU).to(storage)
    x = DenseFeatures(values, torch.randperm(9_000, device=GPU))
    weight = torch.randn(3, 100, 16, device=GPU, requires_grad=True)
    bias = torch.randn(3, 16, device=GPU, requires_grad=True)
    at = drop(3).at(0) if is_dropped else None
    both = [
        with_gradients(feature_linear(x, weight, bias, drop=at, backend=each), weight, bias)
        for each in ("triton", "reference")
    ]
    for one, other in zip(*both, strict=True):
        assert_close(one, other, 1e-5)


@pytest.mark.parametrize("outputs", [3, 7, 100])
@pytest.mark.parametrize("is_dropped", [False, True])
def test_the_last_layer_equals_the_reference(outputs, is_dropped):
    h = torch.randn(3, 700, 16, device=GPU, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(3, 16, outputs, device=GPU, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(3, outputs, device=GPU, dtype=torch.float64, requires_grad=True)
    rows, at = torch.randperm(700, device=GPU), drop(3).at(1) if is_dropped else None
    both = [
        with_gradients(
            dense_linear(h, weight, bias, rows, drop=at, backend=each), h, weight, bias
        )
        for each in ("triton", "reference")
    ]  # fmt: skip
    for one, other in zip(*both, strict=True):
        assert_close(one, other, 1e-11)


def test_the_loss_equals_the_reference():
    logits = 5 * torch.randn(3, 500, 7, device=GPU, dtype=torch.float64)
    logits.requires_grad_()
    labels = torch.randint(7, (3, 500), device=GPU)
    weights = torch.rand(3, 500, device=GPU, dtype=torch.float64)
    both = [
        with_gradients(cross_entropy(logits, labels, weights, backend=each), logits)
        for each in ("triton", "reference")
    ]
    for one, other in zip(*both, strict=True):
        assert_close(one, other, 1e-12)


def test_a_step_of_adam_equals_the_reference():
    moved = []
    for backend in ("triton", "reference"):
        source = torch.Generator(GPU).manual_seed(0)
        shapes = ((2, 50, 30), (2,))
        p, g, m, v = ([torch.rand(s, generator=source, device=GPU) for s in shapes] for _ in "pgmv")
        rates, decays = torch.tensor([0.1, 0.01], device=GPU), torch.full((2, 2), 0.1, device=GPU)
        for step in (1, 2, 900):
            adam_step(p, g, m, v, torch.tensor([step], device=GPU), rates, decays, backend=backend)
        moved.append([*p, *m, *v])
    for one, other in zip(*moved, strict=True):
        assert_close(one, other, 1e-6)
