"""The benchmark of the PyG layer runs, and times the same work on both sides."""

from __future__ import annotations

import sys

import torch

from benchmarks import swapped_layer


def test_every_way_is_timed_with_its_number_of_rounds(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["swapped_layer", "cora", "--rounds", "2"])
    swapped_layer.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "cora, same edges", "cora, new edges", "cora, directed"
    ]  # fmt: skip
    assert all(line.endswith("n = 2") for line in lines)


def test_the_ways_hold_the_edges_they_name():
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    ways = swapped_layer.ways(edges)
    assert ways["same edges"]() is edges
    assert ways["new edges"]() is not edges
    assert torch.equal(ways["new edges"](), edges)
    assert ways["directed"]().tolist() == [[0, 1], [1, 2]]
