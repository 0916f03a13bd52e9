"""A trained model as a PyG module, so that what others wrote for PyG runs on it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import APPNP, MessagePassing

from agnn.errors import InputError
from agnn.graph import DenseFeatures
from agnn.kernels import (
    Anchor,
    Blend,
    CosineAttentionLink,
    DenseLinearLink,
    FirstLayerLink,
    HopMean,
    HopState,
    Link,
    PropagateLink,
    ReLU,
)
from agnn.networks import NodeModel
from agnn.pyg._conv import AGNNConv

if TYPE_CHECKING:
    from agnn.runs import Run


class TrainedNetwork(nn.Module):
    """One replica of a network in plain layers: the links of its chain, one after the other.

    Attention is `AGNNConv`, GCN's propagation is PyG's `APPNP` of one step without restart.
    Shapes: x [n, d_x], edge_index [2, m], edge_weight [m] or None; logits [n, c].
    """

    def __init__(self, model: NodeModel, replica: int) -> None:
        super().__init__()
        links = model.example_links()
        self.layers = nn.ModuleList(_layer(link, replica) for link in links)
        # Which layers' outputs a layer reads besides its input.
        self.earlier = [[links.index(state) for state in _states(link)] for link in links]

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """Logits [n, c] at all nodes."""
        outputs: list[Tensor] = []
        for layer, earlier in zip(self.layers, self.earlier, strict=True):
            if isinstance(layer, MessagePassing):
                x = layer(x, edge_index, edge_weight)
            else:
                x = layer(x, *(outputs[k] for k in earlier))
            outputs.append(x)
        return x


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
    return TrainedNetwork(model, replica).to(next(model.parameters()).device).eval()


def pyg_data(run: Run, replica: int = 0) -> Data:
    """The run's graph as PyG has it, with the features as its network reads them: scaled, dense.

    Every edge is there in both directions. The masks are those of the replica's split; a label
    that is not known is -1.
    """
    view = run.whole_view()
    graph = run.graph
    split = run.splits[replica]
    features = view.features
    if isinstance(features, DenseFeatures):
        x = features.values.to(torch.float32, copy=True)  # theirs to change
    else:
        x = torch.zeros(features.rows, features.width, device=features.values.device)
        x[features.row_of_entry, features.columns.long()] = features.values
    data = Data(
        x=x,
        edge_index=torch.stack([graph.senders, graph.receivers]).to(x.device),
        y=torch.from_numpy(run.data.labels.copy()).to(x.device),
    )
    if graph.weights is not None:
        data.edge_weight = graph.weights.to(x.device)
    for name, nodes in (
        ("train_mask", split.train),
        ("val_mask", split.validation),
        ("test_mask", split.test),
    ):
        mask = torch.zeros(run.data.nodes, dtype=torch.bool)
        mask[torch.from_numpy(nodes.copy())] = True
        data[name] = mask.to(x.device)
    return data


@singledispatch
def _layer(link: Link, replica: int) -> nn.Module:  # noqa: ARG001 (as below)
    """Return a link as a module; raises for one that has no such form."""
    raise InputError(
        f"this network has no form as a PyG module: its link {link.title} has none. agnn, "
        f"agnn_plus, gcn, gln, appnp and gcnii have one."
    )


@_layer.register(FirstLayerLink)
@_layer.register(DenseLinearLink)
def _(link: FirstLayerLink | DenseLinearLink, replica: int) -> nn.Module:
    inputs, outputs = link.weight.shape[1:]
    layer = nn.Linear(inputs, outputs, bias=link.bias is not None)
    with torch.no_grad():
        layer.weight.copy_(link.weight[replica].T)
        if link.bias is not None:
            layer.bias.copy_(link.bias[replica])
    return layer


@_layer.register
def _(link: CosineAttentionLink, replica: int) -> nn.Module:
    layer = AGNNConv()
    with torch.no_grad():
        layer.beta.copy_(link.beta[replica])
    return layer


@_layer.register
def _(link: PropagateLink, replica: int) -> nn.Module:
    if not link.propagation.is_gcn:
        return _layer.dispatch(Link)(link, replica)
    layer: nn.Module = APPNP(K=1, alpha=0.0)
    return layer


@_layer.register
def _(link: ReLU, replica: int) -> nn.Module:  # noqa: ARG001
    return nn.ReLU()


@_layer.register(Anchor)
@_layer.register(HopState)
def _(link: Link, replica: int) -> nn.Module:  # noqa: ARG001
    return nn.Identity()


@_layer.register
def _(link: Blend, replica: int) -> nn.Module:  # noqa: ARG001
    return _Blend(link.share)


@_layer.register
def _(link: HopMean, replica: int) -> nn.Module:  # noqa: ARG001
    return _Mean()


class _Blend(nn.Module):
    """share x + (1 - share) h for an earlier state h."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor, earlier: Tensor) -> Tensor:
        return self.share * x + (1.0 - self.share) * earlier


class _Mean(nn.Module):
    """The mean of the input and of earlier states."""

    def forward(self, x: Tensor, *earlier: Tensor) -> Tensor:
        return torch.stack([x, *earlier]).mean(0)


def _states(link: Link) -> Sequence[Link]:
    """Return the links to whose states a link comes back."""
    if isinstance(link, Blend):
        return [link.anchor]
    return link.states if isinstance(link, HopMean) else []
