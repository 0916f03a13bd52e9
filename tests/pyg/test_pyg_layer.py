"""The layer is PyG's layer: same results, gradients and checkpoints on whatever edges PyG takes."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.pyg import AGNNConv
from properties import assert_close, assert_same_bits, dense_attention, gradients, left_behind
from zoo import ZOO, random_pairs

# After agnn.pyg: PyG's import warns, and that import keeps the warning to itself.
from torch_geometric import EdgeIndex  # isort: skip
from torch_geometric.nn import AGNNConv as Peer  # isort: skip


@dataclass(frozen=True)
class Case:
    """Edges as (sender, receiver), and whether the kernels may compute them."""

    nodes: int
    pairs: tuple[tuple[int, int], ...]
    is_undirected: bool

    def edge_index(self, dtype: torch.dtype = torch.int64) -> Tensor:
        return torch.tensor(self.pairs, dtype=dtype).reshape(-1, 2).T


def both(*pairs: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    return tuple(edge for i, j in pairs for edge in ((i, j), (j, i)))


SIMPLE = tuple(sorted({(min(p), max(p)) for p in random_pairs(40, 90, seed=3) if p[0] != p[1]}))
CASES = {
    "no edges": Case(3, (), True),
    "one node": Case(1, (), True),
    "path": Case(4, both((0, 1), (1, 2), (2, 3)), True),
    "isolated nodes": Case(6, both((1, 2), (2, 4)), True),
    "shuffled": Case(40, both(*SIMPLE)[::-1], True),
    "some self-loops": Case(4, ((0, 0), *both((0, 1), (1, 2)), (2, 2)), True),
    "a self-loop twice": Case(3, ((1, 1), *both((0, 1)), (1, 1)), True),
    "directed": Case(40, SIMPLE, False),
    "directed both ways once": Case(3, (*both((0, 1)), (1, 2)), False),
    "directed cycle": Case(3, ((0, 1), (1, 2), (2, 0)), False),
    "an edge twice": Case(3, (*both((0, 1)), (0, 1)), False),
    "one direction twice": Case(2, ((0, 1), (0, 1)), False),  # as many as both directions once
    "everything twice": Case(3, (*both((0, 1), (1, 2)), *both((0, 1), (1, 2))), False),
}
TOLERANCE = {torch.float32: 2e-6, torch.float64: 1e-13}


def states(nodes: int, dtype: torch.dtype = torch.float64, width: int = 7) -> Tensor:
    return torch.randn(nodes, width, generator=torch.Generator().manual_seed(1)).to(dtype)


def with_gradients(layer: torch.nn.Module, x: Tensor, edges: object) -> tuple[Tensor, ...]:
    """Output and gradients at x and beta, with beta = 0.7 so that nothing is at its start."""
    layer = layer.to(x.dtype)
    layer.beta.data.fill_(0.7)
    out, dx = gradients(lambda h: layer(h, edges), (x,))
    _, dbeta = gradients(
        lambda beta: torch.func.functional_call(layer, {"beta": beta}, (x, edges)), (layer.beta,)
    )
    return out, dx, dbeta


def assert_as_peer(x: Tensor, edges: object, **options: object) -> None:
    ours = with_gradients(AGNNConv(**options), x, edges)
    theirs = with_gradients(Peer(**options), x, edges)
    for one, other in zip(ours, theirs, strict=True):
        assert_close(one, other, TOLERANCE[x.dtype], floor=1.0)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients_are_those_of_pyg(name, dtype, kernel_calls):
    case = CASES[name]
    assert_as_peer(states(case.nodes, dtype), case.edge_index())
    assert bool(kernel_calls) == case.is_undirected


@pytest.mark.parametrize("name", CASES)
def test_without_added_self_loops_they_are_too(name, kernel_calls):
    case = CASES[name]
    assert_as_peer(states(case.nodes), case.edge_index(), add_self_loops=False)
    assert not kernel_calls


def test_self_loops_given_by_the_caller_serve_instead_of_added_ones(kernel_calls):
    loops = torch.arange(4).expand(2, -1)
    edges = torch.cat([CASES["path"].edge_index(), loops], dim=1)
    assert_as_peer(states(4), edges, add_self_loops=False)
    assert kernel_calls


def test_a_self_loop_given_twice_counts_twice_where_none_are_added(kernel_calls):
    loops = torch.tensor([0, 1, 2, 3, 3]).expand(2, -1)
    edges = torch.cat([CASES["path"].edge_index(), loops], dim=1)
    assert_as_peer(states(4), edges, add_self_loops=False)
    assert not kernel_calls


@pytest.mark.parametrize("name", ["shuffled", "directed"])
def test_the_other_direction_of_flow_is_that_of_pyg(name):
    case = CASES[name]
    assert_as_peer(states(case.nodes), case.edge_index(), flow="target_to_source")


@pytest.mark.parametrize("aggr", ["mean", "max"])
def test_another_aggregation_is_left_to_pyg(aggr, kernel_calls):
    assert_as_peer(states(4), CASES["path"].edge_index(), aggr=aggr)
    assert not kernel_calls


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
@pytest.mark.parametrize("adds_loops", [True, False])
@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr], ids=str)
@pytest.mark.parametrize("name", ["path", "some self-loops", "directed", "isolated nodes"])
def test_a_transposed_sparse_adjacency_is_taken_as_pyg_takes_it(
    name, layout, adds_loops, kernel_calls
):
    case = CASES[name]
    adjacency = torch.zeros(case.nodes, case.nodes)
    senders, receivers = case.edge_index()
    adjacency[receivers, senders] = 5.0  # the layer reads no weights
    edges = adjacency.to_sparse(layout=layout)
    assert_as_peer(states(case.nodes), edges, add_self_loops=adds_loops)
    assert bool(kernel_calls) == (case.is_undirected and adds_loops)


def test_pygs_own_class_of_edges_is_taken(kernel_calls):
    edges = EdgeIndex(CASES["path"].edge_index().contiguous(), sparse_size=(4, 4))
    assert_close(AGNNConv()(states(4).float(), edges), Peer()(states(4).float(), edges), 2e-6)
    assert kernel_calls


def test_int32_edges_are_taken(kernel_calls):
    edges, x = CASES["path"].edge_index(torch.int32), states(4)
    assert_close(AGNNConv()(x, edges), Peer()(x, edges.long()), 1e-13)
    assert kernel_calls


@pytest.mark.parametrize(
    ("x", "beta"),
    [(torch.float64, torch.float32), (torch.float32, torch.float64)],
    ids=["short beta", "short x"],
)
def test_mixed_types_promote_as_in_pyg(x, beta):
    edges, h = CASES["path"].edge_index(), states(4, x)
    ours, theirs = AGNNConv().to(beta)(h, edges), Peer().to(beta)(h, edges)
    assert ours.dtype == theirs.dtype
    assert_close(ours, theirs, 1e-13)


def test_states_that_do_not_lie_row_by_row_are_taken():
    x = torch.randn(7, 40, dtype=torch.float64).T
    assert_as_peer(x, CASES["shuffled"].edge_index())


@pytest.mark.parametrize("name", ["shuffled", "directed"])
def test_no_nodes_or_no_width_give_nothing(name):
    edges = CASES[name].edge_index()
    assert AGNNConv()(torch.empty(0, 3), edges[:, :0]).shape == (0, 3)
    assert AGNNConv()(torch.empty(40, 0), edges).shape == (40, 0)


@pytest.mark.parametrize(("wrong", "words"), [(9, "larger than 3"), (-1, "negative")])
def test_an_edge_to_nowhere_is_pygs_error(wrong, words):
    edges = torch.tensor([[0, wrong], [wrong, 0]])
    for layer in (Peer(), AGNNConv()):
        with pytest.raises(IndexError, match=words):
            layer(states(4), edges)


@pytest.mark.parametrize("is_directed", [False, True])
def test_a_zero_row_has_cosine_0_and_passes_a_finite_gradient(is_directed):
    pairs = ZOO["zero row"].pairs if is_directed else both(*ZOO["zero row"].pairs)
    edges = torch.tensor(pairs).T
    x = ZOO["zero row"].states(1, 7)[0]
    neighbourhoods = torch.eye(6, dtype=torch.bool)
    neighbourhoods[edges[1], edges[0]] = True
    layer = AGNNConv().double()
    out, dx = gradients(lambda h: layer(h, edges), (x,))
    assert_close(out, dense_attention(neighbourhoods, x, torch.ones(1).double()) @ x, 1e-13)
    assert_close(out, Peer()(x, edges), 1e-13)
    _, theirs = gradients(lambda h: Peer().double()(h, edges), (x,))
    assert float(theirs[1].abs().max()) > 1e9  # PyG divides by its epsilon there
    assert float(dx.abs().max()) < 10.0


def test_the_zero_rows_own_weight_still_carries_gradient():
    x = torch.zeros(2, 3, dtype=torch.float64)
    _, dx = gradients(lambda h: AGNNConv().double()(h, torch.tensor([[0, 1], [1, 0]])).sum(1), (x,))
    assert float(dx.abs().min()) > 0.0


def test_every_graph_of_the_zoo_agrees_with_the_definition():
    for name, specimen in ZOO.items():
        graph = specimen.graph()
        x = specimen.states(1, 5)[0]
        edges = torch.stack([graph.senders, graph.receivers])
        expected = dense_attention(specimen.neighbourhoods(), x, torch.ones(1).double()) @ x
        found = AGNNConv().double()(x, edges)
        assert torch.allclose(found, expected, rtol=1e-12, atol=1e-12), name


def test_checkpoints_go_both_ways():
    for learned in (True, False):
        ours, theirs = AGNNConv(learned), Peer(learned)
        theirs.beta.data.fill_(0.3)
        ours.load_state_dict(theirs.state_dict())
        assert_same_bits(ours.beta.detach(), torch.tensor([0.3]))
        ours.beta.data.fill_(1.7)
        theirs.load_state_dict(ours.state_dict())
        assert_same_bits(theirs.beta.detach(), torch.tensor([1.7]))
        assert len(list(ours.parameters())) == len(list(theirs.parameters())) == int(learned)


def test_a_learned_beta_goes_back_to_1_and_a_fixed_one_stays():
    for learned, after in ((True, 1.0), (False, 0.5)):
        ours, theirs = AGNNConv(learned), Peer(learned)
        for layer in (ours, theirs):
            layer.beta.data.fill_(0.5)
            layer.reset_parameters()
            assert layer.beta.item() == after
            assert layer.beta.requires_grad == learned


def test_a_copy_computes_the_same():
    layer, x, edges = AGNNConv(), states(4), CASES["path"].edge_index()
    before = layer(x, edges)
    assert_same_bits(copy.deepcopy(layer)(x, edges), before)


def test_a_subclass_with_other_messages_is_heard(kernel_calls):
    class Twice(AGNNConv):
        def message(self, x_j: Tensor, alpha: Tensor) -> Tensor:
            return 2.0 * super().message(x_j, alpha)

    x, edges = states(4), CASES["path"].edge_index()
    assert_close(Twice()(x, edges), 2.0 * Peer()(x, edges), 1e-13)
    assert not kernel_calls


def test_messages_changed_on_one_layer_are_heard(kernel_calls):
    layer, x, edges = AGNNConv(), states(4), CASES["path"].edge_index()
    layer.message = lambda x_j, alpha: 3.0 * alpha[:, None] * x_j
    assert_close(layer(x, edges), 3.0 * Peer()(x, edges), 1e-13)
    assert not kernel_calls


def test_under_torch_compile_the_messages_are_compiled(kernel_calls):
    x, edges = states(4), CASES["path"].edge_index()
    found = torch.compile(AGNNConv(), backend="eager", fullgraph=True)(x, edges)
    assert_close(found, Peer()(x, edges), 1e-13)
    assert not kernel_calls


def test_a_second_derivative_is_refused_in_words():
    x = states(4).requires_grad_()
    out = AGNNConv().double()(x, CASES["path"].edge_index())
    with pytest.raises(InputError, match="differentiable once"):
        torch.autograd.grad(out.sum(), x, create_graph=True)


@pytest.mark.parametrize("name", ["path", "directed"])
def test_learning_moves_beta_as_it_does_in_pyg(name):
    case, found = CASES[name], []
    for kind in (AGNNConv, Peer):
        layer = kind().double()
        optimiser = torch.optim.Adam(layer.parameters(), lr=0.1)
        for _ in range(5):
            optimiser.zero_grad()
            layer(states(case.nodes), case.edge_index()).square().sum().backward()
            optimiser.step()
        found.append(layer.beta.detach())
    assert_close(found[0], found[1], 1e-12)


@pytest.mark.parametrize("name", ["shuffled", "directed"])
@pytest.mark.parametrize("is_new", [False, True], ids=["the same edges", "new edges"])
def test_a_hundred_training_steps_leave_nothing_behind(name, is_new):
    layer, known = AGNNConv(), CASES[name].edge_index()
    optimiser = torch.optim.SGD(layer.parameters(), lr=0.01)
    x = states(CASES[name].nodes, torch.float32)

    def step():
        layer(x, known.clone() if is_new else known).square().sum().backward()
        optimiser.step()
        optimiser.zero_grad()

    assert left_behind(step) == (0, 0, 0)
