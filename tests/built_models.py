"""Untrained models by the name of their network: `GCN(9, 3, seeds=(0, 1), hidden=5)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from agnn import networks
from agnn.networks import NetworkMethod, NodeModel
from agnn.networks._layers import Beta


def builder(network: type[NetworkMethod], **defaults: Any) -> Callable[..., NodeModel]:
    """A function that builds models of a network from its sizes, seeds and hyper-parameters."""

    def build(
        features: int,
        classes: int,
        seeds: Sequence[int] = (0,),
        *,
        backend: str = "auto",
        betas: Sequence[Beta] | None = None,  # of each layer, where the network has them
        **fields: Any,
    ) -> NodeModel:
        chosen = defaults | fields
        if betas is not None:
            chosen["layers"] = len(betas)
            if not betas[0].learned and hasattr(network, "first_beta"):
                chosen["first_beta"] = betas[0].start
        model = network(**chosen).build(features, classes, seeds, backend)
        with torch.no_grad():
            for layer, beta in zip(model.layers if betas else (), betas or (), strict=True):
                layer.beta.fill_(beta.start)
        return model

    return build


AGNN = builder(networks.AGNN, layers=2)
AGNNPlus = builder(networks.AGNNPlus)
APPNP = builder(networks.APPNP)
ChebNet = builder(networks.ChebNet)
DCNN = builder(networks.DCNN)
DynamicFilter = builder(networks.DynamicFilter)
FAGCN = builder(networks.FAGCN)
GAT = builder(networks.GAT)
GATv2 = builder(networks.GATv2)
GCN = builder(networks.GCN)
GCNII = builder(networks.GCNII)
GLN = builder(networks.GLN)
GRAND = builder(networks.GRAND)
GraphCNN = builder(networks.GraphCNN)
GraphSAGE = builder(networks.GraphSAGE)
GraphTransformer = builder(networks.GraphTransformer)
MLP = builder(networks.MultilayerPerceptron, has_bias=True)
MoNet = builder(networks.MoNet)
SGC = builder(networks.SGC)
Separated = builder(networks.Separated)
