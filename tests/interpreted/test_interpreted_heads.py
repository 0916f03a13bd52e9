"""The Triton programs of the later methods, interpreted, equal the reference, gradients too."""

from __future__ import annotations

import pytest
import torch
from interpreted_inputs import SMALL, drawn, dropped, reference
from torch import Tensor

from agnn.graph import Graph
from agnn.kernels._additive_attention import Draws, Vectors
from properties import assert_close
from zoo import ZOO, Specimen, tiny_random

SHAPES = ((1, 7), (2, 16), (8, 3), (16, 1))  # heads, width of each
CASES = [*((name, 4, 5) for name in SMALL), *(("lopsided", *shape) for shape in SHAPES)]
SINGLE, DOUBLE = torch.float32, torch.float64


def layer(
    module, graph: Graph, h: Tensor, heads: int, rows: int, *, is_dropped: bool = False
) -> list[Tensor]:
    """Output and all gradients of additive attention, its labels not in order."""
    replicas, n, width = h.shape
    vectors = [drawn(replicas, width // heads, heads, dtype=h.dtype, seed=s) for s in (1, 2)]
    bias, ids = drawn(replicas, width, dtype=h.dtype, seed=3), 5 + torch.arange(n).flip(0)
    # Two places: the attention and the values do not draw the same numbers.
    draws = (dropped(replicas, 0), dropped(replicas, 1)) if is_dropped else (None, None)
    vectors = Vectors(*vectors, bias)
    draws = Draws(ids, *draws)
    out, kept = module.forward(graph, h, vectors, rows, draws)
    g = drawn(*out.shape, dtype=h.dtype, seed=7)
    return [out, *module.backward(graph, h, vectors, out, kept, draws, g)]


def check_layer(programs, graph, h, heads, rows, tolerance, **options) -> None:
    found = layer(programs("additive_attention"), graph, h, heads, rows, **options)
    exact = layer(reference("additive_attention"), graph, h.double(), heads, rows, **options)
    for one, other in zip(found, exact, strict=True):
        assert one.dtype == h.dtype
        assert_close(one, other, tolerance, floor=1.0)


@pytest.mark.parametrize(("name", "heads", "width"), CASES)
def test_additive_attention_equals_the_reference(programs, name, heads, width):
    animal = ZOO[name]
    h = animal.states(2, heads * width)
    check_layer(programs, animal.graph(), h, heads, animal.nodes, 1e-9)


@pytest.mark.parametrize(("heads", "width"), [(1, 3), (8, 2)])
@pytest.mark.parametrize("name", ["isolated nodes", "lopsided"])
def test_dropped_additive_attention_equals_the_reference(programs, name, heads, width):
    animal = ZOO[name]
    h = animal.states(3, heads * width)
    check_layer(programs, animal.graph(), h, heads, animal.nodes, 1e-9, is_dropped=True)


@pytest.mark.parametrize("name", ["path", "lopsided"])
def test_additive_attention_in_single_precision_is_within_1e_5_of_double(programs, name):
    animal = ZOO[name]
    h = animal.states(2, 16, SINGLE)
    check_layer(programs, animal.graph(), h, 4, animal.nodes, 1e-5)


@pytest.mark.parametrize("size", [100.0, 1e4])
def test_scores_far_from_zero_equal_the_reference(programs, size):
    animal = ZOO["lopsided"]
    check_layer(programs, animal.graph(), size * animal.states(2, 8), 2, animal.nodes, 1e-9)


@pytest.mark.usefixtures("short_limits")
@pytest.mark.parametrize("is_dropped", [False, True])
@pytest.mark.parametrize("rows", [12, 5])
def test_long_rows_of_additive_attention_are_joined(programs, rows, is_dropped):
    animal = tiny_random(12, 40, seed=2)
    graph = animal.graph()
    assert graph.long_rows.segments > graph.long_rows.count > 1
    check_layer(programs, graph, animal.states(2, 6), 2, rows, 1e-9, is_dropped=is_dropped)


def sums(module, graph: Graph, h: Tensor, heads: int, rows: int) -> list[Tensor]:
    """Output and all gradients of a weighted sum with weights that have no symmetry."""
    replicas, n, _ = h.shape
    edges = drawn(replicas, graph.edges_of(rows), heads, dtype=h.dtype, seed=1)
    loops = drawn(replicas, rows, heads, dtype=h.dtype, seed=2)
    out = module.forward(graph, h, edges, loops)
    g = drawn(*out.shape, dtype=h.dtype, seed=7)
    return [out, *module.backward(graph, h, edges, loops, g, n)]


def check_sums(programs, animal: Specimen, heads, width, rows, dtype, tolerance) -> None:
    graph, h = animal.graph(), animal.states(2, heads * width, dtype)
    found = sums(programs("weighted_sum"), graph, h, heads, rows)
    exact = sums(reference("weighted_sum"), graph, h.double(), heads, rows)
    for one, other in zip(found, exact, strict=True):
        assert one.dtype == dtype
        assert_close(one, other, tolerance, floor=1.0)


@pytest.mark.parametrize(("name", "heads", "width"), CASES)
def test_a_weighted_sum_equals_the_reference(programs, name, heads, width):
    check_sums(programs, ZOO[name], heads, width, ZOO[name].nodes, DOUBLE, 1e-12)


def test_a_weighted_sum_in_single_precision_is_within_1e_5_of_double(programs):
    check_sums(programs, ZOO["lopsided"], 4, 5, 6, SINGLE, 1e-5)


@pytest.mark.usefixtures("short_limits")
@pytest.mark.parametrize("rows", [12, 5])
def test_long_rows_of_a_weighted_sum_are_joined(programs, rows):
    animal = tiny_random(12, 40, seed=3)
    assert animal.graph().long_rows.segments > animal.graph().long_rows.count > 1
    check_sums(programs, animal, 2, 5, rows, DOUBLE, 1e-12)
