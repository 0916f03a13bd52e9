"""The benchmark of the server: its requests are answered, and its figures are of the right kind."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.cases import CEILINGS

from agnn import NodeData, evaluate, get_method, save_run
from benchmarks import serving


def test_every_figure_is_measured_on_a_served_run(
    tmp_path: Path, toy: NodeData, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_run(evaluate(get_method("gcn")(epochs=2), toy, "fixed", [0]), tmp_path / "run")
    known = serving.request("/predict", '{"ids": ["3"]}')
    monkeypatch.setattr(serving, "PREDICT", known)
    with serving.served(tmp_path / "run") as port:
        found = serving.latencies(port, seconds=0.3)
    assert set(found) == set(serving.WHAT)
    for each in found.values():
        assert each.per_second > 0
        assert 0 < each.p50 <= each.p99 < 10_000


def test_an_answer_that_is_not_expected_stops_the_benchmark(tmp_path: Path, toy: NodeData) -> None:
    save_run(evaluate(get_method("gcn")(epochs=2), toy, "fixed", [0]), tmp_path / "run")
    # The benchmark asks for a node of Cora, which this graph does not have.
    with (
        serving.served(tmp_path / "run") as port,
        pytest.raises(ExceptionGroup, match="unhandled errors") as caught,
    ):
        serving.latencies(port, seconds=0.3)
    assert "404" in str(caught.value.exceptions[0])


def test_every_figure_has_a_row() -> None:
    rows = {each.group: each for each in CEILINGS}
    assert set(rows["serve-rate"].words) == set(serving.WHAT)
    assert set(rows["serve"].below) <= set(rows["serve"].words)
    assert len(rows["serve"].words) == 2 * len(serving.WHAT)
