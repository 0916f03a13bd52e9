"""The PyG layer under torch.compile and under autocast: it works, with the right numbers."""

from __future__ import annotations

import shutil
import warnings

import pytest
import torch
from torch import Tensor, nn

from agnn.pyg import AGNNConv
from properties import assert_close, dense_attention
from zoo import random_pairs

NODES = 40
SIMPLE = tuple(sorted({(min(p), max(p)) for p in random_pairs(NODES, 90, seed=3) if p[0] != p[1]}))
EDGES = torch.tensor([edge for i, j in SIMPLE for edge in ((i, j), (j, i))]).T
STATES = torch.randn(NODES, 16, generator=torch.Generator().manual_seed(1))
WEIGHTS = torch.rand(NODES, NODES, generator=torch.Generator().manual_seed(2)) + 0.5
DEVICES = ("cpu", *(["cuda"] if torch.cuda.is_available() else []))


def exact(x: Tensor, weights: Tensor | None = None) -> Tensor:
    """The definition in float64."""
    joined = torch.eye(NODES, dtype=torch.bool)
    joined[EDGES[1], EDGES[0]] = True
    one, x = torch.ones((), dtype=torch.float64), x.detach().cpu().double()
    return dense_attention(joined, x, one, weights) @ x


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="inductor needs a C++ compiler")
def test_the_default_backend_of_torch_compile_gives_the_same_and_its_gradients(kernel_calls):
    layer, x, w = AGNNConv(), STATES.clone().requires_grad_(), WEIGHTS[EDGES[1], EDGES[0]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what inductor warns of is not our concern
        out = torch.compile(layer)(x, EDGES, w)
        found = torch.autograd.grad(out.square().sum(), (x, layer.beta))
    assert not kernel_calls
    plain = layer(x, EDGES, w)
    expected = torch.autograd.grad(plain.square().sum(), (x, layer.beta))
    assert_close(out, plain, 1e-5)
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, 1e-4)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_single_precision_stays_so_under_autocast(device, is_weighted):
    symmetric = WEIGHTS + WEIGHTS.T
    w = symmetric[EDGES[1], EDGES[0]].to(device) if is_weighted else None
    layer, x = AGNNConv().to(device), STATES.to(device).requires_grad_()
    with torch.autocast(device, dtype=torch.bfloat16):
        out = layer(x, EDGES.to(device), w)
    assert out.dtype == torch.float32
    assert_close(out.cpu(), exact(x, symmetric.double() if is_weighted else None), 1e-5)
    (slope,) = torch.autograd.grad(out.square().sum(), x)
    (plain,) = torch.autograd.grad(layer(x, EDGES.to(device), w).square().sum(), x)
    assert_close(slope.cpu(), plain.cpu(), 1e-5)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("short", [torch.bfloat16, torch.float16])
def test_short_states_are_compared_in_single_precision(device, short):
    """What autocast gives a layer after a linear one."""
    layer, x = AGNNConv().to(device), STATES.to(device, short)
    out = layer(x, EDGES.to(device))
    assert out.dtype == torch.float32  # as in PyG: beta is float32
    assert_close(out.cpu(), exact(x), 1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_a_network_trains_under_autocast_as_without(device):
    def trained(*, is_short: bool) -> tuple[float, float]:
        torch.manual_seed(0)
        first, layer = nn.Linear(16, 8).to(device), AGNNConv().to(device)
        optimiser = torch.optim.Adam([*first.parameters(), *layer.parameters()], lr=0.05)
        edges, target = EDGES.to(device), STATES[:, :8].to(device)
        for _ in range(30):
            optimiser.zero_grad()
            with torch.autocast(device, dtype=torch.bfloat16, enabled=is_short):
                out = layer(first(STATES.to(device)), edges)
            loss = (out.float() - target).square().mean()
            loss.backward()
            optimiser.step()
        return float(loss.detach()), float(layer.beta.detach())

    (short_loss, short_beta), (loss, beta) = trained(is_short=True), trained(is_short=False)
    assert short_loss == pytest.approx(loss, rel=0.03)
    assert short_beta == pytest.approx(beta, rel=0.05)
