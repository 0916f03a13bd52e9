"""What training on samples holds in memory, counted in tensors: no timings, no resident sizes."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from torch.profiler import ProfilerActivity, profile

from agnn import _allocator
from agnn.data import Split
from agnn.graph import Graph, features_of
from agnn.kernels import _propagate as propagate
from agnn.methods import Task, get_method
from agnn.networks import NodeModel
from agnn.training import LastEpoch, Problem, Recipe, _loop as loop, probabilities, train
from agnn.training._sampling import SampledBatches
from built_models import AGNN, GCN

NODES, WIDTH, HIDDEN, CLASSES = 4000, 8, 64, 3
STATE = NODES * HIDDEN * 4


def peak_bytes(function: Callable[[], object]) -> int:
    """The most bytes that tensors of a call have at a time, beyond those there before."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as watched:
        function()
    events = watched.profiler.kineto_results.events()
    changes = [(each.start_ns(), each.nbytes()) for each in events if each.name() == "[memory]"]
    return int(np.cumsum([size for _, size in sorted(changes)]).max(initial=0))


@pytest.fixture
def graph() -> Graph:
    return Graph.from_edges(np.random.default_rng(0).integers(NODES, size=(2, 5 * NODES)), NODES)


def model_of(kind: type[NodeModel]) -> NodeModel:
    return kind(WIDTH, CLASSES, (0,), hidden=HIDDEN)  # type: ignore[call-arg]


@pytest.mark.parametrize("kind", [AGNN, GCN])
def test_an_evaluation_holds_two_states_at_most_and_a_convolution_little_more_than_one(
    graph, kind, monkeypatch
):
    monkeypatch.setattr(propagate, "_LARGE", STATE // 4)
    features = features_of(np.ones((NODES, WIDTH), np.float32))
    model = model_of(kind)
    probabilities(model, features, graph)  # degrees, and what else is made once
    most = peak_bytes(lambda: probabilities(model, features, graph))
    if kind is AGNN:
        assert 2 * STATE < most < 2.2 * STATE
    else:
        edges = graph.edges * 4  # the matrix
        assert 1.5 * STATE < most < 1.5 * STATE + edges + 0.2 * STATE


def test_one_batch_exists_at_a_time(toy, monkeypatch):
    batches, alive = list[weakref.ref[object]](), list[int]()
    made = SampledBatches.targets

    def counted(self, sets, step):
        alive.append(sum(each() is not None for each in batches))
        found = made(self, sets, step)
        batches.append(weakref.ref(found.view))
        return found

    monkeypatch.setattr(SampledBatches, "targets", counted)
    gc.disable()  # references alone must do
    try:
        task = Task(toy, (toy.split("fixed"),), (0,))
        get_method("gcn")(epochs=2, batch=4, fanout=(2, 2)).run(task)
    finally:
        gc.enable()
    assert len(alive) > 4
    assert set(alive) == {0}


def test_freed_memory_goes_back_before_an_evaluation_of_a_large_graph(graph, monkeypatch):
    calls = list[str]()
    monkeypatch.setattr(loop, "return_freed_memory", lambda: calls.append("returned"))
    evaluated = loop.TrainingRun.look
    monkeypatch.setattr(
        loop.TrainingRun, "look", lambda self: (calls.append("evaluated"), evaluated(self))[1]
    )
    labels, source = np.arange(NODES) % CLASSES, np.random.default_rng(0)
    problem = Problem(
        features_of(source.random((NODES, WIDTH), np.float32)), graph, labels,
        [Split("fixed", *np.split(np.arange(NODES), [200, 400]))], (0,),
    )  # fmt: skip
    recipe = Recipe(epochs=2, batch=64, fanout=(2, 2), selection=LastEpoch())
    train(model_of(GCN), problem, recipe)
    assert "returned" not in calls
    monkeypatch.setattr(loop, "_MANY_NODES", NODES)
    calls.clear()
    train(model_of(GCN), problem, recipe)
    assert calls == ["returned", "evaluated"] * 2 + ["returned"]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux only")
def test_what_the_allocator_keeps_is_returned_in_processes_that_are_ours(monkeypatch):
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    blocks = [np.ones(100_000 // 8) for _ in range(1000)]  # below the size that is mapped alone
    last = np.ones(100_000 // 8)  # behind them, so that glibc keeps what they leave
    del blocks
    before = resident()
    monkeypatch.setattr(_allocator, "_is_ours", False)
    assert not _allocator.return_freed_memory(), "a program that calls the package is left alone"
    monkeypatch.setattr(_allocator, "_is_ours", True)
    if not _allocator.return_freed_memory():
        pytest.skip("not glibc")
    assert before - resident() > 50_000_000 or before < 100_000_000
    assert last.size


def test_what_arrow_keeps_is_returned_too(monkeypatch):
    pyarrow = pytest.importorskip("pyarrow", reason="pip install agnn[tables]")
    calls = list[str]()
    pool = SimpleNamespace(release_unused=lambda: calls.append("released"))
    monkeypatch.setattr(pyarrow, "default_memory_pool", lambda: pool)
    monkeypatch.setattr(_allocator, "_is_ours", False)
    _allocator.return_freed_memory()
    assert not calls, "a program that calls the package is left alone"
    monkeypatch.setattr(_allocator, "_is_ours", True)
    _allocator.return_freed_memory()
    assert calls == ["released"]
