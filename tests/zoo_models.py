"""The zoo's graphs as data, and models with random weights that read them."""

from __future__ import annotations

import numpy as np
import torch

from agnn.data import NodeData, Split
from agnn.explanation import TrainedModel
from agnn.nn import AGNN, GCN, GLN, Beta, NodeModel
from zoo import ZOO

WIDTH, NAMES = 9, ("red", "green", "blue")
BETAS = (Beta(0.5), Beta(3.0), Beta(-2.0))


def zoo_data(name: str) -> NodeData:
    """The specimen with random features, zero in its zero rows, and classes in turn."""
    specimen = ZOO[name]
    return NodeData.build(
        name=name,
        features=specimen.states(1, WIDTH)[0].abs().numpy(),
        labels=np.arange(specimen.nodes) % len(NAMES),
        edges=np.array(specimen.pairs, dtype=np.int64).reshape(-1, 2).T,
        class_names=NAMES,
    )


def random_model(kind: str) -> NodeModel:
    """An untrained model of two replicas; no parameter is zero."""
    if kind != "agnn":
        return {"gcn": GCN, "gln": GLN}[kind](WIDTH, len(NAMES), (3, 4), hidden=5)
    model = AGNN(WIDTH, len(NAMES), (3, 4), betas=BETAS, hidden=5)
    with torch.no_grad():
        for layer in (model.first, model.last):
            layer.bias.normal_(generator=torch.Generator().manual_seed(1))
    return model


def zoo_model(kind: str, name: str) -> TrainedModel:
    """A random model on a specimen."""
    return TrainedModel(random_model(kind), zoo_data(name))


def even_split(nodes: int) -> Split:
    """Every third node is for training, every third for testing."""
    return Split("thirds", np.arange(0, nodes, 3), np.arange(1, nodes, 3), np.arange(2, nodes, 3))
