"""`python -m benchmarks.recycling`: the same epochs with fresh and with recycled memory."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agnn.kernels._runtime import memory
from benchmarks import recycling


def test_a_table_beside_json_of_epochs_with_fresh_and_with_recycled_memory(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(recycling, "CASES", {"small": ("agnn_plus", "cora", 1, 3)})
    allocated, allocate, epochs = [], memory._Pool.allocate, recycling.epochs

    def counted(*given: Any) -> Any:
        allocated[-1] += 1
        return allocate(*given)

    def separately(*given: Any) -> tuple[float, float]:
        allocated.append(0)
        return epochs(*given)

    monkeypatch.setattr(memory._Pool, "allocate", counted)
    monkeypatch.setattr(recycling, "epochs", separately)
    assert recycling.main(["--rounds", "2"]) == 0
    _, *rounds = allocated  # behind the one that compiles: fresh, recycled, fresh, recycled
    assert [count > 0 for count in rounds] == [False, True, False, True]
    told = capsys.readouterr()
    found = json.loads(told.out)["cases"]["small"]
    assert set(found) == {"fresh", "recycled"}
    assert min(each["ms"] for each in found.values()) > 0
    assert told.err.count("\n") == 3
    assert "| small | " in told.err
