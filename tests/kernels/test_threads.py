"""Results do not depend on how many threads compute them, nor on whether there is a second time."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from agnn.graph import FeatureMatrix, Graph, symmetric
from agnn.kernels import (
    Dropout,
    adam_step,
    cosine_attention,
    dense_linear,
    dropout,
    propagate,
    sparse_linear,
)
from agnn.kernels._cpu import threads as kernel_threads
from properties import FAST_BACKENDS, assert_same_bits, gradients
from zoo import ZOO, zoo_graph

WIDTHS = (7, 16)


def everything(
    graph: Graph, features: FeatureMatrix, replicas: int, width: int, backend: str
) -> list[Tensor]:
    """Outputs and gradients of every kernel."""
    source = torch.Generator().manual_seed(1)
    weight = torch.randn(replicas, features.width, width, generator=source)
    bias = torch.randn(replicas, width, generator=source)
    drop = Dropout(range(replicas), [0.5] * replicas).at(0)
    beta = torch.linspace(-1, 6, replicas)
    first = gradients(
        lambda w, b: sparse_linear(features, w, b, drop=drop, backend=backend), (weight, bias)
    )
    h, weights, rows = first[0], symmetric(graph), torch.arange(graph.nodes)
    found = [
        *first,
        *gradients(lambda h, b: cosine_attention(graph, h, b, backend=backend), (h, beta)),
        *gradients(lambda h: propagate(weights, h, backend=backend), (h,)),
        *gradients(lambda h: dropout(h, rows, drop, backend=backend), (h,)),
        *gradients(
            lambda h, w, b: dense_linear(h, w, b, rows, drop=drop, backend=backend),
            (h, weight[:, :width], bias),
        ),
    ]
    p, m, v = weight.clone(), torch.zeros_like(weight), torch.zeros_like(weight)
    rates = torch.linspace(0.01, 0.1, replicas)
    adam_step([p], [first[1]], [m], [v], torch.ones(1), rates, rates[None], backend=backend)
    return [*found, p, m, v]


@pytest.mark.parametrize("replicas", [1, 2, 3])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_the_number_of_threads_changes_no_bit(
    backend, width, replicas, cora_graph, cora_features, monkeypatch
):
    monkeypatch.setattr(kernel_threads, "_WORTH_A_THREAD", 1)  # threads for however little work
    torch.set_num_threads(1)
    alone = everything(cora_graph, cora_features, replicas, width, backend)
    for threads in (2, 3):
        torch.set_num_threads(threads)
        together = everything(cora_graph, cora_features, replicas, width, backend)
        for one, other in zip(together, alone, strict=True):
            assert_same_bits(one, other)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_more_threads_than_rows_leave_no_row_out(backend, monkeypatch):
    monkeypatch.setattr(kernel_threads, "_WORTH_A_THREAD", 1)
    torch.set_num_threads(4)
    for name in ("one node", "no edges", "path", "hub"):
        h = ZOO[name].states(1, 16)
        beta = torch.ones(1, dtype=torch.float64)
        out = cosine_attention(zoo_graph(name), h, beta, backend=backend)
        torch.testing.assert_close(
            out, cosine_attention(zoo_graph(name), h, beta, backend="reference")
        )


@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_a_replica_in_a_batch_gives_the_bits_it_gives_alone(backend, cora_graph):
    h = torch.randn(5, cora_graph.nodes, 16, generator=torch.Generator().manual_seed(0))
    beta = torch.tensor([-60.0, 0.0, 1.0, 10.0, 100.0])  # extremes beside ordinary ones

    def layer(h: Tensor, beta: Tensor) -> Tensor:
        return cosine_attention(cora_graph, h, beta, backend=backend)

    g = torch.randn(h.shape, generator=torch.Generator().manual_seed(1))
    h, beta = h.requires_grad_(), beta.requires_grad_()
    together = (layer(h, beta), *torch.autograd.grad(layer(h, beta), (h, beta), g))
    for r in range(5):
        out = layer(h[r : r + 1], beta[r : r + 1])
        alone = (out, *torch.autograd.grad(out, (h, beta), g[r : r + 1]))
        assert_same_bits(together[0][r], alone[0][0])
        assert_same_bits(together[1][r], alone[1][r])
        assert_same_bits(together[2][r], alone[2][r])


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_the_same_call_twice_gives_the_same_bits(backend, replicas, cora_graph, cora_features):
    first, second = (everything(cora_graph, cora_features, replicas, 16, backend) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert_same_bits(one, other)


def test_a_forked_process_has_threads_of_its_own(monkeypatch):
    asked = []
    monkeypatch.setattr(
        kernel_threads, "_pool", lambda _threads, process: asked.append(process) or Inline()
    )
    monkeypatch.setattr(kernel_threads, "_WORTH_A_THREAD", 1)
    for process in (10, 11):
        monkeypatch.setattr(kernel_threads.os, "getpid", lambda process=process: process)
        torch.set_num_threads(2)
        kernel_threads.run_in_pieces(nothing, (), 4, 100)
    assert asked == [10, 11]


class Inline:
    """An executor that runs at once."""

    def submit(self, function, *arguments):
        function(*arguments)
        return self

    def result(self) -> None:
        return None


def nothing(first: int, last: int) -> None:
    """A piece of work that does nothing."""
