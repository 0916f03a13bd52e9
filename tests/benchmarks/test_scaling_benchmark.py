"""The benchmark of ranks: exact halos, and a prediction that adds up."""

from __future__ import annotations

import numpy as np
from benchmarks.scaling import (
    CLOCKS,
    HIDDEN,
    LAYERS,
    Case,
    Epochs,
    halo_sizes,
    main,
    message_bytes,
    predicted,
)

from agnn.graph import Part


def test_halos_are_those_of_the_parts():
    case = Case(nodes=2000, edges=8000, near=0.9, epochs=3)
    graph = case.graph()
    features, labels = case.features()
    bounds = Part.rank_bounds(graph.nodes, 3, graph.offsets.numpy())
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


def test_the_bytes_of_two_ranks_stay_below_the_halo_bound(capsys):
    command = "--nodes 2000 --edges 8000 --near 0 --ranks 2 --measured --processes 2"
    row = main([*command.split(), "--epochs", "4", "--evaluate-every", "2"])["real"]["2 ranks"]
    numbers = 3 * HIDDEN + 2  # of a row of the halo in a layer: there, back and there again
    most = row["bound"] * (numbers - HIDDEN / 2) / numbers
    assert (LAYERS - 1) / LAYERS * 0.9 * most < row["bytes"] < most
    assert f"{row['bytes'] / row['bound']:.3f} of the bound" in capsys.readouterr().out


def test_bytes_are_the_mean_and_seconds_the_median_of_the_epochs():
    epochs = Epochs(evaluate_every=2)
    seconds = len(CLOCKS) * [1.0]
    epochs.marks = [(*(k * value for value in seconds), k // 2 * 10.0) for k in range(5)]
    assert epochs.typical()["bytes"] == 5.0
    assert epochs.typical()["processor"] == 1.0
