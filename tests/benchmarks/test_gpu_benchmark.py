"""What the benchmark of a GPU times, on the CPU."""

from __future__ import annotations

import pytest
from benchmarks.gpu import training

from agnn.data import load_dataset


@pytest.mark.parametrize("work", ["step", "epoch"])
def test_the_work_of_both_sides_can_be_repeated(monkeypatch: pytest.MonkeyPatch, work: str) -> None:
    monkeypatch.setattr(training, "DEVICE", "cpu")
    data = load_dataset("cora")
    run, peer = training.our_run(data, 2), training.peer_training(data, is_compiled=False)
    before = {name: each.clone() for name, each in run.weights.live.items()}
    for _ in range(2):
        training._again(run, training._works(run)[work])
        getattr(peer, work)()
    assert any((each != before[name]).any() for name, each in run.weights.live.items())
