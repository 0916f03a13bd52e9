"""A trained model as a PyG module, so that what others wrote for PyG runs on it."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from agnn.errors import InputError
from agnn.graph import DenseFeatures
from agnn.networks import AGNNModel, GCNModel
from agnn.nn import NodeModel
from agnn.pyg._conv import AGNNConv

if TYPE_CHECKING:
    from agnn.runs import Run


class TrainedAGNN(nn.Module):
    """One replica of AGNN or AGNN+ in plain layers; `convs` are `AGNNConv`.

    Shapes: x [n, d_x], edge_index [2, m], edge_weight [m] or None; logits [n, c].
    """

    def __init__(self, model: AGNNModel, replica: int) -> None:
        super().__init__()
        self.first = _linear(model.first.weight[replica], _part(model.first.bias, replica))
        self.convs = nn.ModuleList(_conv(beta) for beta in model.betas[replica])
        self.last = _linear(model.last.weight[replica], _part(model.last.bias, replica))
        self.combination = model.combination  # the weight of each state in what `last` reads
        self.relu_after_hops = model.relu_after_hops

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """Logits [n, c] at all nodes."""
        first = self.first(x)
        states = [first if self.relu_after_hops else first.relu()]
        for conv in self.convs:
            states.append(conv(states[-1], edge_index, edge_weight))
        mixed = [share * state for share, state in zip(self.combination, states, strict=True)
                 if share]  # fmt: skip
        h = torch.stack(mixed).sum(0)
        logits: Tensor = self.last(h.relu() if self.relu_after_hops else h)
        return logits


class TrainedGCN(nn.Module):
    """One replica of GCN or GLN in PyG's `GCNConv`; shapes as in `TrainedAGNN`."""

    def __init__(self, model: GCNModel, replica: int) -> None:
        super().__init__()
        self.first = _gcn_conv(model.first.weight[replica])
        self.last = _gcn_conv(model.last.weight[replica])
        self.has_relu = bool(model.between())

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """Logits [n, c] at all nodes."""
        h = self.first(x, edge_index, edge_weight)
        logits: Tensor = self.last(h.relu() if self.has_relu else h, edge_index, edge_weight)
        return logits


def trained_module(run: Run, replica: int = 0) -> nn.Module:
    """One replica of a run as a PyG module in evaluation mode; `pyg_data(run)` is its input.

    `module(data.x, data.edge_index, data.edge_weight)` are logits, whose softmax is
    `run.scores[replica]`. The parameters are copies.

    >>> import agnn
    >>> run = agnn.evaluate("agnn", agnn.load_dataset("cora"), changes={"epochs": 1})
    >>> module, data = run.to_pyg(), agnn.pyg.pyg_data(run)
    >>> module(data.x, data.edge_index).shape
    torch.Size([2708, 7])
    """
    if not 0 <= replica < run.replicas:
        raise InputError(f"`replica` must be from 0 to {run.replicas - 1}; got {replica}.")
    model = run.network
    made = _module(model, replica)
    if made is None:
        raise InputError(
            f"{run.method.title} has no form as a PyG module: agnn, agnn_plus, gcn and gln have "
            f"one."
        )
    return made.to(next(model.parameters()).device).eval()


@singledispatch
def _module(model: NodeModel, replica: int) -> nn.Module | None:  # noqa: ARG001 (as below)
    """One replica in PyG's layers; None for a model that has no such form."""
    return None


_module.register(AGNNModel, TrainedAGNN)
_module.register(GCNModel, TrainedGCN)


def pyg_data(run: Run, replica: int = 0) -> Data:
    """The run's graph as PyG has it, with the features as its network reads them: scaled, dense.

    Every edge is there in both directions. The masks are those of the replica's split; a label
    that is not known is -1.
    """
    view, graph, split = run.whole_view(), run.graph, run.splits[replica]
    features = view.features
    if isinstance(features, DenseFeatures):
        x = features.values.to(torch.float32, copy=True)  # theirs to change
    else:
        x = torch.zeros(features.rows, features.width, device=features.values.device)
        x[features.row_of_entry, features.columns.long()] = features.values
    found = Data(
        x=x,
        edge_index=torch.stack([graph.senders, graph.receivers]).to(x.device),
        y=torch.from_numpy(run.data.labels.copy()).to(x.device),
    )
    if graph.weights is not None:
        found.edge_weight = graph.weights.to(x.device)
    for name, nodes in (
        ("train_mask", split.train), ("val_mask", split.validation), ("test_mask", split.test)
    ):  # fmt: skip
        mask = torch.zeros(run.data.nodes, dtype=torch.bool)
        mask[torch.from_numpy(nodes.copy())] = True
        found[name] = mask.to(x.device)
    return found


def _linear(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    """The layer x W + b for a weight [d, k]."""
    made = nn.Linear(weight.shape[0], weight.shape[1], bias=bias is not None)
    with torch.no_grad():
        made.weight.copy_(weight.T)
        if bias is not None:
            made.bias.copy_(bias)
    return made


def _conv(beta: Tensor) -> AGNNConv:
    made = AGNNConv()
    with torch.no_grad():
        made.beta.copy_(beta)
    return made


def _gcn_conv(weight: Tensor) -> Any:
    made = GCNConv(weight.shape[0], weight.shape[1], bias=False)
    with torch.no_grad():
        made.lin.weight.copy_(weight.T)
    return made


def _part(bias: Tensor | None, replica: int) -> Tensor | None:
    return None if bias is None else bias[replica]
