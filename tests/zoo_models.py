"""The zoo's graphs as data, and models with random weights that read them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch

from agnn.data import NodeData, Split
from agnn.networks import NodeModel
from agnn.networks._layers import Beta
from agnn.runs import Run
from built_models import (
    AGNN,
    APPNP,
    FAGCN,
    GAT,
    GCN,
    GCNII,
    GLN,
    AGNNPlus,
    ChebNet,
    DynamicFilter,
    GATv2,
    GraphCNN,
    GraphSAGE,
    GraphTransformer,
    MoNet,
)
from toy_runs import run_of
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


BUILDS: dict[str, Callable[..., NodeModel]] = {
    "agnn": partial(AGNN, betas=BETAS, hidden=5),
    "agnn_plus": partial(AGNNPlus, betas=BETAS, hidden=5),
    "agnn_plus_relu_after": partial(AGNNPlus, betas=BETAS, hidden=5, relu_after_hops=True),
    "gcn": partial(GCN, hidden=5),
    "gln": partial(GLN, hidden=5),
    "gat": partial(GAT, hidden=3, heads=2, output_heads=2),
    "appnp": partial(APPNP, hidden=5, steps=3, alpha=0.2),
    "gcnii": partial(GCNII, hidden=5, layers=3, alpha=0.2),
    "graph_cnn": partial(GraphCNN, hidden=5),
    "monet": partial(MoNet, hidden=5, kernels=2),
    "dynamic_filter": partial(DynamicFilter, hidden=5, filters=2),
    "chebnet": partial(ChebNet, hidden=4, order=2),
    "fagcn": partial(FAGCN, hidden=5, layers=3, epsilon=0.2),
    "gatv2": partial(GATv2, hidden=3, heads=2, output_heads=2),
    "transformer": partial(GraphTransformer, hidden=3, heads=2, output_heads=2),
    "graphsage": partial(GraphSAGE, hidden=5, layers=3),
}
EXPLAINED = tuple(BUILDS)


def random_model(kind: str) -> NodeModel:
    """An untrained model of two replicas; no bias is zero."""
    model = BUILDS[kind](WIDTH, len(NAMES), (3, 4))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(generator=torch.Generator().manual_seed(1))
    return model


def zoo_model(kind: str, name: str) -> Run:
    """A random model on a specimen."""
    return run_of(random_model(kind), zoo_data(name))


def even_split(nodes: int) -> Split:
    """Every third node is for training, every third for testing."""
    return Split("thirds", np.arange(0, nodes, 3), np.arange(1, nodes, 3), np.arange(2, nodes, 3))
