"""A run on disk: a folder of JSON, plain arrays and safetensors, written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agnn.data import is_bundled
from agnn.data.store import write_data
from agnn.files import write_tensors, writing_folder
from agnn.runs.checksums import with_checksums
from agnn.runs.model_card import model_card
from agnn.runs.run import Run
from agnn.runs.run_history import write_history

FORMAT = 1
CONFIG, WEIGHTS, SPLITS = "config.json", "model.safetensors", "splits.json"
SCORES = "scores.safetensors"  # where there is no model to compute them with
GRAPH, PREPROCESSING = "data.npz", "preprocessing.json"  # where the data is not the package's own
CARD = "README.md"


def save_run(run: Run, folder: Path | str, *, notes: Mapping[str, Any] | None = None) -> None:
    """Write the run to a new folder, all of it or nothing.

    `notes` are the caller's own words, in what JSON has; they come back in the config.
    """
    with writing_folder(folder) as draft:
        _write(run, draft, notes)


def _write(run: Run, folder: Path, notes: Mapping[str, Any] | None) -> None:
    _write_splits(run, folder)
    if run.outcome.model is not None:
        write_tensors(run.outcome.model.state_dict(), folder / WEIGHTS)
    else:
        write_tensors({"scores": run.outcome.scores}, folder / SCORES)
    if run.outcome.history is not None:
        write_history(run.outcome.history, folder)
    if not is_bundled(run.data):
        write_data(run.data, folder / GRAPH)
    if run.data.preprocessing is not None:
        _write_json(run.data.preprocessing.to_dict(), folder / PREPROCESSING)
    (folder / CARD).write_text(model_card(run), encoding="utf-8")
    # Last, since it holds the checksums of all others.
    _write_json(
        with_checksums(run_config(run) | {"notes": notes}, folder), folder / CONFIG, indent=2
    )


def run_config(run: Run) -> dict[str, Any]:
    """What the run says of itself, its results included, in what JSON has."""
    weight = run.class_weight
    return {
        "format": FORMAT,
        "method": {"name": run.method.name, **run.method.settings},
        "configuration": run.method.configuration,
        "chosen": None if run.outcome.chosen is None else [dict(c) for c in run.outcome.chosen],
        "data": {
            "name": run.data.name,
            "fingerprint": run.data.fingerprint,
            "features": run.data.feature_count,
            "class_names": list(run.data.class_names),
        },
        "split": run.split_spec,
        "seeds": list(run.seeds),
        "class_weight": weight if weight is None or isinstance(weight, str) else dict(weight),
        "accuracy": run.accuracy.to_dict(),
        "confidence": run.calibration.to_dict(),
        "betas": run.betas,
        "selected_epochs": run.selected_epochs,
        "seconds": run.seconds,
        "device": run.device,
        "backend": run.backend,
        "versions": run.versions,
        "has_model": run.outcome.model is not None,
    }


def _write_splits(run: Run, folder: Path) -> None:
    different = {id(split): split for split in run.splits}
    places = {key: place for place, key in enumerate(different)}
    splits = {
        "splits": [split.to_dict() for split in different.values()],
        "of_replica": [places[id(split)] for split in run.splits],
    }
    _write_json(splits, folder / SPLITS)


def _write_json(value: Any, path: Path, indent: int | None = None) -> None:
    path.write_text(json.dumps(value, indent=indent) + "\n", encoding="utf-8")
