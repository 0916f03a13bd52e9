"""The other networks: the formulas of their papers, written out, and torch_geometric's layers."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own convention)
from scipy import sparse
from torch import Tensor

from agnn.graph import Graph, Propagation, SparseFeatures, View
from agnn.kernels import Dropout, feature_linear
from agnn.networks import NodeModel
from agnn.networks._neighbourhoods import Neighbourhoods
from built_models import (
    APPNP,
    DCNN,
    FAGCN,
    GAT,
    GCNII,
    SGC,
    ChebNet,
    DynamicFilter,
    GATv2,
    GraphCNN,
    GraphSAGE,
    GraphTransformer,
    MoNet,
    Separated,
)
from properties import CPU_BACKENDS, assert_close, assert_same_bits
from zoo import zoo_graph

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what importing a peer warns of is not our concern
    geometric = pytest.importorskip(
        "torch_geometric.nn", reason="torch_geometric is not installed: pip install agnn[test]"
    )

GRAPH = zoo_graph("lopsided")
N = GRAPH.nodes
X = np.random.default_rng(1).random((N, 9)) * (np.random.default_rng(2).random((N, 9)) < 0.6)
FEATURES = SparseFeatures.from_scipy(sparse.csr_array(X), torch.float64)
DENSE = torch.tensor(X)
EDGES = torch.stack([GRAPH.senders, GRAPH.receivers])  # theirs is (from, to)
WITH_LOOPS = torch.cat([EDGES, torch.arange(N).repeat(2, 1)], dim=1)

MODELS = {
    "appnp": lambda b: APPNP(9, 3, (4, 5), hidden=7, steps=3, backend=b),
    "chebnet": lambda b: ChebNet(9, 3, (4, 5), hidden=5, order=3, backend=b),
    "chebnet_of_order_1": lambda b: ChebNet(9, 3, (4, 5), hidden=5, order=1, backend=b),
    "dcnn": lambda b: DCNN(9, 3, (4, 5), backend=b),
    "dynamic_filter": lambda b: DynamicFilter(9, 3, (4, 5), hidden=5, backend=b),
    "fagcn": lambda b: FAGCN(9, 3, (4, 5), hidden=5, layers=3, epsilon=0.2, backend=b),
    "gat": lambda b: GAT(9, 3, (4, 5), hidden=5, heads=4, output_heads=2, backend=b),
    "gatv2": lambda b: GATv2(9, 3, (4, 5), hidden=5, heads=4, output_heads=2, backend=b),
    "transformer": lambda b: GraphTransformer(
        9, 3, (4, 5), hidden=5, heads=4, output_heads=2, backend=b
    ),
    "gcnii": lambda b: GCNII(9, 3, (4, 5), hidden=5, layers=4, backend=b),
    "graph_cnn": lambda b: GraphCNN(9, 3, (4, 5), hidden=5, backend=b),
    "monet": lambda b: MoNet(9, 3, (4, 5), hidden=5, backend=b),
    "graphsage": lambda b: GraphSAGE(9, 3, (4, 5), hidden=5, layers=3, backend=b),
    "separated": lambda b: Separated(9, 3, (4, 5), hidden=5, layers=2, backend=b),
    "separated_attention": lambda b: Separated(
        9, 3, (4, 5), hidden=5, layers=2, weights="attention", normalisation="none", backend=b
    ),
    "sgc": lambda b: SGC(9, 3, (4, 5), backend=b),
}


def built(name: str, backend: str = "auto") -> NodeModel:
    """The model in double precision, every parameter moved away from zero."""
    model = MODELS[name](backend).double()
    source = torch.Generator().manual_seed(8)
    for p in model.parameters():
        p.data += 0.3 * torch.randn(p.shape, dtype=torch.float64, generator=source)
    return model


def outputs(model: NodeModel) -> Tensor:
    return model(View.whole(FEATURES, GRAPH, model.hops))


def matrix(propagation) -> Tensor:
    return torch.tensor(propagation.matrix().toarray())


P = matrix(Propagation.symmetric(GRAPH, torch.float64))


def by_heads(columns: Tensor, heads: int) -> Tensor:
    """The last axis from our order, heads fastest, to the peer's, features fastest."""
    return columns.unflatten(-1, (-1, heads)).transpose(-1, -2).flatten(-2)


