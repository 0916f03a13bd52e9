"""The benchmark of a user's graph measures ours whole and the peer between its epochs."""

from __future__ import annotations

import json
from statistics import median

import pytest
from benchmarks.own_graph import Pauses, main, own_graph


def test_the_graph_is_of_the_size_asked_for_with_a_fifth_of_the_labels() -> None:
    data = own_graph(1000, 5000, 8)
    assert (data.nodes, data.feature_count, data.classes) == (1000, 8, 10)
    assert 4800 < data.edges.shape[1] <= 5000
    assert data.labelled.size == 200
    assert [part.size for part in data.split("fixed").parts.values()] == [120, 40, 40]
    assert data.report.homophily == pytest.approx(0.73, abs=0.12)  # 0.7, and a tenth of the rest


def test_the_peer_is_timed_after_every_so_many_epochs() -> None:
    asked = []

    class Training:
        def epoch(self) -> None:
            asked.append(None)

    pauses = Pauses(Training(), 3)  # type: ignore[arg-type]
    for done in range(1, 11):
        pauses(done, 10)
    assert len(asked) == len(pauses.seconds) == len(pauses.processor) == 3


def test_the_figures_fit_together(capsys: pytest.CaptureFixture[str]) -> None:
    line = "--nodes 500 --edges 1500 --features 8 --replicas 2 --epochs 4 --every 2 --threads 1"
    assert main(line.split()) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert len(found["pyg_epoch_seconds"]) == 2
    whole = 2 * 4 * median(found["pyg_epoch_seconds"])
    assert found["pyg_seconds_extrapolated"] == pytest.approx(whole)
    assert found["ratio"] == pytest.approx(whole / found["agnn_seconds"])
    assert found["agnn_seconds"] > 0
    assert "extrapolated from 2 epochs of one replica" in err
