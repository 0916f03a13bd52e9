"""Kernels on the first rows of a pruned graph give what they give on the whole."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import Graph, Propagation, ReceptiveField
from agnn.kernels import cosine_attention, propagate, weighted_sum
from properties import CPU_BACKENDS, FAST_BACKENDS, assert_close, assert_same_bits, gradients
from zoo import Specimen, random_pairs

ANIMAL = Specimen(300, random_pairs(300, 200, seed=2), zero_rows=(10, 11, 12))
GRAPH = ANIMAL.graph()
FIELD = ReceptiveField.around(GRAPH, torch.tensor([0, 7, 11, 150, 299]), 3)
BETA = torch.tensor([2.0, -1.0], dtype=torch.float64)
LAYERS = [(0, 1), (1, 2), (2, 3), (1, 3)]  # (hops of the rows computed, hops of the rows read)

Layer = Callable[..., Tensor]  # (graph or field, states, ...) at the first rows


def unsymmetric(graph: Graph, dtype: torch.dtype) -> Propagation:
    """Fixed weights without any symmetry."""
    source = torch.Generator().manual_seed(4)
    edges, loops = (torch.randn(k, generator=source) for k in (graph.edges, graph.nodes))
    return Propagation(graph, edges.to(dtype), loops.to(dtype))


def restricted(whole: Propagation, field: ReceptiveField) -> Propagation:
    """The same weights on the edges and nodes of a receptive field."""
    edges, loops = whole.edge_weights[field.edge_ids], whole.loop_weights[field.nodes]
    return Propagation(field.graph, edges, loops)


def layer(operation: str, rows: int | None, backend: str, dtype: torch.dtype, field: bool) -> Layer:
    """The operation on the field's graph or on the whole one, at the first `rows` rows."""
    if operation == "cosine_attention":
        graph = FIELD.graph if field else GRAPH
        return lambda h, beta: cosine_attention(graph, h, beta, rows=rows, backend=backend)
    weights = unsymmetric(GRAPH, dtype)
    weights = restricted(weights, FIELD) if field else weights
    return lambda h: propagate(weights, h, rows=rows, backend=backend)


def both(operation: str, near: int, far: int, backend: str, width: int, dtype: torch.dtype):
    """Outputs and gradients of a layer on the pruned graph, and of the same on the whole."""
    rows, read = FIELD.sizes[near], FIELD.sizes[far]
    h = ANIMAL.states(2, width, dtype)[:, FIELD.nodes[:read]]
    inputs = (h, BETA.to(dtype)) if operation == "cosine_attention" else (h,)
    whole = layer(operation, None, backend, dtype, field=False)

    def through_the_whole(h: Tensor, *rest: Tensor) -> Tensor:
        everywhere = h.new_zeros(2, GRAPH.nodes, width).index_copy(1, FIELD.nodes[:read], h)
        return whole(everywhere, *rest)[:, FIELD.nodes[:rows]]

    part = layer(operation, rows, backend, dtype, field=True)
    return gradients(part, inputs), gradients(through_the_whole, inputs)


@pytest.mark.parametrize(("near", "far"), LAYERS)
@pytest.mark.parametrize("operation", ["cosine_attention", "propagate"])
@pytest.mark.parametrize("backend", CPU_BACKENDS)
def test_the_first_rows_equal_the_whole_graphs_in_output_and_gradients(
    backend, operation, near, far
):
    found, expected = both(operation, near, far, backend, 7, torch.float64)
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, 1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("width", [5, 16, 40])
@pytest.mark.parametrize(("near", "far"), LAYERS)
@pytest.mark.parametrize("operation", ["cosine_attention", "propagate"])
@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_fast_backends_give_the_same_bits_pruned_and_whole(
    backend, operation, near, far, width, dtype
):
    """Not only close: the same sums in the same order."""
    found, expected = both(operation, near, far, backend, width, dtype)
    for one, other in zip(found, expected, strict=True):
        assert_same_bits(one, other)


MISFITS = [
    ((300, 4), None, r"shape \[R, n, d\]; got \[300, 4\]"),
    ((2, 301, 4), None, "301 rows, but the graph has 300 nodes"),
    ((2, 300, 4), 0, "`rows` must be between 1 and 300; got 0"),
    ((2, 300, 4), 301, "`rows` must be between 1 and 300; got 301"),
    ((2, 40, 4), 40, "neighbours beyond the 40 rows"),
]


@pytest.mark.parametrize(("shape", "rows", "words"), MISFITS)
def test_states_that_do_not_fit_the_graph_are_refused(shape, rows, words):
    h = torch.zeros(shape, dtype=torch.float64)
    with pytest.raises(InputError, match=words):
        cosine_attention(GRAPH, h, BETA, rows=rows)
    with pytest.raises(InputError, match=words):
        propagate(unsymmetric(GRAPH, h.dtype), h, rows=rows)


def test_other_number_types_are_refused():
    with pytest.raises(InputError, match=r"float32, float64 or bfloat16; got torch.float16"):
        cosine_attention(GRAPH, torch.zeros(2, 300, 4, dtype=torch.float16), BETA)
    edges, loops = torch.zeros(2, GRAPH.edges, 1), torch.zeros(2, 300, 1)
    with pytest.raises(InputError, match=r"`h` is bfloat16, which is for a GPU"):
        weighted_sum(GRAPH, torch.zeros(2, 300, 4, dtype=torch.bfloat16), edges, loops)
    with pytest.raises(InputError, match=r"weights are torch.float64, `h` is torch.float32"):
        propagate(unsymmetric(GRAPH, torch.float64), torch.zeros(2, 300, 4))


@pytest.mark.parametrize("beta", [BETA.float(), BETA[:1], BETA[:, None]])
def test_a_beta_of_another_type_or_shape_is_refused(beta):
    with pytest.raises(InputError, match=r"`beta` must hold one torch.float64 per replica, shape"):
        cosine_attention(GRAPH, torch.zeros(2, 300, 4, dtype=torch.float64), beta)