def gat_conv(layer, weight: Tensor, r: int, *, concat: bool) -> torch.nn.Module:
    """The peer's layer with the parameters of replica r of ours; its bias is added outside."""
    d, heads = layer.receiving.shape[1:]
    conv = geometric.GATConv(weight.shape[1], d, heads=heads, concat=concat, bias=False).double()
    conv.lin.weight.data = by_heads(weight[r], heads).T.contiguous()
    conv.att_dst.data, conv.att_src.data = layer.receiving[r].T[None], layer.sending[r].T[None]
    return conv


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_gat_is_the_peers_layers_one_after_the_other(backend):
    model = built("gat", backend)
    for r, found in enumerate(outputs(model)):
        one = gat_conv(model.first_attention, model.first.weight, r, concat=True)
        h = F.elu(one(DENSE, EDGES) + by_heads(model.first_attention.bias[r], 4))
        # The second layer reads our order of columns.
        h = h.unflatten(-1, (4, -1)).transpose(-1, -2).flatten(-2)
        two = gat_conv(model.last_attention, model.last.weight, r, concat=False)
        bias = model.last_attention.bias[r].view(3, 2).mean(1)
        assert_close(found, two(h, EDGES) + bias, 1e-10)


def test_gats_attentions_are_rows_that_sum_to_one():
    model = built("gat")
    first, second = model.attentions(View.whole(FEATURES, GRAPH, 2))
    assert (first.loops.shape, second.loops.shape) == ((2, N, 4), (2, N, 2))
    for edges, loops in (first, second):
        assert_close(loops.index_add(1, GRAPH.receivers, edges), torch.ones_like(loops), 1e-12)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
@pytest.mark.parametrize("name", ["chebnet", "chebnet_of_order_1"])
def test_chebnet_is_the_peers_layers_one_after_the_other(name, backend):
    check_chebnet(built(name, backend), GRAPH)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_chebnet_scales_the_laplacian_of_the_weighted_adjacency(backend):
    ends = EDGES[:, EDGES[0] < EDGES[1]]
    weights = torch.linspace(0.3, 3.0, ends.shape[1], dtype=torch.float64)
    check_chebnet(built("chebnet", backend), Graph.from_edges(ends, N, weights))


def check_chebnet(model, graph: Graph) -> None:
    """Against the peer's layers, with the graph's edge weights."""
    edges = torch.stack([graph.senders, graph.receivers])
    for r, found in enumerate(model(View.whole(FEATURES, graph, model.hops))):

        def conv(weight, r=r):
            terms = weight[r].unflatten(-1, (-1, model.order + 1)).unbind(-1)
            peer = geometric.ChebConv(len(terms[0]), terms[0].shape[1], len(terms), bias=False)
            peer.double()
            for own, theirs in zip(terms, peer.lins, strict=True):
                theirs.weight.data = own.T.contiguous()
            return peer

        h = torch.relu(conv(model.first.weight)(DENSE, edges, graph.weights))
        assert_close(found, conv(model.last.weight)(h, edges, graph.weights), 1e-10)


def pair_conv(kind, maps: dict[str, str], model, layer: int, r: int, **how) -> torch.nn.Module:
    """The peer's layer with the maps of a layer of ours, {its name: ours}; no output bias."""
    ours, heads = (model.first, model.last)[layer], model.heads[layer]
    width = ours["value"].weight.shape[1]
    outputs = ours["value"].weight.shape[2] // heads
    peer = kind(width, outputs, heads=heads, concat=layer == 0, **how).double()
    for theirs, own in maps.items():
        linear, bias = getattr(peer, theirs), ours[own].bias
        is_split = own != "skip" or layer == 0
        order = (lambda each: by_heads(each, heads)) if is_split else (lambda each: each)
        linear.weight.data = order(ours[own].weight[r]).T.contiguous()
        if linear.bias is not None:
            zeros = torch.zeros_like(linear.bias)
            linear.bias.data = zeros if bias is None else order(bias[r])
    return peer


