"""Results do not depend on how many threads compute them, nor on whether there is a second time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor

from agnn.graph import Graph, Propagation, SparseFeatures
from agnn.kernels import (
    Dropout,
    adam_step,
    cosine_attention,
    dense_linear,
    dropout,
    feature_linear,
    propagate,
)
from agnn.kernels._cpu import threads as kernel_threads
from agnn.kernels._cpu.simd import jit
from properties import FAST_BACKENDS, assert_same_bits, gradients
from zoo import ZOO, zoo_graph

WIDTHS = (7, 16, 40)  # a part of a vector, one, and several


def everything(
    graph: Graph, features: SparseFeatures, replicas: int, width: int, backend: str
) -> list[Tensor]:
    """Outputs and gradients of every kernel."""
    source = torch.Generator().manual_seed(1)
    weight = torch.randn(replicas, features.width, width, generator=source)
    bias = torch.randn(replicas, width, generator=source)
    drop = Dropout(range(replicas), [0.5] * replicas).at(0)
    beta = torch.linspace(-1, 6, replicas)
    first = gradients(
        lambda w, b: feature_linear(features, w, b, drop=drop, backend=backend), (weight, bias)
    )
    h, weights, rows = first[0], Propagation.symmetric(graph), torch.arange(graph.nodes)
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
    for_however_little_work(monkeypatch)
    torch.set_num_threads(1)
    alone = everything(cora_graph, cora_features, replicas, width, backend)
    for threads in (2, 3):
        torch.set_num_threads(threads)
        together = everything(cora_graph, cora_features, replicas, width, backend)
        for one, other in zip(together, alone, strict=True):
            assert_same_bits(one, other)


@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_more_threads_than_rows_leave_no_row_out(backend, monkeypatch):
    for_however_little_work(monkeypatch)
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


@pytest.mark.parametrize("units", [1, 2, 3, 31, 32, 33, 1000])
@pytest.mark.parametrize("threads", [2, 3, 5])
@pytest.mark.parametrize("openmp", [True, False])
def test_every_unit_is_done_once(openmp, threads, units, monkeypatch):
    for_however_little_work(monkeypatch)
    if not openmp:
        without_openmp(monkeypatch)
    torch.set_num_threads(threads)
    seen = np.zeros(units, np.int64)
    kernel_threads.run_in_pieces(count, (seen,), units, 10)
    assert seen.tolist() == [1] * units


@pytest.mark.parametrize("backend", FAST_BACKENDS)
def test_python_threads_give_the_same_bits(backend, cora_graph, cora_features, monkeypatch):
    for_however_little_work(monkeypatch)
    torch.set_num_threads(2)
    ours = everything(cora_graph, cora_features, 1, 16, backend)
    without_openmp(monkeypatch)
    for one, other in zip(everything(cora_graph, cora_features, 1, 16, backend), ours, strict=True):
        assert_same_bits(one, other)


def test_threads_that_call_at_the_same_time_get_the_same_bits(
    cora_graph, cora_features, monkeypatch
):
    for_however_little_work(monkeypatch)
    torch.set_num_threads(2)
    alone = everything(cora_graph, cora_features, 1, 16, "numba")
    with ThreadPoolExecutor(4) as pool:
        calls = [
            pool.submit(everything, cora_graph, cora_features, 1, 16, "numba") for _ in range(8)
        ]
        for call in calls:
            for one, other in zip(call.result(), alone, strict=True):
                assert_same_bits(one, other)


def test_memory_that_cannot_be_had_in_a_region_is_an_error(monkeypatch):
    for_however_little_work(monkeypatch)
    torch.set_num_threads(2)
    with pytest.raises(MemoryError):
        kernel_threads.run_in_pieces(take, (2**58,), 4, 10)


def test_small_work_stays_on_one_thread(monkeypatch):
    torch.set_num_threads(4)
    assert kernel_threads.threads_for(kernel_threads._WORTH_A_REGION - 1) == 1
    assert kernel_threads.threads_for(kernel_threads._WORTH_A_POOL) == 4
    without_openmp(monkeypatch)
    assert kernel_threads.threads_for(kernel_threads._WORTH_A_POOL - 1) == 1


def test_limits_on_threads_are_kept():
    torch.set_num_threads(3)
    with threadpool_limits(1):
        assert kernel_threads.threads_for(10**9) == 1
    assert kernel_threads.threads_for(10**9) == 3


def test_threads_sleep_when_there_is_nothing_to_do(monkeypatch):
    for_however_little_work(monkeypatch)
    torch.set_num_threads(4)
    kernel_threads.run_in_pieces(count, (np.zeros(100, np.int64),), 100, 10)
    time.sleep(0.1)
    before = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - before < 0.1  # one waiting thread alone would take 0.3


# Each has two threads at work first, so that their book-keeping is there to be inherited.
_PROLOGUE = """
import os
import numpy as np
import torch
torch.set_num_threads(2)
from agnn.data import load_dataset
from agnn.graph import Graph
from agnn.kernels import cosine_attention, openmp_obstacle
from agnn.kernels._cpu import threads

