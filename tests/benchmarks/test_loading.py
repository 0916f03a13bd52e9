"""The figures of loading are those of the graph that was made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.loading import main, make_tables

from agnn import read_tables


def test_the_made_tables_are_a_graph_with_text_ids_and_a_fifth_of_the_labels(
    tmp_path: Path,
) -> None:
    data = read_tables(*make_tables(tmp_path, 500, 2000, 3), label="topic")
    assert (data.nodes, data.feature_count, data.classes) == (500, 3, 10)
    assert data.facts.raw_edge_entries == 2000
    assert sorted(data.node_ids) == sorted(f"user-{k}" for k in range(500))
    assert 60 < data.labelled.size < 140


def test_the_runner_prints_seconds_and_memory(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["loading", "--nodes", "300", "--edges", "900", "--features", "2"]
    monkeypatch.setattr("sys.argv", options)
    main()
    figures = json.loads(capsys.readouterr().out)
    assert (figures["nodes"], figures["features"]) == (300, 2)
    assert figures["stored_edges"] == 2 * figures["edges"]
    assert 0 < figures["read_seconds"] < figures["seconds"]
    assert 0 < figures["peak_gib"] < 4