def in_our_order(h: Tensor, heads: int) -> Tensor:
    """The last axis from the peer's order, features fastest, to ours, heads fastest."""
    return h.unflatten(-1, (heads, -1)).transpose(-1, -2).flatten(-2)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_gatv2_is_the_peers_layers_one_after_the_other(backend):
    model = built("gatv2", backend)

    def conv(layer, r):
        maps = {"lin_l": "value", "lin_r": "receiver"}
        peer = pair_conv(geometric.GATv2Conv, maps, model, layer, r)
        peer.att.data = model.vectors[layer][r].T[None]
        peer.bias.data.zero_()
        return peer

    for r, found in enumerate(outputs(model)):
        h = F.elu(in_our_order(conv(0, r)(DENSE, EDGES), 4) + model.first_bias[r])
        assert_close(found, conv(1, r)(h, EDGES) + model.last_bias[r], 1e-10)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_the_transformer_is_the_peers_layers_one_after_the_other(backend):
    model = built("transformer", backend)
    maps = {
        "lin_query": "query", "lin_key": "key", "lin_value": "value", "lin_skip": "skip"
    }  # fmt: skip
    for r, found in enumerate(outputs(model)):
        one, two = (pair_conv(geometric.TransformerConv, maps, model, layer, r) for layer in (0, 1))
        h = F.elu(in_our_order(one(DENSE, EDGES), 4) + model.first_bias[r])
        assert_close(found, two(h, EDGES) + model.last_bias[r], 1e-10)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_fagcn_is_the_peers_layers_one_after_the_other(backend):
    model = built("fagcn", backend)
    for gate in model.gates:
        gate.bias.data.zero_()  # the peer's scores have none
    for r, found in enumerate(outputs(model)):
        h = start = torch.relu(DENSE @ model.first.weight[r] + model.first.bias[r])
        for gate in model.gates:
            peer = geometric.FAConv(5, eps=0.2, add_self_loops=False).double()
            peer.att_r.weight.data, peer.att_l.weight.data = gate.weight[r].T[:, None]
            h = peer(h, start, EDGES)
        assert_close(found, h @ model.last.weight[r] + model.last.bias[r], 1e-10)


@pytest.mark.parametrize("name", ["gatv2", "transformer", "fagcn"])
def test_edges_are_dropped_alike_where_the_graph_is_pruned(name):
    model, stream = built(name), Dropout((4, 5), (0.5, 0.5))
    stream.epoch += 3
    targets = torch.tensor([0, 5])
    whole = model(View.whole(FEATURES, GRAPH, model.hops), stream)
    part = model(View.around(FEATURES, GRAPH, targets, model.hops), stream)
    assert_close(part, whole[:, targets], 1e-12)
    assert not torch.equal(whole, outputs(model))


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_sgc_is_a_linear_map_of_its_features_and_the_peers_on_propagated_ones(backend):
    model = built("sgc", backend)
    for r, found in enumerate(outputs(model)):
        assert_close(found, DENSE @ model.first.weight[r] + model.first.bias[r], 1e-12)
    peer = geometric.SGConv(9, 3, K=2).double()
    propagated = SparseFeatures.from_scipy(sparse.csr_array((P @ P @ DENSE).numpy()), torch.float64)
    ours = feature_linear(propagated, peer.lin.weight.T[None].contiguous(), peer.lin.bias[None])
    assert_close(ours[0], peer(DENSE, EDGES), 1e-10)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_appnp_is_the_peers_propagation_of_a_perceptron(backend):
    model, peer = built("appnp", backend), geometric.APPNP(K=3, alpha=0.1)
    for r, found in enumerate(outputs(model)):
        H = torch.relu(DENSE @ model.first.weight[r]) @ model.last.weight[r]
        assert_close(found, peer(H, EDGES), 1e-10)


def test_appnp_drops_edges_anew_in_every_step_and_alike_where_it_is_pruned():
    model, stream = built("appnp"), Dropout((4, 5), (0.5, 0.5))
    stream.epoch += 3
    targets = torch.tensor([0, 5])
    whole = model(View.whole(FEATURES, GRAPH, 3), stream)
    part = model(View.around(FEATURES, GRAPH, targets, 3), stream)
    assert_close(part, whole[:, targets], 1e-12)
    seen = {id(stream.at(place)) for place in range(2, 8)}
    assert len(seen) == 6
    assert not torch.equal(whole, outputs(model))


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_gcnii_is_the_peers_layers_one_after_the_other(backend):
    model = built("gcnii", backend)
    for r, found in enumerate(outputs(model)):
        start = h = torch.relu(DENSE @ model.first.weight[r] + model.first.bias[r])
        for t, layer in enumerate(model.layers):
            conv = geometric.GCN2Conv(5, alpha=0.1, theta=0.5, layer=t + 1).double()
            conv.weight1.data = layer.weight[r]
            h = torch.relu(conv(h, start, EDGES))
        assert_close(found, h @ model.last.weight[r] + model.last.bias[r], 1e-10)
    assert model.shares == [math.log(0.5 / t + 1) for t in (1, 2, 3, 4)]


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_graphsage_is_the_peers_layers_one_after_the_other(backend):
    model = built("graphsage", backend)
    for r, found in enumerate(outputs(model)):
        h = DENSE
        owns, means = [model.first_own, *model.own], [model.first_mean, *model.mean]
        for own, mean in zip(owns, means, strict=True):
            conv = geometric.SAGEConv(h.shape[1], 5, bias=False).double()
            conv.lin_r.weight.data, conv.lin_l.weight.data = own.weight[r].T, mean.weight[r].T
            h = F.normalize(torch.relu(conv(h, EDGES)), dim=1)
        assert_close(found, h @ model.last.weight[r] + model.last.bias[r], 1e-10)


