"""The benchmark of edge weights runs, and times the same graph with and without them."""

from __future__ import annotations

import sys

import torch
from benchmarks.graphs import graph_of

from benchmarks import weighted_layer


def test_every_graph_is_timed_with_its_number_of_rounds(capsys, monkeypatch):
    monkeypatch.setattr(
        sys, "argv", ["weighted_layer", "cora", "--rounds", "2", "--width", "16", "--replicas", "2"]
    )
    weighted_layer.main()
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("cora, 2 x 16: ")
    assert line.endswith("n = 2")


def test_the_weighted_graph_is_the_same_with_symmetric_weights():
    plain = graph_of("cora")
    weighted = weighted_layer.with_weights(plain)
    assert torch.equal(weighted.columns, plain.columns)
    assert torch.equal(weighted.weights, weighted.weights[weighted.reverse])
    assert weighted.weights.unique().numel() > 1000
