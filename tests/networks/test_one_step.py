"""One training step of every network: the loss and all gradients are those of its formula.

The formulas are written with dense matrices, for one replica, in double precision. AGNN+ and GRAND,
whose steps compute several random versions, have the same tests in files of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (torch's own convention)
from scipy import sparse
from torch import Tensor

from agnn.graph import SparseFeatures
from agnn.methods import NetworkMethod, get_method, method_names
from agnn.training import Targets
from properties import CPU_BACKENDS, assert_close
from zoo import zoo_graph

GRAPH = zoo_graph("random")
N = GRAPH.nodes
WIDTH, CLASSES = 12, 4
_SOURCE = np.random.default_rng(1)
ROWS = _SOURCE.random((N, WIDTH)) * (_SOURCE.random((N, WIDTH)) < 0.4)
FEATURES = SparseFeatures.from_scipy(sparse.csr_array(ROWS), torch.float64)
X = torch.from_numpy(ROWS)
LABELS = np.arange(N) % CLASSES
TRAINED = [np.arange(0, 40), np.arange(20, 60)]  # of the two replicas

A = torch.zeros(N, N, dtype=torch.float64)
A[GRAPH.receivers, GRAPH.senders] = 1.0
LOOPS = torch.eye(N, dtype=torch.float64)
DEGREES = A.sum(1)
SIZES = DEGREES + 1
P = (A + LOOPS) / (SIZES[:, None] * SIZES).sqrt()
NORMALISED = A / (DEGREES[:, None] * DEGREES).clamp(min=1).sqrt()
MEAN = A / DEGREES.clamp(min=1)[:, None]
NEAR = (A + LOOPS) > 0

Parameters = Mapping[str, Tensor]  # by name, of one replica


def linear(p: Parameters, layer: str, h: Tensor) -> Tensor:
    out = h @ p[f"{layer}.weight"]
    return out + p[f"{layer}.bias"] if f"{layer}.bias" in p else out


def heads_of(h: Tensor, heads: int) -> Tensor:
    return h.unflatten(-1, (-1, heads))  # [n, d, K]


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the second axis where `mask` is; zeros in a row without any."""
    weights = torch.where(mask, (scores - scores.detach().amax(1, keepdim=True)).exp(), 0.0)
    total = weights.sum(1, keepdim=True)
    return weights / torch.where(total == 0, 1.0, total)


def by_head(weights: Tensor, z: Tensor) -> Tensor:
    """The sums of the states [n, d, K] by the weights [n, n, K] of every head."""
    return torch.einsum("ijk,jdk->idk", weights, z)


def cosine_attention(h: Tensor, beta: Tensor) -> Tensor:
    unit = F.normalize(h, dim=1)
    return masked_softmax(beta * unit @ unit.T, NEAR) @ h


def perceptron(p: Parameters) -> Tensor:
    return linear(p, "last", torch.relu(linear(p, "first", X)))


def agnn(p: Parameters) -> Tensor:
    h = torch.relu(linear(p, "first", X))
    for t in range(2):
        h = cosine_attention(h, p[f"layers.{t}.beta"])
    return linear(p, "last", h)


def gcn(p: Parameters) -> Tensor:
    return P @ linear(p, "last", torch.relu(P @ linear(p, "first", X)))


def gln(p: Parameters) -> Tensor:
    return P @ P @ linear(p, "last", linear(p, "first", X))


def appnp(p: Parameters) -> Tensor:
    prediction = z = perceptron(p)
    for _ in range(3):
        z = 0.9 * P @ z + 0.1 * prediction
    return z


def gcnii(p: Parameters) -> Tensor:
    h = start = torch.relu(linear(p, "first", X))
    for t in range(3):
        share = math.log(0.5 / (t + 1) + 1.0)
        z = 0.9 * P @ h + 0.1 * start
        h = torch.relu((1 - share) * z + share * z @ p[f"layers.{t}.weight"])
    return linear(p, "last", h)


def chebnet(p: Parameters) -> Tensor:
    def filtered(h: Tensor, weight: Tensor) -> Tensor:
        terms = [LOOPS, -NORMALISED, 2 * NORMALISED @ NORMALISED - LOOPS]
        return sum(T @ h @ weight[:, k::3] for k, T in enumerate(terms))

    return filtered(torch.relu(filtered(X, p["first.weight"])), p["last.weight"])


