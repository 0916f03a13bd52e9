"""Read a run from its folder, of which nothing is believed before it is checked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import torch
from torch import Tensor

from agnn.choosing import Tuned
from agnn.data import NodeData, Split, SplitSpec, load_dataset
from agnn.data.preprocessing import Preprocessing
from agnn.data.store import dataset_names, read_data
from agnn.distributed import PartsFolder
from agnn.errors import AgnnError, DataError
from agnn.files import checksum, read_json
from agnn.kernels import choose
from agnn.methods import Method, NetworkMethod, get_method
from agnn.metrics import MEASURES, Summary
from agnn.networks import NodeModel
from agnn.runs._devices import find_device
from agnn.runs._folder import (
    CHECKSUMS,
    CONFIG,
    FORMAT,
    GRAPH,
    HISTORY,
    PREPROCESSING,
    SCORES,
    SPLITS,
    WEIGHTS,
    digest,
)
from agnn.runs._part_results import PredictionFiles
from agnn.runs._parts import PartsData, at_labelled, parts_run
from agnn.runs._predictor import KnownResults
from agnn.runs._result import trial_means, unusable_replicas
from agnn.runs._run import Run
from agnn.training import History

_READ: Final = {WEIGHTS, SPLITS, SCORES, HISTORY, GRAPH, PREPROCESSING}
# Dimensions of each tensor of the history: [epochs, R, ...], or [R].
_HISTORY_DIMENSIONS: Final = {
    "training_loss": 2,
    "watched_accuracy": 2,
    "watched_loss": 2,
    "betas": 3,
    "selected_epochs": 1,
    "diverged_epochs": 1,
}
_TEMPERATURES: Final = (1e-3, 1e3)  # what is fitted lies within e^-6 and e^6
# Above this no hyper-parameter is believed, unless the weights themselves are that many.
_LARGEST: Final = 100_000
_MOST_LAYERS: Final = 1000  # the same for layers, each of which is built

# What a file with unexpected content can raise, from JSON, torch, NumPy and our own checks.
_DAMAGE: Final = (
    AgnnError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    RuntimeError,
    ArithmeticError,
    EOFError,
    MemoryError,
)


@dataclass(frozen=True)
class _Data:
    name: str
    fingerprint: str
    names_fingerprint: str
    features: int
    class_names: list[str]


@dataclass(frozen=True)
class _Accuracy:
    values: list[float]


@dataclass(frozen=True)
class _Confidence:
    temperature: float


@dataclass(frozen=True)
class _Machine:
    processor: str = ""
    cores: int = 0
    threads: int = 0
    memory: int | None = None
    gpu: str = ""
    gpu_memory: int = 0


@dataclass(frozen=True)
class _Choice:
    words: str


@dataclass(frozen=True)
class _Config:
    """What of config.json is read, and the type that each value must have."""

    __pydantic_config__ = {"allow_inf_nan": False}  # noqa: RUF012 (pydantic reads it)

    method: dict[str, Any]
    configuration: str | None
    chosen: list[dict[str, Any]] | None
    data: _Data
    split: str
    seeds: list[int]
    class_weight: Literal["balanced"] | dict[str, float] | None
    accuracy: _Accuracy
    metric: str | None
    choice: _Choice | None
    confidence: _Confidence
    seconds: float
    backend: str
    versions: dict[str, str]
    machine: _Machine  # empty where it is unknown
    has_model: bool
    notes: dict[str, Any] | None
    unseen: _Accuracy | None = None  # also where an older folder lacks it
    parts: str | None = None  # the folder of parts that it was trained on


def load_run(
    folder: Path | str,
    *,
    device: str = "cpu",
    backend: str = "auto",
    trust_unchecked: bool = False,
) -> Run:
    """Load the run in a folder that `Run.save` or `agnn train --out` wrote.

    A file that was changed or added since is refused. `trust_unchecked` also takes folders
    without checksums; only use it for folders whose origin you know.
    """
    folder = Path(folder)
    choose(backend, "cpu")  # an unknown name is the caller's mistake, not the folder's
    found_device = find_device(device)
    if not folder.is_dir():
        raise DataError(f"'{folder}' is not a run folder: there is no such folder.")
    with _refusing_damage(folder):
        content = _read_config(folder)
        if CHECKSUMS in content or not trust_unchecked:
            _check_files(content, folder)
        config = _checked_config(content)
    # Outside: it is not the folder of the run that is damaged.
    parts = None if config.parts is None else _open_parts(folder, config, config.parts)
    with _refusing_damage(folder):
        return _read_run(folder, content, found_device, backend, parts)


def _open_parts(folder: Path, config: _Config, path: str) -> PartsData:
    """Return the data that a run on a folder of parts was trained on."""
    if not PartsFolder.is_at(path):
        raise DataError(
            f"'{folder}' was trained on the folder of parts '{path}', which is not there; put it "
            f"back, since the graph is in it."
        )
    if PartsFolder(path).manifest.partition != config.data.fingerprint:
        raise DataError(
            f"'{folder}' was trained on other parts than those in '{path}': the partition has "
            f"changed since."
        )
    return PartsData.of(path)


def run_files(folder: Path | str, *, is_checked: bool = True) -> list[str]:
    """Return the names of the files of a run, its configuration first; others are the user's.

    Raises unless the folder holds a run and, if `is_checked`, its files are as they were written.
    """
    folder = Path(folder)
    with _refusing_damage(folder):
        content = _read_config(folder)
        if is_checked:
            _check_files(content, folder)
        return [CONFIG, *sorted(_file_checksums(content))]


@contextmanager
def _refusing_damage(folder: Path) -> Iterator[None]:
    """Raise one kind of error, of one line, whatever is wrong with the files."""
    try:
        yield
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


def _read_config(folder: Path) -> dict[str, Any]:
    content = read_json(folder / CONFIG)
    if not isinstance(content, dict) or "format" not in content:
        raise DataError("config.json is not the description of a run")
    if content["format"] != FORMAT:
        raise DataError(f"its format is {content['format']}, this version reads {FORMAT}")
    return content


def _file_checksums(content: Mapping[str, Any]) -> dict[str, str]:
    """Return the checksum of every other file by its name."""
    if CHECKSUMS not in content:
        raise DataError(
            "it has no checksums, so changes cannot be noticed; if you trust its origin, load it "
            "with trust_unchecked=True (--allow-unchecked)"
        )
    files: dict[str, str] = content[CHECKSUMS]["files"]
    for name in files:
        if Path(name).name != name:
            raise DataError(f"it names a file outside the folder, '{name}'")
    return files


def _check_files(content: Mapping[str, Any], folder: Path) -> None:
    """Raise unless config and files are as they were written, and no file was added."""
    files = _file_checksums(content)
    config = {key: value for key, value in content.items() if key != CHECKSUMS}
    if content[CHECKSUMS]["config"] != digest(config):
        raise DataError("config.json was changed after it was written")
    for name, expected in files.items():
        if checksum(folder / name) != expected:
            raise DataError(f"{name} was changed after it was written")
    # Other files are the user's; of them only the explorer's map is read, and checked.
    predictions = {path.name for path in PredictionFiles(folder).paths}
    for name in sorted((_READ | predictions) - set(files)):
        if (folder / name).exists():
            raise DataError(f"{name} was added after it was written")


def _checked_config(content: Mapping[str, Any]) -> _Config:
    """Return the values of config.json; raises for the wrong type and for absurd values."""
    from pydantic import TypeAdapter, ValidationError

    try:
        config = TypeAdapter(_Config).validate_json(json.dumps(content), strict=True)
    except ValidationError as error:
        mistake = error.errors()[0]
        key = ".".join(str(part) for part in mistake["loc"])
        raise DataError(f"{CONFIG}, {key}: {mistake['msg']}") from error
    if min(config.seeds, default=-1) < 0:
        raise DataError(f"{CONFIG}, seeds: there must be some, and none below 0")
    if config.metric is not None and config.metric not in MEASURES:
        raise DataError(f"{CONFIG}, metric: there is no metric '{config.metric}'")
    low, high = _TEMPERATURES
    if not low <= config.confidence.temperature <= high:
        raise DataError(f"{CONFIG}, confidence.temperature: it must be from {low} to {high}")
    return config


def _read_run(
    folder: Path, content: Mapping[str, Any], device: str, backend: str, parts: PartsData | None
) -> Run:
    config = _checked_config(content)
    settings = dict(config.method)
    method: Method = get_method(settings.pop("name")).from_settings(settings)
    seeds = tuple(config.seeds)
    data = _data(folder, config.data) if parts is None else parts
    splits = _splits(folder, len(seeds), data)
    model = scores = None
    if config.has_model:
        model = _model(folder, method, data, seeds, backend).to(device)
    if not config.has_model or parts is not None:
        scores = _tensors(folder / SCORES)["scores"]
        if not bool(torch.isfinite(scores).all()):
            raise DataError(f"{SCORES} has values that are not finite")
    history = _history(folder, len(seeds))
    accuracy = Summary(config.accuracy.values)
    folds = SplitSpec.parse(config.split).folds
    # Of unusable replicas there is no accuracy.
    trials = trial_means([0.0] * len(seeds), folds, unusable_replicas(history, len(seeds)))
    if len(seeds) % folds or accuracy.n != len(trials):
        raise DataError(
            f"it has {accuracy.n} accuracies for {len(seeds)} replicas, split '{config.split}'"
        )
    at_data, at_splits = (data, splits) if parts is None else at_labelled(data, splits)
    run = Run(
        data=at_data,
        method=Tuned(method) if config.configuration == "tuned" else method,
        splits=at_splits,
        seeds=seeds,
        accuracy=accuracy,
        unseen=None if config.unseen is None else Summary(config.unseen.values),
        model=model,
        split_spec=config.split,
        history=history,
        chosen=config.chosen,
        seconds=config.seconds,
        device=device,
        backend=config.backend,
        versions=config.versions,
        machine=content["machine"],
        class_weight=config.class_weight,
        metric=config.metric,
        choice=content["choice"],
        notes=config.notes,
        known=KnownResults(scores, config.confidence.temperature),
        folder=folder,
    )
    return run if parts is None else parts_run(run, parts, splits, PredictionFiles(folder))


def _history(folder: Path, replicas: int) -> History | None:
    if not (folder / HISTORY).exists():
        return None
    history = History(**_tensors(folder / HISTORY))
    for name, dimensions in _HISTORY_DIMENSIONS.items():
        tensor = getattr(history, name)
        if tensor is None or not tensor.numel():
            continue
        replica_axis = min(1, dimensions - 1)
        if tensor.dim() != dimensions or tensor.shape[replica_axis] != replicas:
            raise DataError(f"{HISTORY}: {name} of shape {list(tensor.shape)} does not fit")
    return history


def _splits(folder: Path, replicas: int, data: NodeData) -> tuple[Split, ...]:
    stored = read_json(folder / SPLITS)
    different = [
        data.split(split) if isinstance(split, str) else Split.from_dict(split)
        for split in stored["splits"]
    ]
    numbers = stored["of_replica"]
    if len(numbers) != replicas:
        raise DataError(f"{SPLITS} has {len(numbers)} entries for {replicas} replicas")
    # type(), because JSON's true would pass for 1.
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise DataError(f"{SPLITS}, of_replica: it must be a list of whole numbers")
    return tuple(different[number] for number in numbers)


def _data(folder: Path, about: _Data) -> NodeData:
    """Return the data that the run was trained on: from the folder, or bundled."""
    if (folder / GRAPH).exists():
        preprocessing = None
        if (folder / PREPROCESSING).exists():
            preprocessing = Preprocessing.from_dict(read_json(folder / PREPROCESSING))
        data = read_data(folder / GRAPH, preprocessing=preprocessing)
        if preprocessing is not None and len(preprocessing.feature_names) != data.feature_count:
            raise DataError(
                f"{PREPROCESSING} gives {len(preprocessing.feature_names)} features, its data has "
                f"{data.feature_count}"
            )
    elif about.name in dataset_names():
        data = load_dataset(about.name)
    else:
        raise DataError("it does not hold the graph that its model was trained on")
    if about.fingerprint != data.fingerprint:
        raise DataError("its data is not what it was trained on")
    has_names = about.names_fingerprint == data.names_fingerprint
    if not has_names or about.class_names != list(data.class_names):
        raise DataError("the ids or class names of its data are not what it was trained on")
    if about.features != data.feature_count:
        raise DataError(f"it states {about.features} features, its data has another number")
    return data


def _model(
    folder: Path, method: Method, data: NodeData, seeds: tuple[int, ...], backend: str
) -> NodeModel:
    if not isinstance(method, NetworkMethod):
        raise DataError(f"it holds weights, but {method.name} has no model")
    weights = _tensors(folder / WEIGHTS)
    count = sum(weight.numel() for weight in weights.values())
    for name, weight in weights.items():
        if weight.shape[:1] != (len(seeds),):
            raise DataError(f"'{name}' in {WEIGHTS} is not for {len(seeds)} replicas")
        if not bool(torch.isfinite(weight).all()):
            raise DataError(f"'{name}' in {WEIGHTS} has values that are not finite")
    # Before anything is built: a network of a million layers would take for ever.
    for name, value in method.settings.items():
        most = _MOST_LAYERS if name == "layers" else _LARGEST
        if isinstance(value, int) and value > max(count // len(seeds), most):
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
    expected = {name: [replicas, *part.shape[1:]] for name, part in sketch.state_dict().items()}
    if wrong := sorted(expected.keys() ^ weights.keys()):
        reason = "is missing" if wrong[0] in expected else f"is no weight of {method.name}"
        raise DataError(f"'{wrong[0]}' in {WEIGHTS} {reason}")
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
        tensors: dict[str, Tensor] = load_file(path)
    except SafetensorError as error:
        raise DataError(f"{path.name} is damaged: {error}") from error
    return tensors
