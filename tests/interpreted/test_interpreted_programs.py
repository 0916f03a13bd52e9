"""Every Triton program, interpreted on the CPU, equals the reference, outputs and gradients."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
import torch
from interpreted_inputs import SMALL, drawn, dropped, reference
from scipy import sparse
from torch import Tensor

from agnn import kernels
from agnn.graph import DenseFeatures, Graph, Propagation, SparseFeatures
from agnn.kernels import FACTS, Dropout, EntryDropout, Matrices, Runs
from properties import assert_close, assert_same_bits
from zoo import ZOO, tiny_random


def attention(module, graph: Graph, h: Tensor, beta: Tensor, rows: int) -> list[Tensor]:
    out, kept = module.forward(graph, h, beta, rows)
    gradient = drawn(*out.shape, dtype=h.dtype, seed=7)
    return [out, *module.backward(graph, h, beta, out, kept, gradient)]


def check_attention(programs, graph, h, beta, rows, tolerance, floor=1.0) -> None:
    found = attention(programs("cosine_attention"), graph, h, beta, rows)
    exact = attention(reference("cosine_attention"), graph, h.double(), beta.double(), rows)
    for one, other in zip(found, exact, strict=True):
        assert_close(one, other, tolerance, floor=floor)


@pytest.mark.parametrize("width", [1, 7, 16, 33])
@pytest.mark.parametrize("name", SMALL)
def test_attention_equals_the_reference(programs, name, width):
    animal = ZOO[name]
    beta = torch.tensor([3.0, -0.7], dtype=torch.float64)
    check_attention(programs, animal.graph(), animal.states(2, width), beta, animal.nodes, 1e-9)


@pytest.mark.parametrize("name", ["path", "lopsided", "zero row"])
def test_attention_in_single_precision_is_within_1e_5_of_double(programs, name):
    animal = ZOO[name]
    beta, h = torch.tensor([1.0, 3.0]), animal.states(2, 16, torch.float32)
    check_attention(programs, animal.graph(), h, beta, animal.nodes, 1e-5)


@pytest.mark.parametrize("beta", [0.0, 100.0, -39.0, -60.0])
@pytest.mark.parametrize("name", ["zero row", "lopsided"])
def test_an_extreme_beta_equals_the_reference(programs, name, beta):
    animal = ZOO[name]
    betas = torch.tensor([beta], dtype=torch.float64)
    check_attention(programs, animal.graph(), animal.states(1, 7), betas, animal.nodes, 1e-9)


@pytest.mark.usefixtures("short_limits")
@pytest.mark.parametrize("beta", [2.0, -60.0])
@pytest.mark.parametrize("rows", [12, 5])
def test_long_rows_are_joined_from_their_segments(programs, beta, rows):
    animal = tiny_random(12, 40, seed=2)
    graph = animal.graph()
    assert graph.long_rows.count > 1
    assert graph.long_rows.segments > graph.long_rows.count
    betas = torch.tensor([beta, 1.0], dtype=torch.float64)
    check_attention(programs, graph, animal.states(2, 7), betas, rows, 1e-9)


def test_rows_that_were_not_asked_for_get_no_gradient_of_their_own(programs):
    animal = ZOO["lopsided"]
    beta = torch.tensor([1.5], dtype=torch.float64)
    check_attention(programs, animal.graph(), animal.states(1, 7), beta, 2, 1e-9)


@pytest.mark.parametrize("width", [7, 16])
@pytest.mark.parametrize("name", SMALL)
def test_weighted_attention_equals_the_reference(programs, name, width):
    animal = ZOO[name]
    graph = animal.weighted_graph(animal.weights())
    beta = torch.tensor([3.0, -0.7], dtype=torch.float64)
    check_attention(programs, graph, animal.states(2, width), beta, animal.nodes, 1e-9)


@pytest.mark.usefixtures("short_limits")
@pytest.mark.parametrize("beta", [2.0, -60.0])
@pytest.mark.parametrize("rows", [12, 5])
def test_long_rows_of_a_weighted_graph_are_joined_from_their_segments(programs, beta, rows):
    animal = tiny_random(12, 40, seed=2)
    graph = animal.weighted_graph(animal.weights())
    assert graph.long_rows.segments > graph.long_rows.count > 1
    betas = torch.tensor([beta, 1.0], dtype=torch.float64)
    check_attention(programs, graph, animal.states(2, 7), betas, rows, 1e-9)


@pytest.mark.parametrize("name", ["path", "zero row"])
def test_weight_1_everywhere_is_no_weights_bit_for_bit(programs, name):
    animal, module = ZOO[name], programs("cosine_attention")
    ones = animal.weighted_graph(torch.ones(animal.nodes, animal.nodes))
    h, beta = animal.states(2, 7, torch.float32), torch.tensor([3.0, -0.7])
    both = (attention(module, graph, h, beta, animal.nodes) for graph in (ones, animal.graph()))
    for one, other in zip(*both, strict=True):
        assert_same_bits(one, other)


def test_short_states_are_summed_in_single_precision(programs):
    animal = ZOO["lopsided"]
    h, beta = animal.states(1, 16, torch.bfloat16), torch.ones(1)
    out, _ = programs("cosine_attention").forward(animal.graph(), h, beta, animal.nodes)
    exact, _ = reference("cosine_attention").forward(
        animal.graph(), h.double(), beta.double(), animal.nodes
    )
    assert out.dtype == torch.bfloat16
    assert_close(out.double(), exact, 2**-7)  # the interpreter cuts off where a GPU rounds


def test_gradients_of_short_states_are_summed_in_single_precision(programs):
    """Against the definition for the same rounded states, outputs and gradients."""
    animal, beta = ZOO["lopsided"], torch.tensor([1.5])
    graph, n = animal.graph(), animal.nodes
    h, g = (animal.states(1, 16, torch.bfloat16, seed) for seed in (0, 1))
    module = programs("cosine_attention")
    out, kept = module.forward(graph, h, beta, n)
    dh, dbeta = module.backward(graph, h, beta, out, kept, g)
    wide = reference("cosine_attention")
    exact, exact_beta = wide.backward(
        graph, h.double(), beta.double(), out.double(), None, g.double()
    )
    assert (dh.dtype, dbeta.dtype) == (torch.bfloat16, torch.float32)
    # g . o is taken with the rounded output: some roundings of 2^-8, not one per neighbour.
    assert_close(dh.double(), exact, 2**-5)
    assert_close(dbeta.double(), exact_beta, 2**-5, floor=1.0)


@pytest.mark.parametrize(("rows", "width"), [(None, 7), (3, 4), (None, 1)])
def test_propagation_with_dropped_entries_equals_the_reference(programs, rows, width):
    graph = ZOO["lopsided"].graph()
    count = graph.nodes if rows is None else rows
    weights = Propagation(graph, drawn(graph.edges, seed=1), drawn(graph.nodes, seed=2))
    labels = (torch.arange(size).flip(0) for size in (graph.edges, graph.nodes))
    stream = Dropout((3, 4), (0.5, 0.25))
    drop = EntryDropout(stream.at(0), stream.at(1), *labels)
    h, gradient = drawn(2, graph.nodes, width, seed=3), drawn(2, count, width, seed=4)
    results = []
    for module in (programs("dropped_propagate"), reference("dropped_propagate")):
        out, kept = module.forward(weights, h, count, drop)
        results.append([out, module.backward(weights, drop, kept, gradient, graph.nodes)])
    for one, other in zip(*results, strict=True):
        assert_close(one, other, 1e-9)


def test_short_states_are_propagated_in_single_precision(programs):
    animal = ZOO["lopsided"]
    P = Propagation.symmetric(animal.graph(), torch.float32)
    double = Propagation(P.graph, P.edge_weights.double(), P.loop_weights.double())
    h, n = animal.states(2, 7, torch.bfloat16), animal.nodes
    ours, definition = programs("propagate"), reference("propagate")
    for found, exact in (
        (ours.forward(P, h, n), definition.forward(double, h.double(), n)),
        (ours.backward(P, h, n), definition.backward(double, h.double(), n)),
    ):
        assert found.dtype == torch.bfloat16
        assert_close(found.double(), exact, 2**-7)


@pytest.mark.usefixtures("short_limits")
@pytest.mark.parametrize("width", [1, 7, 16])
def test_propagation_equals_the_reference(programs, width):
    animal = tiny_random(12, 40, seed=3)
    graph, weights = animal.graph(), Propagation.symmetric(animal.graph(), torch.float64)
    P = Propagation(graph, drawn(graph.edges).abs(), weights.loop_weights)
    h, g = animal.states(2, width), drawn(2, 5, width, seed=1)
    ours, definition = programs("propagate"), reference("propagate")
    for rows in (12, 5):
        assert_close(ours.forward(P, h, rows), definition.forward(P, h, rows), 1e-12)
    assert_close(ours.backward(P, g, 12), definition.backward(P, g, 12), 1e-12)


def test_dropout_drops_what_the_reference_drops(programs):
    h, rows = drawn(3, 11, 7), torch.tensor([5, 3, 8, 1, 0, 2, 100, 70_000, 9, 4, 6])
    found = programs("dropout").forward(h, rows, dropped(3))
    assert_same_bits(found, reference("dropout").forward(h, rows, dropped(3)))


@pytest.mark.usefixtures("short_limits")
@pytest.mark.parametrize("is_dropped", [False, True])
@pytest.mark.parametrize("is_pruned", [False, True])
def test_the_sparse_first_layer_equals_the_reference(programs, is_dropped, is_pruned):
    source = np.random.default_rng(0)
    matrix = source.normal(size=(20, 15)) * (source.random((20, 15)) < 0.2)
    matrix[0], matrix[:, 3], matrix[4], matrix[:, 7] = 1.0, 2.0, 0.0, 0.0
    x = SparseFeatures.from_scipy(sparse.csr_array(matrix), torch.float64)
    if is_pruned:
        x = x.select(torch.tensor([5, 0, 9, 19]))
    weight, bias, g = drawn(3, 15, 7), drawn(3, 7), drawn(3, x.rows, 7, seed=1)
    at = dropped(3) if is_dropped else None
    ours, definition = programs("sparse_linear"), reference("sparse_linear")
    for b in (bias, None):
        assert_close(ours.forward(x, weight, b, at), definition.forward(x, weight, b, at), 1e-12)
    pairs = zip(ours.backward(x, g, at), definition.backward(x, g, at), strict=True)
    for one, other in pairs:
        assert_close(one, other, 1e-12)


@pytest.mark.parametrize("is_dropped", [False, True])
@pytest.mark.parametrize(("rows", "features", "width"), [(11, 7, 3), (70, 40, 20)])
def test_the_dense_first_layer_equals_the_reference(programs, rows, features, width, is_dropped):
    single = torch.float32
    x = DenseFeatures(drawn(rows, features, dtype=single), torch.arange(rows).flip(0))
    weight, bias = drawn(2, features, width, dtype=single), drawn(2, width, dtype=single)
    g, at = drawn(2, rows, width, dtype=single, seed=1), dropped(2) if is_dropped else None
    ours, definition = programs("shared_linear"), reference("shared_linear")
    for b in (bias, None):
        found = ours.forward(x, weight, b, at)
        assert_close(found, definition.forward(x, weight, b, at), 1e-5)
    for one, other in zip(ours.backward(x, g, at), definition.backward(x, g, at), strict=True):
        assert_close(one, other, 1e-5)


@pytest.mark.parametrize("is_dropped", [False, True])
@pytest.mark.parametrize(("rows", "width", "outputs"), [(11, 7, 3), (300, 16, 7), (11, 33, 40)])
def test_the_last_layer_equals_the_reference(programs, rows, width, outputs, is_dropped):
    h, weight, bias = drawn(2, rows, width), drawn(2, width, outputs), drawn(2, outputs)
    g, ids = drawn(2, rows, outputs, seed=1), torch.arange(rows).flip(0)
    at = dropped(2) if is_dropped else None
    ours, definition = programs("dense_linear"), reference("dense_linear")
    for b in (bias, None):
        found = ours.forward(h, weight, b, ids, at)
        assert_close(found, definition.forward(h, weight, b, ids, at), 1e-12)
    pairs = zip(
        ours.backward(h, weight, ids, at, g), definition.backward(h, weight, ids, at, g),
        strict=True,
    )  # fmt: skip
    for one, other in pairs:
        assert_close(one, other, 1e-12)


def test_the_loss_equals_the_reference(programs):
    logits, weights = 5 * drawn(2, 200, 7), drawn(2, 200, seed=1).abs()
    labels = torch.arange(400).view(2, 200) % 7
    found = programs("cross_entropy").forward(logits, labels, weights)
    exact = reference("cross_entropy").forward(logits, labels, weights)
    for one, other in zip(found, exact, strict=True):
        assert_close(one, other, 1e-12)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_a_step_of_adam_equals_the_reference(programs, dtype, tolerance):
    moved = []
    for module in (programs("adam"), reference("adam")):
        p, g, m = ([drawn(2, 5, 4, dtype=dtype, seed=s), drawn(2, dtype=dtype)] for s in range(3))
        v = [each.abs() for each in g]
        rates, decays = torch.tensor([0.1, 0.01], dtype=dtype), torch.full((2, 2), 0.1, dtype=dtype)
        for step in (1, 2, 900):
            module.forward(p, g, m, v, torch.tensor([step]), rates, decays)
        moved.append([*p, *m, *v])
    for one, other in zip(*moved, strict=True):
        assert_close(one, other, tolerance)


def on_part(module, graph: Graph, h: Tensor, beta: Tensor, order: list[int]) -> list[Tensor]:
    """Attention and propagation there and back, the rows in two calls."""
    nodes, half = graph.nodes, graph.nodes // 2
    g, facts = drawn(*h.shape, dtype=h.dtype, seed=5), h.new_zeros(len(h), nodes, FACTS)
    out, dh, moved, mixed = (torch.zeros_like(h) for _ in range(4))
    of_beta = h.new_zeros(len(h), nodes)
    is_first = np.isin(np.arange(nodes), order[:half])
    offsets = graph.offsets.numpy()
    matrices = Matrices.of(Propagation.symmetric(graph, h.dtype))
    by_replica = Matrices(
        graph, drawn(len(h), graph.edges, dtype=h.dtype), drawn(len(h), nodes, dtype=h.dtype)
    )
    groups = [Runs.of(each, offsets) for each in (is_first, ~is_first)]
    module.norms(h, facts, 0, half)
    module.norms(h, facts, half, nodes)
    for runs in groups:
        module.attend(graph, h, beta, facts, runs, out)
    module.slopes(g, out, facts, nodes)
    for runs in groups:
        module.attend_back(graph, h, g, beta, facts, runs, (dh, of_beta))
        module.propagate(matrices, h, runs, moved)
        module.propagate(by_replica, h, runs, mixed)
    return [
        facts,
        out,
        dh,
        of_beta,
        moved,
        mixed,
        module.block_sums(of_beta, np.array([0, half, nodes])),
    ]


@pytest.mark.parametrize("longest", [1024, 2])
@pytest.mark.parametrize("width", [1, 7, 16])
@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_rows_of_a_part_equal_the_reference(
    programs, monkeypatch, is_weighted, name, width, longest
):
    monkeypatch.setattr("agnn.kernels._part_rows._LONGEST_ROW", longest)
    animal = ZOO[name]
    graph = animal.weighted_graph(animal.weights()) if is_weighted else animal.graph()
    h = animal.states(2, width)
    beta = torch.tensor([3.0, -0.7], dtype=torch.float64)
    order = list(range(0, animal.nodes, 2)) + list(range(1, animal.nodes, 2))
    found = on_part(programs("part_rows"), graph, h, beta, order)
    exact = on_part(reference("part_rows"), graph, h, beta, order)
    for one, other in zip(found, exact, strict=True):
        assert_close(one, other, 1e-9, floor=1.0)


def test_the_bits_of_a_row_do_not_depend_on_the_rows_beside_it(programs):
    animal = tiny_random(12, 40, seed=2)
    graph, h = animal.graph(), animal.states(2, 7, torch.float32)
    beta = torch.tensor([2.0, 0.5])
    one, other = (
        on_part(programs("part_rows"), graph, h, beta, order)
        for order in (list(range(12)), [11, 3, 5, 0, 8, 9])
    )
    for first, second in zip(one, other, strict=True):
        assert_same_bits(first, second)


def test_every_program_waits_for_its_inputs_first():
    """On a GPU it may be launched before the one that writes what it reads has ended."""
    folder = Path(kernels.__file__).parent
    launched = [
        (f"{path.parent.name}/{path.name}: {function.name}", first_statement(function))
        for path in folder.rglob("*.py")
        if "EARLY" in (text := path.read_text("utf-8"))
        for function in ast.parse(text).body
        if isinstance(function, ast.FunctionDef)
        and function.name != "wait_for_inputs"
        and "EARLY" in [parameter.arg for parameter in function.args.args]
    ]
    assert len(launched) > 20
    assert [name for name, first in launched if first != "wait_for_inputs(EARLY)"] == []


def first_statement(function: ast.FunctionDef) -> str:
    """The one after the docstring, if there is one."""
    return ast.unparse(function.body[0 if ast.get_docstring(function) is None else 1])


def test_a_program_is_launched_early_if_all_its_blocks_run_at_once(programs, monkeypatch):
    programs("dropout")  # imports Triton as the others do
    from agnn.kernels._gpu import launches

    def nothing(EARLY):
        pass

    launched = []
    program = launches.Kernel(nothing)
    monkeypatch.setattr(program, "kernel", Recorder(launched))
    monkeypatch.setattr(launches.triton, "JITFunction", Recorder)
    monkeypatch.setattr(launches, "_most_blocks", lambda _: 100)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    for grid in ((10, 10), (101, 1), (1, 2, 51)):
        program[grid](7)
    assert launched == [
        ((10, 10), {"EARLY": True, "launch_pdl": True}),
        ((101, 1), {"EARLY": False}),  # not every GPU knows the other option
        ((1, 2, 51), {"EARLY": False}),
    ]
    monkeypatch.undo()  # interpreted programs have nothing to wait for
    monkeypatch.setattr(program, "kernel", Recorder(launched))
    program[(1,)](7)
    assert launched[-1] == ((1,), {"EARLY": False})


class Recorder:
    """Notes how it is launched, in place of a compiled function."""

    def __init__(self, launched: list) -> None:
        self.launched = launched

    def __getitem__(self, grid):
        return lambda *_, **options: self.launched.append((grid, options))
