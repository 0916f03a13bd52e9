"""Fixed propagation: the reference equals P h written out, every backend the reference."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from agnn.graph import Propagation
from agnn.kernels import propagate
from properties import (
    CPU_BACKENDS,
    FAST_BACKENDS,
    WIDTHS,
    assert_close,
    assert_same_bits,
    gradients,
)
from zoo import ZOO, zoo_graph


def weights(name: str, dtype: torch.dtype = torch.float64) -> Propagation:
    """Weights without symmetry: P and its transpose differ."""
    graph, source = zoo_graph(name), torch.Generator().manual_seed(6)
    edges, loops = (torch.randn(k, generator=source) for k in (graph.edges, graph.nodes))
    return Propagation(graph, edges.to(dtype), loops.to(dtype))


def dense_matrix(propagation: Propagation) -> Tensor:
    P = torch.diag(propagation.loop_weights)
    P[propagation.graph.receivers, propagation.graph.senders] = propagation.edge_weights
    return P


def product(name: str, h: Tensor, backend: str) -> tuple[Tensor, ...]:
    """Output and gradient at h."""
    return gradients(lambda h: propagate(weights(name, h.dtype), h, backend=backend), (h,))


@pytest.mark.parametrize("name", ZOO)
def test_the_reference_is_the_dense_product_in_output_and_gradient(name):
    P = dense_matrix(weights(name))
    h = ZOO[name].states(2, 7)
    found, expected = product(name, h, "reference"), gradients(lambda h: P @ h, (h,))
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, 1e-13)


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_every_backend_equals_the_reference(backend, name, width, replicas):
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        h = ZOO[name].states(replicas, width, dtype)
        exact = product(name, h.double(), "reference")
        for one, other in zip(product(name, h, backend), exact, strict=True):
            assert one.dtype == dtype
            assert_close(one, other, tolerance)


@pytest.mark.parametrize("width", [3, 7, 20])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_a_replica_has_the_same_bits_alone_as_beside_others_in_a_vector(backend, width):
    h = ZOO["random"].states(5, width, torch.float32).requires_grad_()
    together = propagate(weights("random", h.dtype), h, backend=backend)
    (slopes,) = torch.autograd.grad(together.square().sum(), h)
    for replica in range(5):
        one = h[replica : replica + 1]
        alone = propagate(weights("random", h.dtype), one, backend=backend)
        assert_same_bits(together[replica], alone[0])
        assert_same_bits(slopes[replica], torch.autograd.grad(alone.square().sum(), one)[0][0])


@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_strided_states_are_read_right(backend):
    h = ZOO["random"].states(2, 16)
    strided = h.transpose(1, 2).contiguous().transpose(1, 2)
    for one, other in zip(
        product("random", strided, backend), product("random", h, backend), strict=True
    ):
        assert torch.equal(one, other)


@pytest.mark.parametrize("name", ["one node", "lopsided", "isolated nodes"])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_gradcheck(backend, name):
    h = ZOO[name].states(2, 3).requires_grad_()
    assert torch.autograd.gradcheck(lambda h: propagate(weights(name), h, backend=backend), (h,))