threads._WORTH_A_REGION = threads._WORTH_A_POOL = 1
data = load_dataset("cora")
graph = Graph.from_edges(data.edges, data.nodes)
h = torch.randn(1, data.nodes, 16, generator=torch.Generator().manual_seed(0))

def states(threads=None):
    if threads is not None:
        torch.set_num_threads(threads)
    return torch.relu(cosine_attention(graph, h, torch.ones(1))).numpy()

expected = states(2)
"""
_FORK = """
assert openmp_obstacle() is None
read, write = os.pipe()
if os.fork() == 0:
    fits = np.array_equal(states(), expected) and "fork" in openmp_obstacle()
    torch.set_num_threads(2)  # asked for again: the kernels use other threads than torch
    again = np.maximum(cosine_attention(graph, h, torch.ones(1)).numpy(), 0)
    fits = fits and np.array_equal(again, expected)
    os.write(write, b"1" if fits else b"0")
    os._exit(0)
os.wait()
assert os.read(read, 1) == b"1"
assert np.array_equal(states(), expected)
"""
_JOBLIB = """
from joblib import Parallel, delayed

for backend in ("threading", "loky", "multiprocessing"):
    found = Parallel(2, backend=backend)(delayed(states)() for _ in range(4))
    assert all(np.array_equal(each, expected) for each in found), backend
"""

# A worker is another process, which runs its tasks in threads.
_DASK = """
if __name__ == "__main__":
    from distributed import Client

    with Client(n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
        found = client.gather([client.submit(states, 2, pure=False) for _ in range(4)])
    assert all(np.array_equal(each, expected) for each in found)
"""
# As a notebook's kernel has it: cells beside a running event loop, in its thread and in others.
_NOTEBOOK = """
import asyncio

async def cells():
    own = states(2)
    others = await asyncio.gather(*(asyncio.to_thread(states, 2) for _ in range(4)))
    return [own, *others, states(2)]

assert all(np.array_equal(each, expected) for each in asyncio.run(cells()))
"""
_SCRIPTS = {"fork": _FORK, "joblib": _JOBLIB, "Dask": _DASK, "notebook": _NOTEBOOK}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("script", _SCRIPTS.values(), ids=_SCRIPTS)
def test_other_processes_compute_the_same(script, tmp_path):
    file = tmp_path / "script.py"
    file.write_text(_PROLOGUE + script)
    subprocess.run(  # noqa: S603
        [sys.executable, str(file)], check=True, timeout=120
    )


def for_however_little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let threads share work of any size."""
    monkeypatch.setattr(kernel_threads, "_WORTH_A_REGION", 1)
    monkeypatch.setattr(kernel_threads, "_WORTH_A_POOL", 1)


def without_openmp(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where torch's OpenMP runtime cannot be used."""
    monkeypatch.setattr(kernel_threads, "entry_points", lambda: None)


@jit
def count(seen, first, last):
    """Count how often each unit is done."""
    for unit in range(first, last):
        seen[unit] += 1


@jit
def take(size, first, last):
    """Ask for memory that no machine has."""
    for unit in range(first, last):
        room = np.empty(size)
        room[unit] = 1.0
