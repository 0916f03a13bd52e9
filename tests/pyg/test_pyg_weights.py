"""Edge weights and bipartite graphs in the PyG layer, by kernels and by messages."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.pyg import AGNNConv
from properties import assert_close, dense_attention, gradients
from zoo import ZOO, random_pairs

from torch_geometric.nn import GATConv  # isort: skip

NODES = 40
SIMPLE = tuple(sorted({(min(p), max(p)) for p in random_pairs(NODES, 90, seed=3) if p[0] != p[1]}))
EDGES = torch.tensor([edge for i, j in SIMPLE for edge in ((i, j), (j, i))]).T
STATES = torch.randn(NODES, 7, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def weights(*, is_symmetric: bool = True) -> Tensor:
    """W [n, n], above 0; entry (i, j) is what receiver i gives to sender j."""
    source = torch.Generator().manual_seed(2)
    drawn = torch.randn(NODES, NODES, generator=source, dtype=torch.float64)
    return (drawn + drawn.T if is_symmetric else drawn).exp()


def at_edges(W: Tensor, edges: Tensor = EDGES) -> Tensor:
    return W[edges[1], edges[0]]


def joined(edges: Tensor, loops: bool = True) -> Tensor:
    found = torch.eye(NODES, dtype=torch.bool) if loops else torch.zeros(NODES, NODES).bool()
    found[edges[1], edges[0]] = True
    return found


def layer(beta: float = 0.7, **options: object) -> AGNNConv:
    made = AGNNConv(**options).double()
    made.beta.data.fill_(beta)
    return made


def defined(W: Tensor, edges: Tensor, beta: float = 0.7) -> tuple[Tensor, ...]:
    one = torch.tensor(beta, dtype=torch.float64)
    return gradients(lambda x: dense_attention(joined(edges), x, one, W) @ x, (STATES,))


def test_symmetric_weights_run_in_the_kernels_and_are_the_definition(kernel_calls):
    W = weights()
    found = gradients(lambda x: layer()(x, EDGES, at_edges(W)), (STATES,))
    assert kernel_calls
    for one, other in zip(found, defined(W, EDGES), strict=True):
        assert_close(one, other, 1e-12)


@pytest.mark.parametrize("kind", ["unequal directions", "directed"])
def test_weights_by_direction_run_by_messages_and_are_the_definition(kind, kernel_calls):
    W = weights(is_symmetric=kind == "directed")
    edges = EDGES if kind == "unequal directions" else torch.tensor(SIMPLE).T
    found = gradients(lambda x: layer()(x, edges, at_edges(W, edges)), (STATES,))
    assert not kernel_calls
    for one, other in zip(found, defined(W, edges), strict=True):
        assert_close(one, other, 1e-12)


def test_other_weights_at_the_same_edges_are_heard(kernel_calls):
    W, edges, made = weights(), EDGES.clone(), layer()
    for scale in (1.0, 2.0, 2.0):
        found = made(STATES, edges, at_edges(scale * W))
        assert_close(found, defined(scale * W, EDGES)[0], 1e-12)
    assert len({id(graph) for graph in kernel_calls}) == 2
    assert_close(made(STATES, edges), layer()(STATES, EDGES), 1e-15)


def test_weights_of_1_change_nothing():
    assert torch.equal(layer()(STATES, EDGES, torch.ones(EDGES.shape[1])), layer()(STATES, EDGES))


def test_weights_can_be_learned(kernel_calls):
    W = weights()
    given = at_edges(W)

    def dense(w: Tensor) -> Tensor:
        matrix = torch.ones_like(W)
        matrix = matrix.index_put((EDGES[1], EDGES[0]), w)
        one = torch.tensor(0.7, dtype=torch.float64)
        return dense_attention(joined(EDGES), STATES, one, matrix) @ STATES

    found = gradients(lambda w: layer()(STATES, EDGES, w), (given,))
    assert not kernel_calls
    for one, other in zip(found, gradients(dense, (given,)), strict=True):
        assert_close(one, other, 1e-12)


def test_given_loops_are_replaced_or_keep_their_weights(kernel_calls):
    loops = torch.arange(NODES).repeat(2, 1)
    edges, W = torch.cat([EDGES, loops], 1), weights()
    heavy = at_edges(W, edges)
    assert_close(layer()(STATES, edges, heavy), defined(W, EDGES)[0], 1e-12)
    assert kernel_calls
    kernel_calls.clear()
    kept = layer(add_self_loops=False)(STATES, edges, heavy)
    assert not kernel_calls  # the kernels know self-loops of weight 1 alone
    unit = torch.nn.functional.normalize(STATES)
    score = (0.7 * unit @ unit.T + W.log()).masked_fill(~joined(edges), -torch.inf)
    assert_close(kept, score.softmax(1) @ STATES, 1e-12)


def test_the_attention_comes_with_weights_in_it():
    W = weights()
    out, (edges, alpha) = layer()(STATES, EDGES, at_edges(W), return_attention_weights=True)
    assert_close(out, defined(W, EDGES)[0], 1e-12)
    sums = torch.zeros(NODES, dtype=torch.float64).index_add(0, edges[1], alpha)
    assert_close(sums, torch.ones(NODES, dtype=torch.float64), 1e-12)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (torch.zeros(EDGES.shape[1]), "`edge_weight` must hold finite numbers above 0"),
        (torch.full((EDGES.shape[1],), torch.nan), "`edge_weight` must hold finite numbers"),
        (torch.ones(3), r"one number per edge, shape \[\d+\]; got \[3\]"),
    ],
)
def test_unusable_weights_are_refused(wrong, words):
    with pytest.raises(InputError, match=words):
        layer()(STATES, EDGES, wrong)
    with pytest.raises(InputError, match="not a sparse adjacency"):
        layer()(STATES, torch.eye(NODES).to_sparse(), torch.ones(NODES))


def test_weights_too_large_for_the_kernels_run_by_messages(kernel_calls):
    W = 1e18 * weights()
    assert_close(layer()(STATES, EDGES, at_edges(W)), defined(W, EDGES)[0], 1e-12)
    assert not kernel_calls


SOURCES, TARGETS = STATES[:30], STATES[25:]  # 30 and 15
PAIRS = torch.stack(
    [
        torch.randint(30, (60,), generator=torch.Generator().manual_seed(4)),
        torch.randint(15, (60,), generator=torch.Generator().manual_seed(5)),
    ]
).unique(dim=1)


def bipartite(edges: Tensor, W: Tensor | None = None) -> Tensor:
    """The definition: every target attends to its sources; zeros where it has none."""
    unit = torch.nn.functional.normalize
    score = 0.7 * unit(TARGETS) @ unit(SOURCES).T
    score = score if W is None else score + W[:15, :30].log()
    there = torch.zeros(15, 30, dtype=torch.bool)
    there[edges[1], edges[0]] = True
    P = score.masked_fill(~there, -torch.inf).softmax(1)
    return torch.where(there.any(1, keepdim=True), P, 0.0) @ SOURCES


def test_targets_attend_to_their_sources():
    found = layer(add_self_loops=False)((SOURCES, TARGETS), PAIRS)
    assert found.shape == (15, 7)
    assert_close(found, bipartite(PAIRS), 1e-12)
    sized = layer(add_self_loops=False)((SOURCES, TARGETS), PAIRS, size=(30, 15))
    assert torch.equal(found, sized)


def test_a_bipartite_graph_has_weights_too():
    W = weights()
    found = layer(add_self_loops=False)((SOURCES, TARGETS), PAIRS, W[PAIRS[1], PAIRS[0]])
    assert_close(found, bipartite(PAIRS, W), 1e-12)


def test_self_loops_of_a_bipartite_graph_are_those_of_pygs_gat():
    _, (edges, _) = layer()((SOURCES, TARGETS), PAIRS, return_attention_weights=True)
    gat = GATConv((7, 7), 3).double()
    _, (theirs, _) = gat((SOURCES, TARGETS), PAIRS, return_attention_weights=True)
    assert torch.equal(edges, theirs)
    expected = bipartite(torch.cat([PAIRS, torch.arange(15).repeat(2, 1)], 1))
    assert_close(layer()((SOURCES, TARGETS), PAIRS), expected, 1e-12)


def test_gradients_reach_sources_and_targets():
    def run(sources: Tensor, targets: Tensor) -> Tensor:
        return layer()((sources, targets), PAIRS)

    inputs = (SOURCES.clone().requires_grad_(), TARGETS.clone().requires_grad_())
    assert torch.autograd.gradcheck(run, inputs, atol=1e-7)


def test_a_pair_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="both are needed"):
        layer()((SOURCES, None), PAIRS)
    with pytest.raises(InputError, match="states of one width; got 7 and 3"):
        layer()((SOURCES, TARGETS[:, :3]), PAIRS)


@pytest.mark.parametrize("name", ["path", "lopsided", "zero row"])
def test_the_zoo_agrees_with_the_definition(name):
    animal, W = ZOO[name], ZOO[name].weights()
    graph, x = animal.graph(), animal.states(1, 7)[0]
    edges = torch.stack([graph.senders, graph.receivers])
    one = torch.tensor(0.7, dtype=torch.float64)
    expected = dense_attention(animal.neighbourhoods(), x, one, W) @ x
    assert_close(layer()(x, edges, W[edges[1], edges[0]]), expected, 1e-12)