def attention_matrix(h: Tensor, beta: Tensor) -> Tensor:
    """Softmax over each node's neighbours and itself of beta times the cosine."""
    unit = F.normalize(h, dim=1)
    is_near = torch.eye(N, dtype=torch.bool)
    is_near[GRAPH.receivers, GRAPH.senders] = True
    return (beta * unit @ unit.T).masked_fill(~is_near, -torch.inf).softmax(1)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
@pytest.mark.parametrize("kind", ["separated", "separated_attention"])
def test_the_separated_block_is_its_formula(kind, backend):
    model = built(kind, backend)

    def norm(h: Tensor) -> Tensor:
        if kind == "separated_attention":
            return h
        return (h - h.mean(1, keepdim=True)) / (h.var(1, keepdim=True, correction=0) + 1e-5).sqrt()

    for r, found in enumerate(outputs(model)):
        h = F.gelu(DENSE @ model.first.weight[r] + model.first.bias[r])
        for t, block in enumerate(model.blocks):
            z = norm(h)
            weights = P if kind == "separated" else attention_matrix(z, model.attention[t].beta[r])
            W = torch.cat([block.own.weight[r], block.mean.weight[r]])
            inner = F.gelu(torch.cat([z, weights @ z], dim=1) @ W + block.own.bias[r])
            h = h + inner @ block.outer.weight[r] + block.outer.bias[r]
        assert_close(found, norm(h) @ model.last.weight[r] + model.last.bias[r], 1e-10)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_dynamic_filter_is_the_peers_layers_one_after_the_other(backend):
    model = built("dynamic_filter", backend)

    def conv(weight: Tensor, choice, bias: Tensor, r: int) -> torch.nn.Module:
        peer = geometric.FeaStConv(weight.shape[1], bias.shape[1], heads=2).double()
        peer.lin.weight.data = by_heads(weight[r], 2).T.contiguous()
        # Theirs is u . (x_j - x_i), ours u . (x_i - x_j).
        peer.u.weight.data, peer.c.data = -choice.weight[r].T, choice.bias[r]
        peer.bias.data = bias[r]
        return peer

    for r, found in enumerate(outputs(model)):
        one = conv(model.first.weight, model.first_assignment, model.first_bias, r)
        two = conv(model.last.weight, model.last_assignment, model.last_bias, r)
        assert_close(found, two(torch.relu(one(DENSE, EDGES)), EDGES), 1e-10)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_monet_is_its_formula(backend):
    model = built("monet", backend)
    size = torch.tensor([5.0, 2, 2, 2, 3, 2], dtype=torch.float64)  # |N(i)| + 1 of "lopsided"
    for r, found in enumerate(outputs(model)):
        kernels = []
        for k in range(2):
            W, m = torch.zeros(N, N, dtype=torch.float64), model.mixture
            for j, i in WITH_LOOPS.T.tolist():
                v = torch.tanh(size[[i, j]].rsqrt() @ m.turn[r] + m.shift[r])
                z = (v - m.centre[r, :, k]) / m.width[r, :, k]
                W[i, j] = torch.exp(-z.square().sum() / 2)
            kernels.append(W / W.sum(1, keepdim=True))
        h = sum(W @ DENSE @ model.first.weight[r][:, k::2] for k, W in enumerate(kernels))
        out = sum(W @ torch.relu(h) @ model.last.weight[r][:, k::2] for k, W in enumerate(kernels))
        assert_close(found, out, 1e-10)


