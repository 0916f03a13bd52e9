"""AGNN+: the model and its objective equal their definition in plain torch, with all gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import Tensor

from agnn.graph import SparseFeatures, View
from agnn.kernels import Dropout
from agnn.kernels._dropout import factors
from agnn.networks import INPUT, OUTPUT
from agnn.networks._consistency import Consistency, ConsistencySettings
from agnn.networks._layers import Beta
from agnn.networks._model import INSIDE
from agnn.training import Targets
from built_models import AGNNPlus
from properties import CPU_BACKENDS, assert_close, assert_same_bits, dense_attention
from zoo import ZOO, zoo_graph

ANIMAL, GRAPH = ZOO["random"], zoo_graph("random")
NODES, WIDTH, CLASSES = 200, 30, 4
_SOURCE = np.random.default_rng(1)
X = _SOURCE.random((NODES, WIDTH)) * (_SOURCE.random((NODES, WIDTH)) < 0.3)
FEATURES = SparseFeatures.from_scipy(sparse.csr_array(X), torch.float64)
LABELS = np.arange(NODES) % CLASSES
BETAS = (Beta(0.5), Beta(2.0), Beta(1.0))
RATE, ROW_RATE, INPUT_RATE = 0.4, 0.5, 0.3


def model(seeds=(3, 4), backend="auto", **changes: object) -> AGNNPlus:
    chosen = {"row_dropout": ROW_RATE, "input_dropout": INPUT_RATE} | changes
    made = AGNNPlus(
        WIDTH, CLASSES, seeds, betas=BETAS, hidden=6, backend=backend, **chosen
    ).double()  # type: ignore[arg-type]
    with torch.no_grad():  # a bias of zero would hide a mistake
        made.first.bias.normal_(generator=torch.Generator().manual_seed(1))  # type: ignore[union-attr]
    return made


def stream(seeds=(3, 4), step: int = 5) -> Dropout:
    drop = Dropout(seeds, [RATE] * len(seeds))
    drop.epoch += step
    return drop


def definition(made: AGNNPlus, drop: Dropout, r: int, version: int, versions: int) -> Tensor:
    """Logits [n, c] of one version by the formulas, from dense matrices."""

    def kept(place: int, rows: Tensor, columns: Tensor, rate: float | None = None) -> Tensor:
        each = drop.at(place, versions=versions, rate=rate)
        return factors(each, rows, columns, torch.float64)[r * versions + version]

    nodes = torch.arange(NODES)

    def whole(place: int, width: int, rate: float | None = None) -> Tensor:
        rows = nodes.repeat_interleave(width)
        return kept(place, rows, torch.arange(width).repeat(NODES), rate).view(NODES, width)

    x = torch.from_numpy(X) * whole(INPUT, WIDTH, INPUT_RATE)
    h = x @ made.first.weight[r] + made.first.bias[r]  # type: ignore[index]
    h = h if made.relu_after_hops else torch.relu(h)
    h = h * kept(INSIDE, nodes, torch.zeros_like(nodes), ROW_RATE)[:, None]
    states = [h]
    for layer in made._layers():
        states.append(
            dense_attention(ANIMAL.neighbourhoods(), states[-1], layer.beta[r]) @ states[-1]
        )
    mean = torch.stack(states).mean(0)
    mean = torch.relu(mean) if made.relu_after_hops else mean
    return (mean * whole(OUTPUT, 6)) @ made.last.weight[r] + made.last.bias[r]  # type: ignore[index]


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_versions_equal_the_formulas(backend, late):
    made, drop = model(backend=backend, relu_after_hops=late), stream()
    found = made.version_logits(View.whole(FEATURES, GRAPH, 3), drop, 3)
    for r in range(2):
        for version in range(3):
            assert_close(found[r, version], definition(made, drop, r, version, 3), 1e-10)
    assert not torch.equal(found[0, 0], found[0, 1])


@pytest.mark.parametrize(("sample", "late"), [(None, False), (40, False), (None, True)])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_the_objective_and_all_its_gradients_equal_plain_autograd(backend, sample, late):
    made, drop = model(backend=backend, relu_after_hops=late), stream(step=5)
    chosen = ConsistencySettings(2, 0.7, 0.4, 0.2, warm_up=10, sample=sample)
    targets = Targets.build(FEATURES, GRAPH, LABELS, [np.arange(12), np.arange(6, 30)], 3)
    objective = Consistency(made, FEATURES, GRAPH, chosen)
    losses = objective(targets, drop)
    names, parameters = zip(*made.named_parameters(), strict=True)
    found = torch.autograd.grad(losses.sum(), parameters)
    nodes = torch.arange(NODES)
    if sample is not None:
        view, _, rows = objective._part(targets, drop)
        nodes = view.field.targets[rows]
        assert 20 <= nodes.numel() <= sample

    expected = []
    for r, train in enumerate((torch.arange(12), torch.arange(6, 30))):
        z = torch.stack([definition(made, drop, r, s, 2) for s in range(2)])
        truth = torch.from_numpy(LABELS)[train]
        cross = -z.log_softmax(-1)[:, train].gather(-1, truth.expand(2, -1)[..., None]).mean()
        p = z[:, nodes].softmax(-1)
        mean = p.mean(0).detach()
        sharp = mean ** (1 / 0.4)
        sharp = sharp / sharp.sum(-1, keepdim=True)
        distance = (p - sharp).square().sum(-1).mean(0) * (mean.amax(-1) >= 0.4)
        # The strength has risen half way: step 5 of 10.
        expected.append(cross + 0.35 * distance.mean())
    wanted = torch.autograd.grad(torch.stack(expected).sum(), parameters)
    assert_close(losses, torch.stack(expected), 1e-10)
    for name, one, other in zip(names, found, wanted, strict=True):
        assert_close(one, other, 1e-9), name


def test_a_replica_has_the_same_bits_in_company_and_alone():
    view, made = View.whole(FEATURES, GRAPH, 3), model()
    together = made.version_logits(view, stream(), 2)
    alone = AGNNPlus(
        WIDTH, CLASSES, (4,), betas=BETAS, hidden=6, row_dropout=ROW_RATE, input_dropout=INPUT_RATE
    ).double()
    alone.load_state_dict({name: t[1:] for name, t in made.state_dict().items()})
    assert_same_bits(alone.version_logits(view, stream((4,)), 2)[0], together[1])


def test_pruning_changes_no_bit():
    made, nodes = model(), torch.tensor([3, 50, 120])
    pruned = View.around(FEATURES, GRAPH, nodes, 3)
    whole = View.whole(FEATURES, GRAPH, 3)
    assert pruned.field.sizes[0] == 3
    assert_same_bits(made(pruned), made(whole)[:, nodes])
    expected = made.version_logits(whole, stream(), 2)[:, :, nodes]
    assert_same_bits(made.version_logits(pruned, stream(), 2), expected)


def test_rates_of_zero_drop_nothing():
    plain = model(row_dropout=0.0, input_dropout=0.0)
    drop = Dropout((3, 4), (0.0, 0.0))
    view = View.whole(FEATURES, GRAPH, 3)
    found = plain.version_logits(view, drop, 2)
    assert_close(found[:, 1], plain(view), 1e-12)


def test_a_node_itself_weighs_at_least_its_share_of_the_hops():
    paths = model().propagation(View.whole(FEATURES, GRAPH, 3))
    assert paths.combination == (0.25,) * 4
    assert paths.is_attention
    assert len(paths.hops) == 3
