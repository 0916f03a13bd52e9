"""A run on disk: a folder of JSON and safetensors that loads back without running any code."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agnn.data import NodeData, Preprocessing, Split, dataset_names, load_dataset
from agnn.data.stored_graph import read_stored_graph, write_graph
from agnn.errors import AgnnError, DataError, InputError
from agnn.evaluation.checksums import check_checksums, with_checksums
from agnn.evaluation.model_card import model_card
from agnn.evaluation.run import Run
from agnn.kernels import choose
from agnn.methods import Method, NetworkMethod, Tuned, get_method
from agnn.nn import NodeModel

FORMAT = 1
# What reading a file that is not what it should be can raise, from JSON, torch and our own checks.
_DAMAGE = (
    AgnnError, OSError, LookupError, ValueError, TypeError, AttributeError, RuntimeError
)  # fmt: skip
CONFIG, WEIGHTS, SPLITS = "config.json", "model.safetensors", "splits.json"
SCORES = "scores.safetensors"  # where there is no model to compute them with
GRAPH, PREPROCESSING = "data.npz", "preprocessing.json"  # where the data is not the package's own
CARD = "README.md"


@dataclass(frozen=True, eq=False)
class SavedRun:
    """What a run folder holds."""

    folder: Path
    method: Method
    seeds: tuple[int, ...]
    splits: tuple[Split, ...]
    class_names: tuple[str, ...]
    model: NodeModel | None
    config: Mapping[str, Any]  # the whole of config.json, results included


def check_output_folder(folder: Path | str) -> None:
    """Raise unless a new folder can be made there; asked before the work, not after."""
    folder = Path(folder)
    if folder.exists():
        raise InputError(f"the output folder '{folder}' exists already; choose another --out.")
    parent = folder.absolute().parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(
            f"the output folder '{folder}' cannot be made in '{parent}': not writable."
        )


def save_run(run: Run, folder: Path | str) -> None:
    """Write the run to a new folder, all of it or nothing."""
    check_output_folder(folder)
    target = Path(folder).absolute()
    missing = [parent for parent in target.parents if not parent.exists()]
    part = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        _write(run, part)
        part.chmod(0o755)
        part.rename(target)
    except BaseException:
        if part is not None:
            shutil.rmtree(part, ignore_errors=True)
        for parent in missing:
            with contextlib.suppress(OSError):  # somebody else may have put something there
                parent.rmdir()
        raise


def _write(run: Run, folder: Path) -> None:
    from safetensors.torch import save_file

    _write_splits(run, folder)
    if run.outcome.model is not None:
        state = run.outcome.model.state_dict()
        save_file({name: t.contiguous().cpu() for name, t in state.items()}, folder / WEIGHTS)
    else:
        save_file({"scores": run.outcome.scores.contiguous().cpu()}, folder / SCORES)
    if not _is_bundled(run.data):
        write_graph(run.data, folder / GRAPH)
    if run.data.preprocessing is not None:
        _write_json(run.data.preprocessing.to_dict(), folder / PREPROCESSING)
    (folder / CARD).write_text(model_card(run), encoding="utf-8")
    # Last, since it holds the checksums of all others.
    _write_json(with_checksums(_config(run), folder), folder / CONFIG, indent=2)


def _config(run: Run) -> dict[str, Any]:
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


def _is_bundled(data: NodeData) -> bool:
    """Whether the package itself holds this data, under this name."""
    known = data.reading is None and data.name in dataset_names()
    return known and load_dataset(data.name).fingerprint == data.fingerprint


def load_run(folder: Path | str, *, backend: str = "auto") -> SavedRun:
    """The run in a folder that `save_run` wrote."""
    folder = Path(folder)
    choose(backend, "cpu")  # a wrong name is the caller's, not the folder's
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        if config["format"] != FORMAT:
            raise DataError(f"its format is {config['format']}, this version reads {FORMAT}")
        check_checksums(config, folder)
        fields = dict(config["method"])
        method: Method = get_method(fields.pop("name"))(**fields)
        if config.get("configuration") == "tuned":  # older folders do not say
            method = Tuned(method)
        seeds = tuple(config["seeds"])
        names = tuple(config["data"]["class_names"])
        stored = json.loads((folder / SPLITS).read_text(encoding="utf-8"))
        different = [Split.from_dict(each) for each in stored["splits"]]
        splits = tuple(different[k] for k in stored["of_replica"])
        model = None
        if config["has_model"]:
            model = _model(folder, method, config["data"]["features"], len(names), seeds, backend)
    except _DAMAGE as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise DataError(f"'{folder}' is not a run folder, or is damaged ({reason})") from error
    return SavedRun(folder, method, seeds, splits, names, model, config)


def _model(
    folder: Path, method: Method, features: int, classes: int, seeds: tuple[int, ...], backend: str
) -> NodeModel:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if not isinstance(method, NetworkMethod):
        raise DataError(f"'{folder}' holds weights, but {method.name} has no model.")
    model = method.build(features, classes, seeds, backend)
    try:
        model.load_state_dict(load_file(folder / WEIGHTS))
    except SafetensorError as error:
        raise DataError(f"'{folder / WEIGHTS}' is damaged: {error}") from error
    return model


def check_data(saved: SavedRun, data: NodeData) -> None:
    """Raise unless `data` is what the run was trained on."""
    if saved.config["data"]["fingerprint"] != data.fingerprint:
        raise DataError(
            f"the run in '{saved.folder}' was trained on other data than '{data.name}' holds."
        )


def stored_data(saved: SavedRun) -> NodeData:
    """The data that the run was trained on: from the folder, or the package's own."""
    folder = saved.folder
    if (folder / GRAPH).exists():
        made = None
        if (folder / PREPROCESSING).exists():
            values = json.loads((folder / PREPROCESSING).read_text(encoding="utf-8"))
            made = Preprocessing.from_dict(values)
        data = read_stored_graph(folder / GRAPH, made)
    elif saved.config["data"]["name"] in dataset_names():
        data = load_dataset(saved.config["data"]["name"])
    else:
        raise DataError(
            f"'{folder}' does not hold the graph that its model was trained on; train it again."
        )
    check_data(saved, data)
    return data