def test_monets_gaussian_is_the_peers():
    """GMMConv with one kernel, a weight of one and constant states sums the kernel's weights."""
    model = MoNet(9, 3, (4,), kernels=1).double()
    near = Neighbourhoods.of(View.whole(FEATURES, GRAPH, 2), N)
    scale = (GRAPH.degrees + 1).double().rsqrt()
    u = torch.stack([scale[near.receivers], scale[near.senders]], dim=1)
    v = torch.tanh(u @ model.mixture.turn[0] + model.mixture.shift[0])
    conv = geometric.GMMConv(1, 1, dim=2, kernel_size=1, bias=False, aggr="add").double()
    conv.root.weight.data.zero_()  # its own wish not to have one fails in PyG 2.8
    conv.g.data.fill_(1.0)
    conv.mu.data, conv.sigma.data = (p[0].T for p in (model.mixture.centre, model.mixture.width))
    pairs = torch.stack([near.senders, near.receivers])
    sums = conv(torch.ones(N, 1, dtype=torch.float64), pairs, v)[:, 0]
    z = (v[:, :, None] - model.mixture.centre[0]) / model.mixture.width[0]
    weights = torch.exp(-z.square().sum(1) / 2)[:, 0]
    assert_close(torch.zeros(N).double().index_add(0, near.receivers, weights), sums, 1e-9)
    found = model.mixture(View.whole(FEATURES, GRAPH, 2), near)[0, :, 0]
    assert_close(found, weights, 1e-9)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_graph_cnn_is_its_formula_on_the_bare_adjacency(backend):
    model = built("graph_cnn", backend)
    A = torch.zeros(N, N, dtype=torch.float64)
    A[GRAPH.receivers, GRAPH.senders] = 1.0

    def layer(h: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return h @ weight[:, ::2] + A @ h @ weight[:, 1::2] + bias

    for r, found in enumerate(outputs(model)):
        h = torch.relu(layer(DENSE, model.first.weight[r], model.first_bias[r]))
        assert_close(found, layer(h, model.last.weight[r], model.last_bias[r]), 1e-11)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_dcnn_is_its_formula(backend):
    model = built("dcnn", backend)
    for r, found in enumerate(outputs(model)):
        Z = torch.tanh(DENSE * model.scale[r])
        assert_close(found, Z @ model.weight[r] + model.bias[r], 1e-11)


def test_the_gradients_of_dcnn_are_those_of_its_formula():
    model = built("dcnn")
    with torch.no_grad():  # from where tanh is a line to where it is flat
        model.scale *= torch.logspace(-2, 4, model.scale.shape[1], dtype=torch.float64)
    parameters = (model.scale, model.weight, model.bias)
    upstream = torch.linspace(-1, 1, outputs(model).numel(), dtype=torch.float64)
    found = torch.autograd.grad(outputs(model).flatten() @ upstream, parameters)
    dense = torch.tanh(DENSE * model.scale[:, None]) @ model.weight + model.bias[:, None]
    exact = torch.autograd.grad(dense.flatten() @ upstream, parameters)
    for one, other in zip(found, exact, strict=True):
        assert_close(one, other, 1e-11)


def test_diffusion_divides_what_a_node_sends_among_its_neighbours_and_itself():
    A = torch.zeros(N, N, dtype=torch.float64)
    A[GRAPH.receivers, GRAPH.senders] = 1.0
    assert_close(matrix(Propagation.diffusion(GRAPH, torch.float64)), A / (A.sum(0) + 1), 1e-15)


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"dcnn"}))
def test_dropout_acts_only_when_it_is_given_and_moves_with_the_epoch(name):
    model, stream = MODELS[name]("auto").double(), Dropout((0, 1), (0.5, 0.5))
    view = View.whole(FEATURES, GRAPH, model.hops)
    dropped = model(view, stream)
    assert_same_bits(model(view, stream), dropped)
    assert not torch.equal(dropped, model(view))
    stream.epoch += 1
    assert not torch.equal(model(view, stream), dropped)


@pytest.mark.parametrize("name", MODELS)
def test_every_parameter_has_the_replica_first_and_a_gradient(name):
    model = built(name)
    outputs(model).square().sum().backward()
    for parameter in model.parameters():
        assert parameter.shape[0] == 2
        assert parameter.grad.abs().max() > 0
