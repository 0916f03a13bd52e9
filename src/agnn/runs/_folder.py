"""Runs on disk: a folder of JSON, arrays and safetensors, written completely or not at all.

Nothing in a folder is code. config.json holds the SHA-256 of every other file and of itself, so a
file that was changed or added later is noticed when the folder is read: see `_loading`.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from agnn.data import NodeData
from agnn.data.store import is_bundled, write_data
from agnn.errors import AgnnError, DataError
from agnn.files import checksum, json_text, plain, write_tensors, writing_folder
from agnn.methods import Method, NetworkMethod
from agnn.runs._model_card import model_card
from agnn.runs._parts import PartsData
from agnn.runs._run import Run

FORMAT: Final = 1
CONFIG: Final = "config.json"
WEIGHTS: Final = "model.safetensors"
SPLITS: Final = "splits.json"
# Of all nodes if there is no model to compute them with; of the labelled ones of a run on parts.
SCORES: Final = "scores.safetensors"
HISTORY: Final = "history.safetensors"
GRAPH: Final = "data.npz"  # unless the data is bundled or in parts
PREPROCESSING: Final = "preprocessing.json"  # unless the data is bundled or in parts
CARD: Final = "README.md"
CHECKSUMS: Final = "sha256"  # the key of the checksums in config.json


def save_run(run: Run, folder: Path | str, *, notes: Mapping[str, Any] | None = None) -> None:
    """Write the run to a new folder, completely or not at all.

    `notes` are any JSON values of the caller's; they come back as the run's `notes`.
    """
    with writing_folder(folder) as draft:
        _write(run, draft, run.notes if notes is None else notes)


def folder_size(method: Method, data: NodeData, replicas: int) -> int:
    """Return about how many bytes a run's folder will take: weights or scores, and the graph."""
    if isinstance(method, NetworkMethod):
        model = method.build(method.input_width(data.feature_count), data.classes, (0,), "auto")
        numbers = sum(int(weight.numel()) for weight in model.state_dict().values())
    else:
        numbers = data.nodes * data.classes
    graph = 0 if is_bundled(data) else data.features.nnz + data.edges.size  # compressed
    return int(4 * replicas * numbers + graph)


def keep_elsewhere(run: Run, folder: Path | str, error: OSError) -> AgnnError:
    """Save a run elsewhere that could not be written to `folder`; return an error that says so."""
    reason = error.strerror or str(error)
    try:
        spare = Path(tempfile.mkdtemp(prefix="agnn-")) / Path(folder).absolute().name
        save_run(run, spare)
    except OSError as second:
        return DataError(
            f"the run could not be written to '{folder}' ({reason}), nor to the folder for "
            f"temporary files ({second.strerror or second}), and is lost."
        )
    return DataError(
        f"the run could not be written to '{folder}' ({reason}); it is kept in '{spare}': move it "
        f"before it is cleaned up."
    )


def _write(run: Run, folder: Path, notes: Mapping[str, Any] | None) -> None:
    _write_splits(run, folder)
    if run.model is not None:
        write_tensors(run.model.state_dict(), folder / WEIGHTS)
    if run.model is None or run.is_in_parts:
        write_tensors({"scores": run.labelled.scores}, folder / SCORES)
    if run.history is not None:
        tensors = {field.name: getattr(run.history, field.name) for field in fields(run.history)}
        write_tensors({name: t for name, t in tensors.items() if t is not None}, folder / HISTORY)
    if run.known.predictions is not None:
        run.known.predictions.copy_to(folder)
    else:
        _write_data(run.data, folder)
    (folder / CARD).write_text(model_card(run), encoding="utf-8")
    config = json.loads(json_text({**run_config(run), "notes": notes}))
    files = {file.name: checksum(file) for file in sorted(folder.iterdir())}
    config[CHECKSUMS] = {"config": digest(config), "files": files}
    # Last, since it holds the checksums of all others.
    _write_json(config, folder / CONFIG, indent=2)


def run_config(run: Run) -> dict[str, Any]:
    """Return how the run was made and what it reached, as JSON values."""
    data = run.data
    config = {
        "format": FORMAT,
        "method": {"name": run.method.name, **run.method.settings},
        "configuration": run.configuration,
        "chosen": run.chosen,
        "data": {
            "name": data.name,
            "fingerprint": data.fingerprint,
            "names_fingerprint": data.names_fingerprint,
            "features": data.feature_count,
            "class_names": data.class_names,
        },
        "parts": str(data.path) if isinstance(data, PartsData) else None,
        "split": run.split_spec,
        "seeds": run.seeds,
        "class_weight": run.class_weight,
        "accuracy": run.accuracy,
        "unseen": run.unseen,
        "metric": run.metric,
        "choice": run.choice,
        "confidence": {**run.calibration.to_dict(), "temperature": run.temperature},
        "betas": run.betas,
        "selected_epochs": run.selected_epochs,
        "diverged": run.diverged,
        "diverged_epochs": run.diverged_epochs,
        "seconds": run.seconds,
        "device": run.device,
        "backend": run.backend,
        "versions": run.versions,
        "machine": run.machine,
        "has_model": run.model is not None,
    }
    return dict(plain(config))


def _write_data(data: NodeData, folder: Path) -> None:
    if not is_bundled(data):
        write_data(data, folder / GRAPH)
    if data.preprocessing is not None:
        _write_json(data.preprocessing.to_dict(), folder / PREPROCESSING)


def _write_splits(run: Run, folder: Path) -> None:
    different = {id(split): split for split in run.splits}
    numbers = {key: number for number, key in enumerate(different)}
    # A split that came with parts is as long as the graph is large, and stays there.
    of_parts = run.data.splits if run.is_in_parts else {}
    splits = {
        "splits": [
            split.name if split == of_parts.get(split.name) else split.to_dict()
            for split in different.values()
        ],
        "of_replica": [numbers[id(split)] for split in run.splits],
    }
    _write_json(splits, folder / SPLITS)


def _write_json(value: Any, path: Path, indent: int | None = None) -> None:
    path.write_text(json_text(value, indent=indent), encoding="utf-8")


def digest(config: Mapping[str, Any]) -> str:
    """Return the checksum of config.json without its checksums."""
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()
