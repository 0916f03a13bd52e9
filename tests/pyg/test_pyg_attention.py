"""The attention comes out when asked, and PyG's explainers find it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from agnn.pyg import AGNNConv
from properties import assert_close, dense_attention

from torch_geometric.explain import AttentionExplainer, Explainer, GNNExplainer  # isort: skip
from torch_geometric.nn import AGNNConv as Peer  # isort: skip
from torch_geometric.nn import GATConv  # isort: skip

EDGES = torch.tensor([[0, 1, 1, 2, 3, 1], [1, 0, 2, 1, 1, 3]])
DIRECTED = EDGES[:, ::2]


def states(nodes: int = 5) -> Tensor:
    source = torch.Generator().manual_seed(2)
    return torch.randn(nodes, 6, dtype=torch.float64, generator=source)


def as_matrix(edges: Tensor, alpha: Tensor, nodes: int) -> Tensor:
    matrix = torch.zeros(nodes, nodes, dtype=alpha.dtype)
    matrix[edges[1], edges[0]] = alpha.detach()
    return matrix


def definition(edges: Tensor, x: Tensor, beta: float) -> Tensor:
    joined = torch.eye(x.shape[0], dtype=torch.bool)
    joined[edges[1], edges[0]] = True
    return dense_attention(joined, x, torch.tensor([beta]).double())


@pytest.mark.parametrize("edges", [EDGES, DIRECTED, EDGES[:, :0]], ids=["both", "directed", "none"])
def test_the_attention_is_the_definitions(edges):
    layer, x = AGNNConv().double(), states()
    layer.beta.data.fill_(2.5)
    out, (ends, alpha) = layer(x, edges, return_attention_weights=True)
    expected = definition(edges, x, 2.5)
    assert_close(as_matrix(ends, alpha, 5), expected, 1e-13)
    assert_close(out, expected @ x, 1e-13)
    assert_close(out, layer(x, edges), 1e-13)


def test_the_edges_of_the_attention_stand_as_in_pygs_gat():
    edges = torch.cat([torch.tensor([[2], [2]]), EDGES], dim=1)  # a self-loop is given
    _, (ours, alpha) = AGNNConv().double()(states(), edges, return_attention_weights=True)
    _, (theirs, _) = GATConv(6, 2).double()(states(), edges, return_attention_weights=True)
    assert torch.equal(ours, theirs)
    assert alpha.shape == (ours.shape[1],)


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr], ids=str)
def test_a_sparse_adjacency_comes_back_with_the_attention_in_it(layout):
    adjacency = torch.zeros(5, 5)
    adjacency[DIRECTED[1], DIRECTED[0]] = 1.0
    layer, x = AGNNConv().double(), states()
    _, (found, alpha) = layer(x, adjacency.to_sparse(layout=layout), return_attention_weights=True)
    assert found.layout == layout
    assert_close(found.to_dense().detach(), definition(DIRECTED, x, 1.0), 1e-13)
    assert alpha.numel() == DIRECTED.shape[1] + 5


def test_the_attention_can_be_learned_from():
    layer, x = AGNNConv().double(), states().requires_grad_()
    _, (_, alpha) = layer(x, EDGES, return_attention_weights=True)
    alpha[0].backward()
    assert layer.beta.grad is not None
    assert float(x.grad.abs().sum()) > 0.0


class Model(nn.Module):
    """Two linear layers with two attention layers between them."""

    def __init__(self, kind: type[nn.Module]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last = nn.Linear(6, 4), nn.Linear(4, 3)
        self.layers = nn.ModuleList([kind(), kind()])

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        h = self.first(x).relu()
        for layer in self.layers:
            h = layer(h, edge_index)
        return self.last(h)


def explained(model: nn.Module, algorithm: object, edges: Tensor) -> Tensor:
    config = {"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"}
    explainer = Explainer(
        model.double(), algorithm, "model", model_config=config, edge_mask_type="object"
    )
    return explainer(states(), edges, index=1).edge_mask


@pytest.mark.parametrize("edges", [EDGES, DIRECTED], ids=["both", "directed"])
def test_pygs_attention_explainer_gives_the_attention_edge_by_edge(edges):
    model = Model(AGNNConv).double()
    found = explained(model, AttentionExplainer(reduce="mean"), edges)
    h, alphas = model.first(states()).relu(), []
    for layer in model.layers:
        alphas.append(definition(edges, h, 1.0)[edges[1], edges[0]])
        h = layer(h, edges)
    reached = (edges == 1).any(0) if edges is EDGES else edges[1] == 1
    expected = torch.stack(alphas).mean(0).detach() * reached
    assert_close(found, expected, 1e-13)


def test_pygs_own_layer_has_no_attention_to_explain():
    with pytest.raises(ValueError, match="Could not collect any attention"):
        explained(Model(Peer), AttentionExplainer(), EDGES)


def test_masks_on_edges_act_as_on_pygs_layer(kernel_calls):
    found = []
    for kind in (AGNNConv, Peer):
        model = Model(kind)
        torch.manual_seed(1)
        found.append(explained(model, GNNExplainer(epochs=5), EDGES))
        calls = len(kernel_calls)
        model(states(), EDGES)  # and afterwards the kernels are back
        assert len(kernel_calls) == calls + (2 if kind is AGNNConv else 0)
    assert_close(*found, 1e-9)


def test_a_hook_on_the_messages_is_called():
    layer, seen = AGNNConv().double(), []
    handle = layer.register_message_forward_hook(lambda _layer, inputs, _out: seen.append(inputs))
    layer(states(), EDGES)
    handle.remove()
    layer(states(), EDGES)
    assert len(seen) == 1
    assert seen[0][0]["alpha"].shape == (EDGES.shape[1] + 5,)
