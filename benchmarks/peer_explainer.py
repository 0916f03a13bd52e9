"""PyG's GNNExplainer on a trained AGNN: the same weights in PyG's layers, its order of edges."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.explain import Explainer, GNNExplainer, ModelConfig
from torch_geometric.nn import AGNNConv

from agnn.networks._agnn import AGNNModel
from agnn.runs import Run


class PeerEnsemble(nn.Module):
    """The replicas of an AGNN from H(1) on, in PyG's layers; their mean probability.

    `x` [k, R d] holds every replica's states H(1) side by side: the explainer masks edges alone,
    so the first layer need not be computed again and again.
    """

    def __init__(self, model: AGNNModel) -> None:
        super().__init__()
        self.replicas = model.replicas
        self.weights, self.biases = model.last.weight.detach(), model.last.bias.detach()
        self.convs = nn.ModuleList()
        for betas in model.betas:
            for beta in betas:
                conv = AGNNConv(requires_grad=False)
                conv.beta = beta.reshape(1)
                self.convs.append(conv)
        self.layers = model.betas.shape[1]

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Probabilities [k, c]."""
        total = torch.zeros(1)
        for r, h in enumerate(x.chunk(self.replicas, dim=1)):
            for conv in self.convs[r * self.layers : (r + 1) * self.layers]:
                h = conv(h, edge_index)
            logits = h @ self.weights[r] + self.biases[r]
            total = total + logits.softmax(-1) / self.replicas
        return total


def peer_inputs(opened: Run, node: int) -> tuple[PeerEnsemble, Tensor, Tensor, Tensor]:
    """The ensemble, its states and edges around a node, whose row is 0, and the nodes' indices."""
    model = opened.network
    if not isinstance(model, AGNNModel):
        raise TypeError(f"only AGNN is rebuilt in PyG's layers; got {type(model).__name__}.")
    view = opened.view_of(node)
    with torch.no_grad():
        states = torch.relu(model.first(view.features, None, model.backend))  # [R, k, d]
    x = torch.cat(list(states), dim=1)
    graph = view.field.graph
    edge_index = torch.stack([graph.senders, graph.receivers])
    return PeerEnsemble(model), x, edge_index, view.field.nodes


def peer_order(opened: Run, node: int, seed: int = 0) -> list[tuple[int, int]]:
    """The edges around a node from the most to the least important, by GNNExplainer's mask.

    PyG's own settings (100 epochs); the masks of an edge's two directions are added.
    """
    torch.manual_seed(seed)
    model, x, edge_index, nodes = peer_inputs(opened, node)
    explainer = Explainer(
        model,
        algorithm=GNNExplainer(),
        explanation_type="model",
        edge_mask_type="object",
        model_config=ModelConfig(
            mode="multiclass_classification", task_level="node", return_type="probs"
        ),
    )
    mask = explainer(x, edge_index, index=0).edge_mask
    total: dict[tuple[int, int], float] = {}
    for i, j, value in zip(*nodes[edge_index].tolist(), mask.tolist(), strict=True):
        pair = (min(i, j), max(i, j))
        total[pair] = total.get(pair, 0.0) + value
    return sorted(total, key=lambda pair: -total[pair])
