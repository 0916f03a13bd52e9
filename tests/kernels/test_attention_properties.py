"""What must hold of any attention, whoever computes it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from agnn.graph import Graph, ReceptiveField
from agnn.kernels import (
    cosine_attention,
)
from agnn.kernels._cosine_attention import attention_weights
from properties import CPU_BACKENDS, as_matrix, assert_close
from zoo import ZOO, Specimen, zoo_graph

ONE = torch.ones(1, dtype=torch.float64)


def matrix_of(graph: Graph, n: int, h: Tensor, beta: Tensor, backend: str) -> Tensor:
    """P [n, n] as a backend applies it: rows of identity added to `h` come out as its columns.

    The states are widened by the identity, scaled so small that no cosine feels it.
    """
    small = 1e-9
    wide = torch.cat([h, small * torch.eye(n, dtype=h.dtype)[None]], dim=2)
    return cosine_attention(graph, wide, beta, backend=backend)[0, :, h.shape[2] :] / small


@pytest.mark.parametrize("name", [name for name in ZOO if not ZOO[name].zero_rows])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_rows_of_p_sum_to_one_over_neighbours_and_exactly_one_self_loop(backend, name):
    animal, n = ZOO[name], ZOO[name].nodes
    P = matrix_of(zoo_graph(name), n, animal.states(1, 7), 2 * ONE, backend)
    assert_close(P.sum(dim=1), torch.ones(n, dtype=P.dtype), 1e-9)
    assert torch.equal(P > 0, animal.neighbourhoods())
    expected = as_matrix(
        zoo_graph(name), attention_weights(zoo_graph(name), animal.states(1, 7), 2 * ONE)
    )
    assert_close(P, expected[0], 1e-7)


@pytest.mark.parametrize("name", ZOO)
def test_attention_weights_sum_to_one_by_receiver(name):
    graph, h = zoo_graph(name), ZOO[name].states(2, 7)
    weights = attention_weights(graph, h, torch.tensor([4.0, -2.0], dtype=torch.float64))
    total = weights.loops.index_add(1, graph.receivers, weights.edges)
    assert_close(total, torch.ones_like(total), 1e-12)


@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_beta_zero_is_the_plain_mean_of_neighbours_and_self(backend, name):
    h, joined = ZOO[name].states(1, 16), ZOO[name].neighbourhoods().double()
    mean = joined @ h[0] / joined.sum(dim=1, keepdim=True)
    out = cosine_attention(zoo_graph(name), h, 0 * ONE, backend=backend)
    assert_close(out[0], mean, 1e-12)


@pytest.mark.parametrize("beta", [200.0, 100.0, -39.0, -60.0, -100.0, -200.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["one node", "isolated nodes", "lopsided", "hub"])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_parallel_states_are_averaged_evenly_at_any_beta(backend, name, dtype, beta):
    """All scores are equal, however far from zero: nothing may overflow or vanish."""
    n, joined = ZOO[name].nodes, ZOO[name].neighbourhoods().double()
    direction = torch.linspace(-1, 2, 16, dtype=torch.float64)
    h = torch.linspace(1, 3, n, dtype=torch.float64)[:, None] * direction
    out = cosine_attention(
        zoo_graph(name), h[None].to(dtype), beta * ONE.to(dtype), backend=backend
    )
    mean = joined @ h / joined.sum(dim=1, keepdim=True)
    # A cosine of 1 is rounded, and beta multiplies what is missing.
    assert_close(out[0], mean, 1e-4 if dtype == torch.float32 else 1e-12)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_an_isolated_node_keeps_its_state(backend):
    h = ZOO["isolated nodes"].states(1, 7)
    out = cosine_attention(zoo_graph("isolated nodes"), h, 5 * ONE, backend=backend)
    assert_close(out[:, [0, 3, 5]], h[:, [0, 3, 5]], 1e-14)


@pytest.mark.parametrize("name", ["lopsided", "random", "hub", "zero row"])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_relabelling_nodes_relabels_outputs(backend, name):
    animal = ZOO[name]
    new = torch.randperm(animal.nodes, generator=torch.Generator().manual_seed(3))
    pairs = tuple((int(new[i]), int(new[j])) for i, j in animal.pairs)
    h, relabelled = animal.states(1, 16), Specimen(animal.nodes, pairs).graph()
    moved = torch.empty_like(h)
    moved[:, new] = h
    out = cosine_attention(relabelled, moved, 3 * ONE, backend=backend)
    assert_close(out[:, new], cosine_attention(zoo_graph(name), h, 3 * ONE, backend=backend), 1e-12)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_scaling_each_row_of_h_leaves_p(backend):
    h, graph = ZOO["random"].states(1, 16), zoo_graph("random")
    factors = torch.linspace(0.01, 50, 200, dtype=torch.float64)[:, None]
    plain, scaled = (
        attention_weights(graph, h, 3 * ONE),
        attention_weights(graph, factors * h, 3 * ONE),
    )
    assert_close(scaled.edges, plain.edges, 1e-12)
    assert_close(scaled.loops, plain.loops, 1e-12)
    out = cosine_attention(graph, 7.5 * h, 3 * ONE, backend=backend)
    assert_close(out, 7.5 * cosine_attention(graph, h, 3 * ONE, backend=backend), 1e-12)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_p_is_by_receiver_and_not_its_transpose(backend):
    """A leaf of a star halves its attention; the centre shares it among five."""
    h = torch.zeros(1, 6, 1, dtype=torch.float64)
    h[0, :, 0] = torch.tensor([1.0, 2, 3, 4, 5, 6])  # all cosines are 1: the mean, whatever beta
    out = cosine_attention(zoo_graph("lopsided"), h, 2 * ONE, backend=backend)[0, :, 0]
    by_hand = [(1 + 2 + 3 + 4 + 5) / 5, 3 / 2, 4 / 2, 5 / 2, (1 + 5 + 6) / 3, 11 / 2]
    assert_close(out, torch.tensor(by_hand, dtype=torch.float64), 1e-14)
    weights = attention_weights(zoo_graph("lopsided"), h, 2 * ONE)
    P = as_matrix(zoo_graph("lopsided"), weights)[0]
    assert P[0, 4] == pytest.approx(1 / 5)  # what 0 pays to 4
    assert P[4, 0] == pytest.approx(1 / 3)  # what 4 pays to 0


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_a_larger_beta_moves_attention_to_the_like(backend):
    """Node 0 has a twin and an opposite; with beta it turns to the twin."""
    graph = Specimen(3, ((0, 1), (0, 2))).graph()
    h = torch.tensor([[[1.0, 0.0], [2.0, 0.0], [-1.0, 0.0]]], dtype=torch.float64)
    for beta, own, twin in ((0.0, 1 / 3, 1 / 3), (50.0, 0.5, 0.5), (-50.0, 0.0, 0.0)):
        weights = attention_weights(graph, h, beta * ONE)
        assert weights.loops[0, 0] == pytest.approx(own, abs=1e-12)
        assert weights.edges[0, 0] == pytest.approx(twin, abs=1e-12)
        out = cosine_attention(graph, h, beta * ONE, backend=backend)
        assert out[0, 0, 0] == pytest.approx(own + 2 * twin - (1 - own - twin), abs=1e-12)


def test_attention_weights_of_the_first_rows_are_the_first_of_all():
    h = ZOO["random"].states(2, 7)
    beta = torch.tensor([1.0, 4.0], dtype=torch.float64)
    graph = zoo_graph("random")
    field = ReceptiveField.around(graph, torch.tensor([5, 77]), 2)
    rows = field.sizes[1]
    part = attention_weights(field.graph, h[:, field.nodes], beta, rows=rows)
    whole = attention_weights(graph, h, beta)
    count = int(field.graph.offsets[rows])
    assert part.edges.shape == (2, count)
    assert_close(part.edges, whole.edges[:, field.edge_ids[:count]], 1e-14)
    assert_close(part.loops, whole.loops[:, field.nodes[:rows]], 1e-14)
