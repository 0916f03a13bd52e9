"""Each part of the kernels' own run time can be turned off, and then leaves the results alone."""

from __future__ import annotations

import pytest
import torch

from agnn.errors import InputError
from agnn.kernels import recycled_memory
from agnn.kernels._runtime import PARTS, is_disabled
from agnn.kernels._runtime.memory import LARGE, buffer_like
from properties import fresh_python

PROGRAM = """
import hashlib
import torch
from agnn.data import load_dataset
from agnn.graph import Graph
from agnn.kernels import cosine_attention, openmp_obstacle, recycled_memory
from agnn.kernels._runtime.code_cache import code_cache_of
from agnn.kernels._cosine_attention.numba_rows import norms

torch.set_num_threads(2)
data = load_dataset("cora")
graph = Graph.from_edges(data.edges, data.nodes)
h = torch.linspace(-1, 1, 3 * data.nodes * 16).view(3, data.nodes, 16).requires_grad_()
with recycled_memory():
    out = cosine_attention(graph, h, torch.tensor([0.5, 1.0, 2.0]))
    out.square().sum().backward()
digest = hashlib.sha256(out.detach().numpy().tobytes() + h.grad.numpy().tobytes()).hexdigest()
print(digest, openmp_obstacle(), code_cache_of(norms.py_func).cache_path, sep="|")
"""


def run_with(monkeypatch: pytest.MonkeyPatch, setting: str) -> list[str]:
    monkeypatch.setenv("AGNN_DISABLE", setting)
    return fresh_python(PROGRAM).strip().split("|")


def test_nothing_is_off_unless_the_environment_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGNN_DISABLE", raising=False)
    assert [part for part in PARTS if is_disabled(part)] == []


@pytest.mark.slow
def test_with_every_part_off_the_bits_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    bits, obstacle, folder = run_with(monkeypatch, "")
    assert obstacle == "None"
    assert folder != "None"
    same, reason, nowhere = run_with(monkeypatch, "openmp, code_cache,memory_pool")
    assert same == bits
    assert reason == "AGNN_DISABLE turns it off"
    assert nowhere == "None"


@pytest.mark.parametrize("is_off", [False, True])
def test_without_its_pool_a_training_takes_fresh_memory(
    is_off: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGNN_DISABLE", "memory_pool" if is_off else "")
    with recycled_memory():
        assert (buffer_like(torch.empty(LARGE)) is None) is is_off


def test_an_unknown_part_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGNN_DISABLE", "openmp,threads")
    message = "AGNN_DISABLE takes some of openmp, code_cache, memory_pool; got 'openmp,threads'"
    with pytest.raises(InputError, match=message):
        is_disabled("openmp")
