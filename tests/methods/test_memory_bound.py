"""The memory estimate of every network is an upper bound of what training takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agnn.methods import NetworkMethod, get_method, method_names
from agnn.networks._network import propagated_entries

NETWORKS = [name for name in method_names() if issubclass(get_method(name), NetworkMethod)]


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux")
def test_no_network_takes_more_than_its_estimate():
    program = Path(__file__).with_name("peak_memory.py")
    # Freed blocks of this size go back to the system, so that the peak is that of the run alone.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    found = subprocess.run(  # noqa: S603 (our own program)
        [sys.executable, program, *NETWORKS], capture_output=True, text=True, check=True,
        env=environment, timeout=500,
    )  # fmt: skip
    measured = json.loads(found.stdout)
    above = {name: pair for name, pair in measured.items() if pair[0] > pair[1]}
    assert not above
    # Nor does it refuse what would fit by far; pruning lowers the peak, not the estimate.
    assert {n: pair for n, pair in measured.items() if pair[1] > 8 * pair[0]} == {}


@pytest.mark.parametrize("name", ["sgc", "dcnn"])
@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_the_entries_of_propagated_features_are_bounded(name, steps, toy):
    method = get_method(name)(steps=steps)
    found = method.features(toy)
    assert found.nnz <= method.input_entries(toy) <= toy.nodes * found.shape[1]
    assert propagated_entries(toy, steps)[0] == toy.features.nnz


def test_more_steps_of_appnp_need_more_memory(toy):
    # Where no compiled code draws them again, a step keeps its draws of the entries of P: one for
    # every edge and for every node.
    few, many = (get_method("appnp")(steps=k).step_numbers(9, toy.classes) for k in (2, 20))
    assert many.per_edge == few.per_edge + 18
    assert many.per_node == few.per_node + 18


@pytest.mark.parametrize("name", NETWORKS)
def test_the_parameters_are_counted_exactly(name):
    method = get_method(name)()
    model = method.build(method.input_width(17), 4, (0,), "auto")
    counted = method.step_numbers(method.input_width(17), 4)
    assert counted.parameters == sum(p.numel() for p in model.parameters())
