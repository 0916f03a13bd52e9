"""Propagation with dropped entries: the reference is P h written out, every backend it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import Propagation
from agnn.kernels import Dropout, EntryDropout, dropped_propagate, random_words
from properties import (
    CPU_BACKENDS,
    FAST_BACKENDS,
    WIDTHS,
    assert_close,
    assert_same_bits,
    gradients,
)
from zoo import ZOO, zoo_graph

RATES = (0.5, 0.25, 0.0)


def matrix(name: str, dtype: torch.dtype = torch.float64) -> Propagation:
    """Weights without symmetry: P and its transpose differ."""
    graph, source = zoo_graph(name), torch.Generator().manual_seed(6)
    edges, loops = (torch.randn(k, generator=source) for k in (graph.edges, graph.nodes))
    return Propagation(graph, edges.to(dtype), loops.to(dtype))


def entry_dropout(propagation: Propagation, seeds: tuple[int, ...]) -> EntryDropout:
    """Labels in no order, as a pruned graph has them, and another rate in every replica."""
    graph, source = propagation.graph, torch.Generator().manual_seed(8)
    stream = Dropout(seeds, [RATES[seed % 3] for seed in seeds])
    stream.epoch += 4
    labels = (torch.randperm(2 * k + 1, generator=source)[:k] for k in (graph.edges, graph.nodes))
    return EntryDropout(stream.at(2), stream.at(3), *labels)


def product(
    name: str, h: Tensor, backend: str, seeds: tuple[int, ...], rows: int | None = None
) -> tuple[Tensor, ...]:
    """Output and gradient at h."""
    propagation = matrix(name, h.dtype)
    drop = entry_dropout(propagation, seeds)
    return gradients(
        lambda h: dropped_propagate(propagation, h, drop, rows=rows, backend=backend), (h,)
    )


@pytest.mark.parametrize("name", ZOO)
def test_the_reference_is_the_dense_product_in_output_and_gradient(name):
    propagation = matrix(name)
    drop = entry_dropout(propagation, (0, 1))

    def drawn(values: Tensor, labels: Tensor, at) -> Tensor:
        words = random_words(at, labels, torch.zeros_like(labels))
        return values * (words >= at.thresholds[:, None]) * at.scales[:, None]

    graph = propagation.graph
    P = torch.diag_embed(drawn(propagation.loop_weights, drop.node_ids, drop.loops))
    P[:, graph.receivers, graph.senders] = drawn(
        propagation.edge_weights, drop.edge_ids, drop.edges
    )
    h = ZOO[name].states(2, 7)
    found, expected = product(name, h, "reference", (0, 1)), gradients(lambda h: P @ h, (h,))
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, 1e-13)


@pytest.mark.parametrize("replicas", [1, 3, 10])
@pytest.mark.parametrize("width", [2, *WIDTHS])
@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_every_backend_equals_the_reference(backend, name, width, replicas):
    seeds = tuple(range(replicas))
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        h = ZOO[name].states(replicas, width, dtype)
        exact = product(name, h.double(), "reference", seeds)
        for one, other in zip(product(name, h, backend, seeds), exact, strict=True):
            assert one.dtype == dtype
            assert_close(one, other, tolerance)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_the_first_rows_alone_read_the_rows_around_them(backend):
    h = ZOO["lopsided"].states(3, 5)
    nodes = zoo_graph("lopsided").nodes
    for rows in (1, nodes // 2, nodes - 1):
        some = product("lopsided", h, backend, (0, 1, 2), rows)
        exact = product("lopsided", h, "reference", (0, 1, 2), rows)
        for one, other in zip(some, exact, strict=True):
            assert_close(one, other, 1e-12)


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_a_replica_has_the_same_bits_alone_and_in_a_batch(backend):
    h = ZOO["random"].states(5, 7, torch.float32).requires_grad_()
    propagation = matrix("random", h.dtype)
    drop = entry_dropout(propagation, (0, 1, 2, 3, 4))
    together = dropped_propagate(propagation, h, drop, backend=backend)
    (slopes,) = torch.autograd.grad(together.square().sum(), h)
    for replica in range(5):
        one = h[replica : replica + 1]
        drop = entry_dropout(propagation, (replica,))
        alone = dropped_propagate(propagation, one, drop, backend=backend)
        assert_same_bits(together[replica], alone[0])
        assert_same_bits(slopes[replica], torch.autograd.grad(alone.square().sum(), one)[0][0])


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_as_many_dropout_streams_as_replicas_are_needed(backend):
    with pytest.raises(InputError, match="2 dropout streams for 3 replicas"):
        product("random", ZOO["random"].states(3, 4), backend, (0, 1))
