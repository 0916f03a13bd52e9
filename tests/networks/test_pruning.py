"""Exact pruning: a model on a receptive field gives the whole graph's outputs and gradients.

On compiled backends to the last bit, for every parameter of every model: a field keeps the whole
graph's order wherever something is summed.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import Tensor

from agnn.graph import Graph, SparseFeatures, View
from agnn.kernels import Dropout
from agnn.networks import NodeModel
from agnn.networks._layers import Beta
from built_models import (
    AGNN,
    APPNP,
    DCNN,
    FAGCN,
    GAT,
    GCN,
    GCNII,
    GLN,
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
from properties import CPU_BACKENDS, FAST_BACKENDS, assert_close, assert_same_bits
from zoo import tiny_random

OTHERS = {
    "appnp": lambda *sizes, **how: APPNP(*sizes, steps=4, **how),
    "chebnet": ChebNet,
    "dcnn": DCNN,
    "gat": lambda *sizes, **how: GAT(*sizes, output_heads=2, **how),
    "gcn": GCN,
    "gcnii": lambda *sizes, **how: GCNII(*sizes, layers=3, hidden=24, **how),
    "gln": GLN,
    "graphsage": lambda *sizes, **how: GraphSAGE(*sizes, hidden=24, **how),
    "separated": lambda *sizes, **how: Separated(*sizes, layers=3, hidden=24, **how),
    "sgc": SGC,
}
# Their weights by edge are plain torch, which sums in an order of its own.
CLOSE = {
    "dynamic_filter": DynamicFilter,
    "fagcn": FAGCN,
    "gatv2": GATv2,
    "graph_cnn": GraphCNN,
    "monet": MoNet,
    "transformer": GraphTransformer,
}
MODELS = ("agnn-1", "agnn-2", "agnn-3", "agnn-4", *OTHERS)


def build(kind: str, features: int, backend: str) -> NodeModel:
    if kind in OTHERS | CLOSE:
        return (OTHERS | CLOSE)[kind](features, 7, (1, 2), backend=backend)
    betas = [Beta(k + 0.5) for k in range(int(kind[-1]))]
    return AGNN(features, 7, (1, 2), betas=betas, backend=backend)


def outputs_and_gradients(
    model: NodeModel, view: View, rows: Tensor
) -> tuple[Tensor, dict[str, Tensor]]:
    """Logits at `rows` of a training step, and the gradients of a loss there."""
    stream = Dropout((1, 2), (0.5, 0.2))
    logits = model(view, stream)[:, rows]
    weights = torch.randn(logits.shape, generator=torch.Generator().manual_seed(0))
    named = dict(model.named_parameters())
    found = torch.autograd.grad((logits * weights.to(logits.dtype)).sum(), named.values())
    return logits.detach(), dict(zip(named, found, strict=True))


def both(model: NodeModel, features: SparseFeatures, graph: Graph, targets: Tensor):
    part = View.around(features, graph, targets, model.hops)
    whole = View.whole(features, graph, model.hops)
    assert part.field.sizes[-1] < graph.nodes or model.hops > 2  # something is pruned
    return (
        outputs_and_gradients(model, part, part.field.rows_of(targets)),
        outputs_and_gradients(model, whole, targets),
    )


def random_graph(seed: int, dtype: torch.dtype) -> tuple[SparseFeatures, Graph, Tensor]:
    source = np.random.default_rng(seed)
    X = source.random((400, 50)) * (source.random((400, 50)) < 0.1)
    graph = tiny_random(400, 150, seed).graph()
    targets = torch.tensor(np.sort(source.choice(400, size=9, replace=False)))
    return SparseFeatures.from_scipy(sparse.csr_array(X), dtype), graph, targets


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_pruned_equals_whole_to_the_bit(backend, kind, seed):
    features, graph, targets = random_graph(seed, torch.float32)
    (out, slopes), (all_out, all_slopes) = both(build(kind, 50, backend), features, graph, targets)
    assert_same_bits(out, all_out)
    for name, slope in slopes.items():
        assert_same_bits(slope, all_slopes[name])


@pytest.mark.parametrize("kind", [*MODELS, *CLOSE])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_pruned_equals_whole_in_float64(backend, kind):
    features, graph, targets = random_graph(5, torch.float64)
    (out, slopes), (all_out, all_slopes) = both(
        build(kind, 50, backend).double(), features, graph, targets
    )
    assert_close(out, all_out, 1e-13)
    for name, slope in slopes.items():
        assert_close(slope, all_slopes[name], 1e-12)


@pytest.mark.parametrize("kind", ["agnn-2", "agnn-4", "gcn"])
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_on_cora_pruned_equals_whole_to_the_bit(backend, kind, cora, cora_graph, cora_features):
    targets = torch.tensor(cora.split("fixed").train).sort().values
    model = build(kind, cora_features.width, backend)
    (out, slopes), (all_out, all_slopes) = both(model, cora_features, cora_graph, targets)
    assert_same_bits(out, all_out)
    for name, slope in slopes.items():
        assert_same_bits(slope, all_slopes[name])
