"""Runs on disk: a folder of JSON, arrays and safetensors, written completely or not at all.

Nothing in a folder is code. config.json holds the SHA-256 of every other file and of itself, so a
file that was changed or added later is noticed.
"""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

from agnn.data import (
    NodeData,
    Preprocessing,
    Split,
    SplitSpec,
    dataset_names,
    is_bundled,
    load_dataset,
)
from agnn.data.store import is_row_normalised, read_data, write_data
from agnn.errors import AgnnError, DataError
from agnn.files import checksum, json_text, read_json, write_tensors, writing_folder
from agnn.kernels import choose
from agnn.methods import Method, NetworkMethod, Tuned, get_method
from agnn.metrics import MEASURES, Summary
from agnn.runs._devices import find_device
from agnn.runs._divergence import trial_means, unusable_replicas
from agnn.runs._model_card import model_card
from agnn.runs._run import Run
from agnn.training import History

if TYPE_CHECKING:
    from torch import Tensor

    from agnn.nn import NodeModel

FORMAT: Final = 1
CONFIG, WEIGHTS, SPLITS = "config.json", "model.safetensors", "splits.json"
SCORES = "scores.safetensors"  # if there is no model to compute them with
HISTORY = "history.safetensors"
# Each [epochs, R, ...], or [R].
_HISTORY_AXES: Final = {
    "training_loss": 2, "watched_accuracy": 2, "watched_loss": 2, "betas": 3, "selected_epochs": 1,
    "diverged_epochs": 1,
}  # fmt: skip
GRAPH, PREPROCESSING = "data.npz", "preprocessing.json"  # unless the data is bundled
CARD = "README.md"
_READ: Final = {WEIGHTS, SPLITS, SCORES, HISTORY, GRAPH, PREPROCESSING}
_CHECKSUMS: Final = "sha256"
# Above this no hyper-parameter is believed, unless the weights themselves are that many.
_LARGEST: Final = 100_000
_TEMPERATURES: Final = (1e-3, 1e3)  # what is fitted lies within e^-6 and e^6
_MOST_LAYERS: Final = 1000  # the same for layers, each of which is built

# What a file with unexpected content can raise, from JSON, torch, NumPy and our own checks.
_DAMAGE: Final = (
    AgnnError, LookupError, ValueError, TypeError, AttributeError, RuntimeError, ArithmeticError,
    EOFError, MemoryError,
)  # fmt: skip


@dataclass(frozen=True)
class _Machine:
    processor: str
    cores: int
    threads: int
    memory: int | None = None
    gpu: str = ""
    gpu_memory: int = 0


@dataclass(frozen=True)
class _Choice:
    words: str


@dataclass(frozen=True)
class _Confidence:
    temperature: float


@dataclass(frozen=True)
class _Stated:
    """The part of config.json that a run repeats without computing with it."""

    versions: dict[str, str]
    machine: _Machine | None = None
    choice: _Choice | None = None
    confidence: _Confidence | None = None
    chosen: list[dict[str, Any]] | None = None
    class_weight: str | dict[str, float] | None = None
    metric: str | None = None
    notes: dict[str, Any] | None = None


def save_run(run: Run, folder: Path | str, *, notes: Mapping[str, Any] | None = None) -> None:
    """Write the run to a new folder, completely or not at all.

    `notes` are any JSON values of the caller's; they come back as the run's `notes`.
    """
    with writing_folder(folder) as draft:
        _write(run, draft, run.notes if notes is None else notes)


def folder_size(method: Method, data: NodeData, replicas: int) -> int:
    """About how many bytes a run's folder will take: its weights or scores, and the graph."""
    if isinstance(method, NetworkMethod):
        model = method.build(method.input_width(data.feature_count), data.classes, (0,), "auto")
        own = replicas * sum(int(each.numel()) for each in model.state_dict().values())
    else:
        own = replicas * data.nodes * data.classes
    graph = 0 if is_bundled(data) else data.features.nnz + data.edges.size  # compressed
    return int(4 * own + graph)


def keep_elsewhere(run: Run, folder: Path | str, error: OSError) -> AgnnError:
    """Save a run that could not be written to `folder` somewhere else; an error that says where."""
    reason = error.strerror or str(error)
    try:
        place = Path(tempfile.mkdtemp(prefix="agnn-")) / Path(folder).absolute().name
        save_run(run, place)
    except OSError as second:
        return DataError(
            f"the run could not be written to '{folder}' ({reason}), nor to the folder for "
            f"temporary files ({second.strerror or second}), and is lost."
        )
    return DataError(
        f"the run could not be written to '{folder}' ({reason}); it is kept in '{place}': move it "
        f"before it is cleaned up."
    )


