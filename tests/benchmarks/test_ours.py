"""What the benchmarks time is a training step, of every method that they time."""

from __future__ import annotations

import pytest

from agnn.networks import GAT, GCN
from benchmarks import ours


@pytest.mark.parametrize(
    "action",
    [lambda: ours.step("cora"), lambda: ours.network_step(GCN, "cora"),
     lambda: ours.network_step(GAT, "cora")],
    ids=["AGNN", "GCN", "GAT"],
)  # fmt: skip
def test_the_timed_step_lowers_the_loss(action):
    step = action()
    losses = [float(step()) for _ in range(15)]
    assert losses[-1] < losses[0]
