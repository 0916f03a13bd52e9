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

from agnn.data import NodeData, Split
from agnn.errors import AgnnError, DataError, InputError
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

    config = {
        "format": FORMAT,
        "method": {"name": run.method.name, **run.method.settings},
        "configuration": run.method.configuration,
        "chosen": run.outcome.chosen,
        "data": {
            "name": run.data.name,
            "fingerprint": run.data.fingerprint,
            "features": run.data.feature_count,
            "class_names": list(run.data.class_names),
        },
        "split": run.split_spec,
        "seeds": list(run.seeds),
        "accuracy": run.accuracy.to_dict(),
        "betas": run.betas,
        "selected_epochs": run.selected_epochs,
        "seconds": run.seconds,
        "device": run.device,
        "backend": run.backend,
        "versions": run.versions,
        "has_model": run.outcome.model is not None,
    }
    (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    different = {id(split): split for split in run.splits}
    places = {key: place for place, key in enumerate(different)}
    splits = {
        "splits": [split.to_dict() for split in different.values()],
        "of_replica": [places[id(split)] for split in run.splits],
    }
    (folder / SPLITS).write_text(json.dumps(splits) + "\n", encoding="utf-8")
    if run.outcome.model is not None:
        state = run.outcome.model.state_dict()
        save_file({name: t.contiguous().cpu() for name, t in state.items()}, folder / WEIGHTS)


def load_run(folder: Path | str, *, backend: str = "auto") -> SavedRun:
    """The run in a folder that `save_run` wrote."""
    folder = Path(folder)
    choose(backend, "cpu")  # a wrong name is the caller's, not the folder's
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        if config["format"] != FORMAT:
            raise DataError(f"its format is {config['format']}, this version reads {FORMAT}")
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
    model = method.build(method.input_width(features), classes, seeds, backend)
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
