"""GRAND: the model equals its definition in plain torch, normalised or not."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own convention)
from scipy import sparse
from torch import Tensor

from agnn.graph import Propagation, SparseFeatures, View
from agnn.kernels import Dropout
from agnn.kernels._dropout import factors
from agnn.networks import INPUT, OUTPUT
from agnn.networks._model import INSIDE
from built_models import GRAND
from properties import CPU_BACKENDS, assert_close, assert_same_bits
from zoo import zoo_graph

GRAPH, NODES, WIDTH, CLASSES, STEPS = zoo_graph("random"), 200, 12, 3, 4
_SOURCE = np.random.default_rng(1)
X = _SOURCE.random((NODES, WIDTH)) * (_SOURCE.random((NODES, WIDTH)) < 0.4)
FEATURES = SparseFeatures.from_scipy(sparse.csr_array(X), torch.float64)
P = torch.from_numpy(Propagation.symmetric(GRAPH, torch.float64).matrix().toarray())
RATE, ROW_RATE, INPUT_RATE = 0.3, 0.4, 0.2


def model(seeds=(3, 4), backend: str = "auto", *, has_norm: bool = False) -> GRAND:
    return GRAND(
        WIDTH, CLASSES, seeds, hidden=5, steps=STEPS, row_dropout=ROW_RATE,
        input_dropout=INPUT_RATE, has_norm=has_norm, backend=backend,
    ).double()  # fmt: skip


def stream(seeds=(3, 4)) -> Dropout:
    drop = Dropout(seeds, [RATE] * len(seeds))
    drop.epoch += 7
    return drop


def propagated(x: Tensor) -> Tensor:
    total, state = x.clone(), x
    for _ in range(STEPS):
        state = P @ state
        total = total + state
    return total / (STEPS + 1)


def normalised(made: GRAND, layer: str, x: Tensor, r: int) -> Tensor:
    own = getattr(made, layer)
    if not own.has_norm:
        return x
    return F.batch_norm(x, None, None, own.scale[r], own.shift[r], training=True)


def definition(made: GRAND, drop: Dropout, r: int, version: int, versions: int) -> Tensor:
    def kept(place: int, width: int, rate: float | None = None) -> Tensor:
        rows = torch.arange(NODES).repeat_interleave(width)
        columns = torch.arange(width).repeat(NODES)
        each = factors(drop.at(place, versions=versions, rate=rate), rows, columns, torch.float64)
        return each[r * versions + version].view(NODES, width)

    # Rows are dropped and not scaled up, as the authors have it.
    x = torch.from_numpy(X) * (kept(INSIDE, 1, ROW_RATE) > 0)
    x = normalised(made, "first", propagated(x), r) * kept(INPUT, WIDTH, INPUT_RATE)
    h = torch.relu(x @ made.first.weight[r] + made.first.bias[r])
    h = normalised(made, "last", h, r) * kept(OUTPUT, 5)
    return h @ made.last.weight[r] + made.last.bias[r]


@pytest.mark.parametrize("has_norm", [False, True])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_versions_and_their_gradients_equal_the_formulas(backend, has_norm):
    made, drop = model(backend=backend, has_norm=has_norm), stream()
    found = made.version_logits(View.whole(FEATURES, GRAPH, STEPS), drop, 2)
    expected = torch.stack(
        [torch.stack([definition(made, drop, r, s, 2) for s in range(2)]) for r in range(2)]
    )
    assert_close(found, expected, 1e-10)
    parameters = list(made.parameters())
    weights = torch.randn(found.shape, dtype=torch.float64)
    one = torch.autograd.grad((found * weights).sum(), parameters)
    other = torch.autograd.grad((expected * weights).sum(), parameters)
    for mine, theirs in zip(one, other, strict=True):
        assert_close(mine, theirs, 1e-9)


def test_evaluation_scales_the_features_down_in_place_of_dropping():
    made = model()
    x = propagated((1 - ROW_RATE) * torch.from_numpy(X))
    found = made(View.whole(FEATURES, GRAPH, STEPS))
    for r in range(2):
        h = torch.relu(x @ made.first.weight[r] + made.first.bias[r])
        assert_close(found[r], h @ made.last.weight[r] + made.last.bias[r], 1e-10)


def test_running_statistics_are_those_of_torchs_batch_normalisation():
    made, view = model((3,), has_norm=True), View.whole(FEATURES, GRAPH, STEPS)
    theirs = torch.nn.BatchNorm1d(WIDTH).double()
    drop = stream((3,))
    for _ in range(3):
        for version in made.random_features(view, drop, 2):
            theirs(version)
        made.version_logits(view, drop, 2)
        drop.epoch += 1
    assert_close(made.first.mean[0], theirs.running_mean, 1e-10)
    assert_close(made.first.variance[0], theirs.running_var, 1e-10)
    x = propagated((1 - ROW_RATE) * torch.from_numpy(X))
    hidden = torch.relu(theirs.eval()(x) @ made.first.weight[0] + made.first.bias[0])
    last = made.last
    hidden = F.batch_norm(hidden, last.mean[0], last.variance[0], last.scale[0], last.shift[0])
    assert_close(made(view)[0], hidden @ last.weight[0] + last.bias[0], 1e-9)


def test_pruning_and_company_change_no_bit():
    made, nodes = model(), torch.tensor([3, 50, 120])
    pruned = View.around(FEATURES, GRAPH, nodes, STEPS)
    whole = View.whole(FEATURES, GRAPH, STEPS)
    assert_same_bits(made(pruned), made(whole)[:, nodes])
    alone = model((4,))
    alone.load_state_dict({name: t[1:] for name, t in made.state_dict().items()})
    together = made.version_logits(whole, stream(), 2)
    assert_same_bits(alone.version_logits(whole, stream((4,)), 2)[0], together[1])
