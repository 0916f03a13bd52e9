"""Predictions of ranks on machines of their own: rank 0 has the files of all in the end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from thread_ranks import on_ranks

from agnn.data import NodeData, Split
from agnn.distributed import PartsFolder, Ranks, RowsTask, partition
from agnn.distributed._rows import train_rows
from agnn.networks import GCN
from agnn.runs._part_results import PredictionFiles, PredictionWriter

RANKS = 3


@pytest.mark.parametrize("size", [2**25, 999])  # that rank 0 receives at once
@pytest.mark.parametrize("is_shared", [True, False])
def test_rank_0_has_the_files_of_all_ranks(
    size: int, is_shared: bool, toy: NodeData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agnn.runs._part_results._BYTES_AT_ONCE", size)
    # The last third has no labels: the last rank has no scores to send.
    labels = np.where(np.arange(toy.nodes) < 2 * toy.nodes // 3, toy.labels, -1)
    data = replace(toy, labels=labels, splits={})
    partition(data, tmp_path / "parts", RANKS, order="given")
    folder = PartsFolder(tmp_path / "parts")
    parts = [folder.part(rank, RANKS, "sum") for rank in range(RANKS)]
    known = data.labelled
    split = Split("some", known[::3], known[1::3], known[2::3])
    task = RowsTask(GCN(epochs=2), toy.classes, (split,), (0,))
    machines = [tmp_path / ("0" if is_shared else str(rank)) for rank in range(RANKS)]
    for machine in machines:
        machine.mkdir(exist_ok=True)

    def work(ranks: Ranks) -> tuple[torch.Tensor, torch.Tensor | None]:
        part = parts[ranks.rank]
        writer = PredictionWriter(str(tmp_path / "parts"), str(machines[ranks.rank]))
        trained = train_rows(task, part, ranks)
        return trained.scores, writer(task, part, ranks, trained)

    results = on_ranks(RANKS, work)
    assert [labelled is None for _, labelled in results] == [False, True, True]
    scores = torch.cat([own for own, _ in results], dim=1)
    assert torch.equal(results[0][1], scores[:, known.copy()])
    files = PredictionFiles(machines[0])
    assert len(files.paths) == RANKS
    predictions = files.read(toy.class_names)
    assert [*map(str, predictions.ids)] == [*map(str, toy.node_ids)]
    # A temperature does not change the order of classes.
    assert np.array_equal(predictions.answers, scores.mean(0).argmax(1).numpy())
