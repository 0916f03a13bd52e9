"""The benchmark of ranks: exact halos, and a prediction that adds up."""

from __future__ import annotations

import numpy as np
from benchmarks.scaling import Case, halo_sizes, main, message_bytes, predicted

from agnn.graph import Part, rank_bounds


def test_halos_are_those_of_the_parts():
    case = Case(nodes=2000, edges=8000, near=0.9, epochs=3)
    graph = case.graph()
    features, labels = case.features()
    bounds = rank_bounds(graph.nodes, 3, graph.offsets.numpy())
    parts = [Part.cut(graph, bounds, rank, features, labels) for rank in range(3)]
    assert halo_sizes(graph, 3).tolist() == [part.halo.size for part in parts]


def test_a_prediction_is_the_work_and_the_messages():
    assert predicted(2.0, 100, 1, 1.0, 1.0) == 2.0
    assert np.isclose(predicted(2.0, 100, 2, 1e6, 0.0), 2.0 + message_bytes(100) / 1e6)


def test_it_runs_on_a_small_graph(capsys):
    words = "--nodes 2000 --edges 8000 --epochs 3 --ranks 2 1024 --measured 1 2 --processes"
    found = main(words.split())
    assert set(found["halo"]) == {2, 1024}
    assert "predicted seconds per epoch" in capsys.readouterr().out
