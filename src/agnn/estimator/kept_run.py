"""A run from its folder, as it was after training."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agnn.data import NodeData
from agnn.errors import DataError
from agnn.explanation.trained_model import TrainedModel
from agnn.methods import Outcome
from agnn.metrics import Summary
from agnn.runs import Run, find_device, load_run, stored_data, stored_scores


def kept_run(folder: Path | str, device: str, backend: str) -> tuple[Run, Mapping[str, Any] | None]:
    """The run that `save_run` wrote, its model where `device` says, and the notes with it."""
    saved = load_run(folder, backend=backend)
    place = find_device(device)
    data: NodeData = stored_data(saved)
    config, model = saved.config, saved.model
    if model is not None:
        model = model.to(place)
        scores = TrainedModel(model, data, saved.method).scores
    else:
        scores = stored_scores(saved)
    if scores.shape != (len(saved.seeds), data.nodes, data.classes):
        raise DataError(f"the answers in '{folder}' do not fit its data: {list(scores.shape)}.")
    run = Run(
        data=data,
        method=saved.method,
        split_spec=config["split"],
        splits=saved.splits,
        seeds=saved.seeds,
        outcome=Outcome(scores, model, chosen=config["chosen"]),
        accuracy=Summary(config["accuracy"]["values"]),
        seconds=config["seconds"],
        device=place,
        backend=config["backend"],
        versions=config["versions"],
        class_weight=config.get("class_weight"),
    )
    return run, config.get("notes")