def graph_cnn(p: Parameters) -> Tensor:
    def filtered(h: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return h @ weight[:, ::2] + A @ h @ weight[:, 1::2] + bias

    h = torch.relu(filtered(X, p["first.weight"], p["first_bias"]))
    return filtered(h, p["last.weight"], p["last_bias"])


def monet(p: Parameters) -> Tensor:
    scale = SIZES.rsqrt()
    u = torch.stack([scale[:, None].expand(N, N), scale.expand(N, N)], -1)
    v = torch.tanh(u @ p["mixture.turn"] + p["mixture.shift"])
    distance = (v[..., None] - p["mixture.centre"]) / p["mixture.width"]
    weights = torch.exp(-distance.square().sum(2) / 2) * NEAR[..., None]
    weights = weights / weights.sum(1, keepdim=True)
    h = torch.relu(by_head(weights, heads_of(linear(p, "first", X), 2)).sum(-1))
    return by_head(weights, heads_of(linear(p, "last", h), 2)).sum(-1)


def dynamic_filter(p: Parameters) -> Tensor:
    def layer(name: str, h: Tensor) -> Tensor:
        scores = h @ p[f"{name}_assignment.weight"]
        gap = scores[:, None] - scores + p[f"{name}_assignment.bias"]
        weights = gap.softmax(-1) / SIZES[:, None, None] * NEAR[..., None]
        return by_head(weights, heads_of(linear(p, name, h), 2)).sum(-1) + p[f"{name}_bias"]

    return layer("last", torch.relu(layer("first", X)))


def fagcn(p: Parameters) -> Tensor:
    h = start = torch.relu(linear(p, "first", X))
    for t in range(2):
        scores = linear(p, f"gates.{t}", h)
        h = 0.3 * start + (torch.tanh(scores[:, :1] + scores[:, 1]) * NORMALISED) @ h
    return linear(p, "last", h)


def gat(p: Parameters) -> Tensor:
    def layer(name: str, h: Tensor, heads: int) -> Tensor:
        z = heads_of(linear(p, name, h), heads)
        receiving = (z * p[f"{name}_attention.receiving"]).sum(1)
        sending = (z * p[f"{name}_attention.sending"]).sum(1)
        scores = F.leaky_relu(receiving[:, None] + sending, 0.2)
        sums = by_head(masked_softmax(scores, NEAR[..., None]), z)
        return sums.flatten(1) + p[f"{name}_attention.bias"]

    h = F.elu(layer("first", X, 4))
    return heads_of(layer("last", h, 2), 2).mean(-1)


def pair_attention(p: Parameters, layer: Callable[[str, Tensor, int], Tensor]) -> Tensor:
    h = F.elu(layer("first", X, 4).flatten(1) + p["first_bias"] + skip(p, "first", X))
    return layer("last", h, 2).mean(-1) + p["last_bias"] + skip(p, "last", h)


def skip(p: Parameters, name: str, h: Tensor) -> Tensor | float:
    return linear(p, f"{name}.skip", h) if f"{name}.skip.weight" in p else 0.0


def gatv2(p: Parameters) -> Tensor:
    def layer(name: str, h: Tensor, heads: int) -> Tensor:
        value = heads_of(linear(p, f"{name}.value", h), heads)
        receiver = heads_of(linear(p, f"{name}.receiver", h), heads)
        vector = p["vectors.0" if name == "first" else "vectors.1"]
        scores = (F.leaky_relu(receiver[:, None] + value, 0.2) * vector).sum(2)
        return by_head(masked_softmax(scores, NEAR[..., None]), value)

    return pair_attention(p, layer)


def transformer(p: Parameters) -> Tensor:
    def layer(name: str, h: Tensor, heads: int) -> Tensor:
        maps = (heads_of(linear(p, f"{name}.{m}", h), heads) for m in ("query", "key", "value"))
        query, key, value = maps
        scores = torch.einsum("idk,jdk->ijk", query, key) / math.sqrt(query.shape[1])
        return by_head(masked_softmax(scores, A[..., None] > 0), value)

    return pair_attention(p, layer)


def graphsage(p: Parameters) -> Tensor:
    def layer(own: str, mean: str, h: Tensor) -> Tensor:
        return F.normalize(torch.relu(linear(p, own, h) + MEAN @ linear(p, mean, h)), dim=1)

    h = layer("own.0", "mean.0", layer("first_own", "first_mean", X))
    return linear(p, "last", h)


def separated(p: Parameters) -> Tensor:
    def norm(h: Tensor) -> Tensor:
        return F.layer_norm(h, h.shape[-1:])

    h = F.gelu(linear(p, "first", X))
    for t in range(2):
        z = norm(h)
        mixed = linear(p, f"blocks.{t}.own", z) + linear(p, f"blocks.{t}.mean", P @ z)
        h = h + linear(p, f"blocks.{t}.outer", F.gelu(mixed))
    return linear(p, "last", norm(h))


def sgc(p: Parameters) -> Tensor:
    return linear(p, "first", X)  # of features that the method has propagated


def dcnn(p: Parameters) -> Tensor:
    return torch.tanh(X * p["scale"]) @ p["weight"] + p["bias"]


# The fields of each network that its formula assumes, and the formula.
FORMULAS: Mapping[str, tuple[Mapping[str, object], Callable[[Parameters], Tensor]]] = {
    "agnn": ({"layers": 2}, agnn),
    "appnp": ({"steps": 3}, appnp),
    "chebnet": ({"order": 2}, chebnet),
    "dcnn": ({}, dcnn),
    "dynamic_filter": ({"filters": 2}, dynamic_filter),
    "fagcn": ({"layers": 2, "epsilon": 0.3}, fagcn),
    "gat": ({"heads": 4, "output_heads": 2}, gat),
    "gatv2": ({"heads": 4, "output_heads": 2}, gatv2),
    "gcn": ({}, gcn),
    "gcnii": ({"layers": 3}, gcnii),
    "gln": ({}, gln),
    "graph_cnn": ({}, graph_cnn),
    "graphsage": ({"layers": 2}, graphsage),
    "monet": ({"kernels": 2}, monet),
    "multilayer_perceptron": ({"has_bias": True}, perceptron),
    "semi_supervised_embedding": ({}, perceptron),
    "separated": ({"layers": 2}, separated),
    "sgc": ({}, sgc),
    "transformer": ({"heads": 4, "output_heads": 2}, transformer),
}
ELSEWHERE = {"agnn_plus", "grand"}  # test_agnn_plus.py and test_grand.py


def test_every_network_has_a_formula() -> None:
    networks = {name for name in method_names() if issubclass(get_method(name), NetworkMethod)}
    assert FORMULAS.keys() | ELSEWHERE == networks


@pytest.mark.parametrize("backend", CPU_BACKENDS)
@pytest.mark.parametrize("name", FORMULAS)
def test_the_loss_and_all_gradients_of_a_step_are_those_of_the_formula(
    name: str, backend: str
) -> None:
    fields, formula = FORMULAS[name]
    kind = get_method(name)
    width = {"hidden": 5} if hasattr(kind, "hidden") else {}
    model = kind(**width, **fields).build(WIDTH, CLASSES, (3, 4), backend).double()
    source = torch.Generator().manual_seed(8)
    with torch.no_grad():  # a bias of zero would hide a mistake
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, dtype=torch.float64, generator=source)
    names, parameters = zip(*model.named_parameters(), strict=True)

    targets = Targets.build(FEATURES, GRAPH, LABELS, TRAINED, model.hops)
    losses = targets.losses(targets.outputs(model), backend)
    gradients = torch.autograd.grad(losses.sum(), parameters)

    exact = []
    for r, nodes in enumerate(TRAINED):
        logits = formula({key: p[r] for key, p in zip(names, parameters, strict=True)})
        exact.append(F.cross_entropy(logits[nodes], torch.from_numpy(LABELS)[nodes]))
    assert_close(losses, torch.stack(exact), 1e-9)
    of_formula = torch.autograd.grad(torch.stack(exact).sum(), parameters)
    for one, other in zip(gradients, of_formula, strict=True):
        assert_close(one, other, 1e-8)