def _write(run: Run, folder: Path, notes: Mapping[str, Any] | None) -> None:
    _write_splits(run, folder)
    if run.model is not None:
        write_tensors(run.model.state_dict(), folder / WEIGHTS)
    else:
        write_tensors({"scores": run.scores}, folder / SCORES)
    if run.history is not None:
        found = {each.name: getattr(run.history, each.name) for each in fields(run.history)}
        write_tensors({name: t for name, t in found.items() if t is not None}, folder / HISTORY)
    if not is_bundled(run.data):
        write_data(run.data, folder / GRAPH)
    if run.data.preprocessing is not None:
        _write_json(run.data.preprocessing.to_dict(), folder / PREPROCESSING)
    (folder / CARD).write_text(model_card(run), encoding="utf-8")
    config = json.loads(json_text({**run_config(run), "notes": notes}))
    files = {file.name: checksum(file) for file in sorted(folder.iterdir())}
    config[_CHECKSUMS] = {"config": _digest(config), "files": files}
    # Last, since it holds the checksums of all others.
    _write_json(config, folder / CONFIG, indent=2)


def run_config(run: Run) -> dict[str, Any]:
    """How the run was made and what it reached, as JSON values."""
    weight, data = run.class_weight, run.data
    return {
        "format": FORMAT,
        "method": {"name": run.method.name, **run.method.settings},
        "configuration": run.configuration,
        "chosen": None if run.chosen is None else [dict(each) for each in run.chosen],
        "data": {
            "name": data.name,
            "fingerprint": data.fingerprint,
            "names_fingerprint": data.names_fingerprint,
            "features": data.feature_count,
            "class_names": list(data.class_names),
        },
        "split": run.split_spec,
        "seeds": list(run.seeds),
        "class_weight": weight if weight is None or isinstance(weight, str) else dict(weight),
        "accuracy": run.accuracy.to_dict(),
        "metric": run.metric,
        "choice": run.choice,
        "confidence": {**run.calibration.to_dict(), "temperature": run.temperature},
        "betas": run.betas,
        "selected_epochs": run.selected_epochs,
        "diverged": run.diverged.tolist(),
        "diverged_epochs": run.diverged_epochs,
        "seconds": run.seconds,
        "device": run.device,
        "backend": run.backend,
        "versions": dict(run.versions),
        "machine": dict(run.machine),
        "has_model": run.model is not None,
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
    path.write_text(json_text(value, indent=indent), encoding="utf-8")


def _digest(config: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()


def load_run(
    folder: Path | str,
    *,
    device: str = "cpu",
    backend: str = "auto",
    trust_unchecked: bool = False,
) -> Run:
    """The run in a folder that `Run.save` or `agnn train --out` wrote.

    A file that was changed or added since is refused. `trust_unchecked` also takes folders
    without checksums; only use it for folders whose origin you know.
    """
    folder = Path(folder)
    choose(backend, "cpu")  # an unknown name is the caller's mistake, not the folder's
    place = find_device(device)
    if not folder.is_dir():
        raise DataError(f"'{folder}' is not a run folder: there is no such folder.")
    try:
        return _loaded(folder, place, backend, is_trusted=trust_unchecked)
    except FileNotFoundError as error:
        missing = Path(error.filename or CONFIG).name
        raise DataError(
            f"'{folder}' is not a run folder, or is damaged ({missing} is missing)."
        ) from error
    except OSError as error:
        where = f"'{error.filename or folder}'"
        raise DataError(f"cannot read {where}: {error.strerror or error}.") from error
    except _DAMAGE as error:
        kind = "" if isinstance(error, AgnnError) else f"{type(error).__name__}: "
        reason = " ".join(f"{kind}{error}".split())[:300].rstrip(".")
        raise DataError(f"'{folder}' is not a run folder, or is damaged ({reason}).") from error


def _loaded(folder: Path, place: str, backend: str, *, is_trusted: bool) -> Run:
    config = read_json(folder / CONFIG)
    if not isinstance(config, dict) or "format" not in config:
        raise DataError("config.json is not the description of a run")
    if config["format"] != FORMAT:
        raise DataError(f"its format is {config['format']}, this version reads {FORMAT}")
    _check_files(config, folder, is_trusted=is_trusted)
    _check_stated(config)
    settings: dict[str, Any] = {  # JSON has lists for tuples
        name: tuple(value) if isinstance(value, list) else value
        for name, value in config["method"].items()
    }
    kind = get_method(settings.pop("name"))
    if issubclass(kind, NetworkMethod) and "scaling" not in settings:
        settings |= _older_scaling(folder)
    method: Method = kind.from_settings(settings)
    seeds = tuple(_integers(config["seeds"], "seeds"))
    splits = _splits(folder, len(seeds))
    model = scores = None
    data = _data(folder, config)
    if config["has_model"]:
        model = _model(folder, method, data, seeds, backend).to(place)
    else:
        scores = _tensors(folder / SCORES)["scores"]
        if not bool(torch.isfinite(scores).all()):
            raise DataError(f"{SCORES} has values that are not finite")
    spec = config["split"]
    accuracy = Summary([_number(each) for each in config["accuracy"]["values"]])
    history = _history(folder, len(seeds))
    folds, unusable = SplitSpec.parse(spec).folds, unusable_replicas(history, len(seeds))
    # Of unusable replicas there is no accuracy.
    if len(seeds) % folds or accuracy.n != len(trial_means([0.0] * len(seeds), folds, unusable)):
        raise DataError(f"it has {accuracy.n} accuracies for {len(seeds)} replicas, split '{spec}'")
    stated = config.get("confidence")
    return Run(
        data=data,
        method=Tuned(method) if config.get("configuration") == "tuned" else method,
        splits=splits,
        seeds=seeds,
        accuracy=accuracy,
        model=model,
        split_spec=spec,
        history=history,
        chosen=config.get("chosen"),
        seconds=_number(config["seconds"]),
        device=place,
        backend=str(config["backend"]),
        versions=dict(config["versions"]),
        machine=dict(config.get("machine") or {}),  # older folders have none
        class_weight=config.get("class_weight"),
        metric=config.get("metric"),
        choice=config.get("choice"),
        notes=config.get("notes"),
        known_scores=scores,
        known_temperature=None if stated is None else stated["temperature"],
        folder=folder,
    )


def _check_stated(config: Mapping[str, Any]) -> None:
    """Raise for values of the wrong type, an unknown metric and an absurd temperature."""
    from pydantic import TypeAdapter, ValidationError

    machine = config.get("machine") or None  # some folders have an empty one
    try:
        stated = TypeAdapter(_Stated).validate_json(
            json.dumps({**config, "machine": machine}), strict=True
        )
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise DataError(f"{CONFIG}, {key}: {first['msg']}") from error
    if stated.metric is not None and stated.metric not in MEASURES:
        raise DataError(f"{CONFIG}, metric: there is no metric '{stated.metric}'")
    low, high = _TEMPERATURES
    if stated.confidence is not None and not low <= stated.confidence.temperature <= high:
        raise DataError(f"{CONFIG}, confidence.temperature: it must be from {low} to {high}")


def _history(folder: Path, replicas: int) -> History | None:
    if not (folder / HISTORY).exists():
        return None
    found = History(**_tensors(folder / HISTORY))
    for name, axes in _HISTORY_AXES.items():
        tensor = getattr(found, name)
        is_fitting = tensor is None or (
            tensor.dim() == axes and tensor.shape[min(1, axes - 1)] == replicas
        )
        if not is_fitting and tensor.numel():
            raise DataError(f"{HISTORY}: {name} of shape {list(tensor.shape)} does not fit")
    return found


def _older_scaling(folder: Path) -> dict[str, str]:
    """The scaling in a folder from before methods had one: the stored graph has it, if any."""
    path = folder / GRAPH
    return {} if not path.exists() or is_row_normalised(path) else {"scaling": "none"}


def run_files(folder: Path | str, *, is_checked: bool = True) -> list[str]:
    """The names of the files of a run, its configuration first; other files are the user's.

    Raises unless the folder holds a run and, if `is_checked`, its files are as they were written.
    """
    place = Path(folder)
    try:
        config = read_json(place / CONFIG)
        files = config[_CHECKSUMS]["files"]
        if is_checked:
            _check_files(config, place, is_trusted=False)
        for name in files:
            if Path(name).name != name:
                raise DataError(f"it names a file outside the folder, '{name}'")
    except (OSError, *_DAMAGE) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise DataError(f"'{folder}' is not a run folder, or is damaged ({reason}).") from error
    return [CONFIG, *sorted(files)]


def _check_files(config: Mapping[str, Any], folder: Path, *, is_trusted: bool) -> None:
    """Raise unless config and files are as they were written, and no file was added."""
    if _CHECKSUMS not in config:
        if is_trusted:
            return
        raise DataError(
            "it has no checksums, so changes cannot be noticed; if you trust its origin, load it "
            "with trust_unchecked=True (--allow-unchecked)"
        )
    stored = config[_CHECKSUMS]
    if stored["config"] != _digest({n: each for n, each in config.items() if n != _CHECKSUMS}):
        raise DataError("config.json was changed after it was written")
    for name, expected in stored["files"].items():
        if Path(name).name != name:
            raise DataError(f"it names a file outside the folder, '{name}'")
        if checksum(folder / name) != expected:
            raise DataError(f"{name} was changed after it was written")
    # Other files are the user's; of them only the explorer's map is read, and checked.
    for name in sorted(_READ - set(stored["files"])):
        if (folder / name).exists():
            raise DataError(f"{name} was added after it was written")


def _splits(folder: Path, replicas: int) -> tuple[Split, ...]:
    stored = read_json(folder / SPLITS)
    different = [Split.from_dict(each) for each in stored["splits"]]
    places = _integers(stored["of_replica"], "of_replica")
    if len(places) != replicas:
        raise DataError(f"{SPLITS} has {len(places)} entries for {replicas} replicas")
    return tuple(different[place] for place in places)


def _data(folder: Path, config: Mapping[str, Any]) -> NodeData:
    """The data that the run was trained on: from the folder, or bundled."""
    about = config["data"]
    if (folder / GRAPH).exists():
        made = None
        if (folder / PREPROCESSING).exists():
            made = Preprocessing.from_dict(read_json(folder / PREPROCESSING))
        data = read_data(folder / GRAPH, preprocessing=made)
        if made is not None and len(made.feature_names) != data.feature_count:
            raise DataError(
                f"{PREPROCESSING} gives {len(made.feature_names)} features, its data has "
                f"{data.feature_count}"
            )
    elif about["name"] in dataset_names():
        data = load_dataset(about["name"])
    else:
        raise DataError("it does not hold the graph that its model was trained on")
    if about["fingerprint"] != data.fingerprint:
        raise DataError("its data is not what it was trained on")
    names = about.get("names_fingerprint", data.names_fingerprint)  # older folders have none
    if names != data.names_fingerprint or list(about["class_names"]) != list(data.class_names):
        raise DataError("the ids or class names of its data are not what it was trained on")
    if about["features"] != data.feature_count:
        raise DataError(f"it states {about['features']} features, its data has another number")
    return data


def _model(
    folder: Path, method: Method, data: NodeData, seeds: tuple[int, ...], backend: str
) -> NodeModel:
    if not isinstance(method, NetworkMethod):
        raise DataError(f"it holds weights, but {method.name} has no model")
    weights = _tensors(folder / WEIGHTS)
    count = sum(each.numel() for each in weights.values())
    for name, each in weights.items():
        if each.shape[:1] != (len(seeds),):
            raise DataError(f"'{name}' in {WEIGHTS} is not for {len(seeds)} replicas")
        if not bool(torch.isfinite(each).all()):
            raise DataError(f"'{name}' in {WEIGHTS} has values that are not finite")
    # Before anything is built: a network of a million layers would take for ever.
    for name, value in method.settings.items():
        most = _MOST_LAYERS if name == "layers" else _LARGEST
        if isinstance(value, int) and value > max(count // max(len(seeds), 1), most):
            raise DataError(f"{name} = {value} does not fit its weights")
    _check_shapes(weights, method, data, len(seeds))
    model = method.build(method.input_width(data.feature_count), data.classes, seeds, backend)
    model.load_state_dict(weights)
    return model


def _check_shapes(
    weights: Mapping[str, Tensor], method: NetworkMethod, data: NodeData, replicas: int
) -> None:
    """Raise unless the weights are those of this network, without the memory to build it."""
    with torch.device("meta"):
        sketch = method.build(method.input_width(data.feature_count), data.classes, (0,), "auto")
    expected = {name: [replicas, *each.shape[1:]] for name, each in sketch.state_dict().items()}
    if odd := sorted(expected.keys() ^ weights.keys()):
        reason = "is missing" if odd[0] in expected else f"is no weight of {method.name}"
        raise DataError(f"'{odd[0]}' in {WEIGHTS} {reason}")
    for name, shape in expected.items():
        if list(weights[name].shape) != shape:
            raise DataError(
                f"'{name}' in {WEIGHTS} should have the shape {shape}, not "
                f"{list(weights[name].shape)}"
            )


def _tensors(path: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        found: dict[str, Tensor] = load_file(path)
    except SafetensorError as error:
        raise DataError(f"{path.name} is damaged: {error}") from error
    return found


def _integers(values: Any, name: str) -> list[int]:
    # type(), because JSON's true would pass for 1.
    if not isinstance(values, list) or not all(type(each) is int and each >= 0 for each in values):
        raise DataError(f"'{name}' must be a list of whole numbers")
    return values


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise DataError(f"{value!r} is not a finite number")
    return float(value)
