"""The benchmark of a run of parts measures every process of a training and of a prediction."""

from __future__ import annotations

import argparse
import sys

import pytest
from benchmarks.run_of_parts import measure


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_every_process_of_training_and_prediction_is_measured(tmp_path):
    given = argparse.Namespace(
        nodes=2000, edges=6000, ranks=2, epochs=1, method="agnn", order="given"
    )
    result = measure(tmp_path, given)
    assert result["train"]["first process, MiB"] > 50
    # Two ranks, and perhaps the process that follows what they share.
    assert sum(size > 50 for size in result["train"]["others, MiB"]) == 2
    assert result["predict"]["first process, MiB"] > 50
    assert 0 < result["accuracy"] < 100
    assert sum(1 for _ in (tmp_path / "predictions.csv").open(encoding="utf-8")) == 2001
