"""States of type bf16: what is rounded, what is not, and who has them."""

from __future__ import annotations

import pytest
import torch

from agnn import evaluate, load_run
from agnn.errors import InputError
from agnn.graph import Graph, Propagation, View, features_of
from agnn.kernels import cosine_attention, propagate
from built_models import AGNN
from properties import CPU_BACKENDS, assert_close, dense_attention
from zoo import ZOO


def rounded(x: torch.Tensor) -> torch.Tensor:
    return x.bfloat16().double()


@pytest.mark.parametrize("backend", CPU_BACKENDS)
@pytest.mark.parametrize("name", ["hub", "zero row", "random"])
def test_a_layer_reads_and_writes_short_states_and_sums_in_single_precision(name, backend):
    """One rounding of the exact result, none on the way, as on a GPU."""
    animal = ZOO[name]
    graph, h = animal.graph(), animal.states(2, 16, torch.bfloat16)
    beta = torch.tensor([1.0, -0.7])
    exact = cosine_attention(graph, h.double(), beta.double(), backend="reference")
    found = cosine_attention(graph, h, beta, backend=backend)
    assert found.dtype == torch.bfloat16
    assert_close(found.double(), exact, 2**-8)
    P = Propagation.symmetric(graph)
    sent = propagate(P, h, backend=backend)
    assert sent.dtype == torch.bfloat16
    assert_close(
        sent.double(), propagate(Propagation.symmetric(graph, torch.float64), h.double()), 2**-8
    )


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_gradients_of_short_states_are_those_of_the_definition(backend):
    animal = ZOO["random"]
    graph, h = animal.graph(), animal.states(2, 16, torch.bfloat16).requires_grad_()
    beta = torch.tensor([1.0, -0.7], requires_grad=True)
    g = animal.states(2, 16, torch.bfloat16, seed=1)
    dh, dbeta = torch.autograd.grad(cosine_attention(graph, h, beta, backend=backend), (h, beta), g)
    wide, betas = h.detach().double().requires_grad_(), beta.detach().double().requires_grad_()
    out = cosine_attention(graph, wide, betas, backend="reference")
    exact = torch.autograd.grad(out, (wide, betas), g.double())
    assert (dh.dtype, dbeta.dtype) == (torch.bfloat16, torch.float32)
    assert_close(dh.double(), exact[0], 2**-6)
    assert_close(dbeta.double(), exact[1], 2**-6, floor=10.0)


def test_agnn_rounds_the_states_of_every_layer_and_nothing_else(toy):
    graph, x = Graph.of(toy), toy.scaled_features("sum")
    model = AGNN(30, 3, (0,), hidden=16, precision="bf16")
    found = model(View.whole(features_of(x), graph, 2))
    assert found.dtype == torch.float32
    joined = torch.eye(toy.nodes, dtype=torch.bool)
    joined[graph.receivers, graph.senders] = True
    w0, b0, w1, b1 = (
        each.detach()[0].double()
        for each in (model.first.weight, model.first.bias, model.last.weight, model.last.bias)
    )
    h = rounded(torch.from_numpy(x.toarray()).double() @ w0 + b0).relu()
    for layer in model.layers:
        h = rounded(dense_attention(joined, h, layer.beta.detach().double()[0]) @ h)
    # A sum in another order may be rounded to the other side here and there.
    close = ((found[0].double() - (h @ w1 + b1)).abs() < 1e-5).double().mean()
    assert close > 0.95
    assert_close(found[0].double(), h @ w1 + b1, 2**-7)


@pytest.mark.parametrize("name", ["agnn", "gcn", "gln"])
def test_training_is_nearly_that_in_single_precision(toy, name):
    exact, short = (
        evaluate(name, toy, "fixed", replicas=2, changes={"epochs": 20, "precision": each})
        for each in ("float32", "bf16")
    )
    assert not torch.equal(short.scores, exact.scores)
    assert_close(short.history.training_loss, exact.history.training_loss, 0.02)
    assert all(each.dtype == torch.float32 for each in short.model.parameters())


def test_a_run_keeps_its_precision_and_samples_have_it_too(toy, tmp_path):
    changes = {"epochs": 3, "precision": "bf16", "batch": 8, "fanout": (3,)}
    run = evaluate("gcn", toy, "fixed", changes=changes)
    run.save(tmp_path / "run")
    again = load_run(tmp_path / "run")
    assert again.model.shape.precision == "bf16"
    assert torch.equal(again.scores, run.scores)


def test_others_are_refused_in_one_line(toy):
    for name, link in (
        ("gat", "AdditiveAttention"),
        ("agnn_plus", "HopState"),
        ("gcnii", "Anchor"),
    ):
        with pytest.raises(
            InputError, match=f"{name} has no states of type bf16: its link {link} "
        ):
            evaluate(name, toy, "fixed", changes={"precision": "bf16"})
    with pytest.raises(InputError, match="monet has no states of type bf16: its link MixtureSum"):
        evaluate("monet", toy, "fixed", changes={"precision": "bf16"})
    with pytest.raises(InputError, match="unknown precision 'half'"):
        evaluate("gcn", toy, "fixed", changes={"precision": "half"})
    with pytest.raises(InputError, match="states of ranks that divide a graph are float32"):
        evaluate("gcn", toy, "fixed", changes={"precision": "bf16"}, ranks=1, divide="rows")
