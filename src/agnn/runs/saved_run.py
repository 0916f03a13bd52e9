"""A run read back from its folder: nothing in it is code, and a changed file is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from agnn.data import NodeData, Preprocessing, Split, dataset_names, load_dataset
from agnn.data.store import is_row_normalised, read_data
from agnn.errors import AgnnError, DataError
from agnn.runs.checksums import check_checksums
from agnn.runs.run_folder import CONFIG, FORMAT, GRAPH, PREPROCESSING, SCORES, SPLITS, WEIGHTS
from agnn.kernels import choose
from agnn.methods import Method, NetworkMethod, Tuned, get_method
from agnn.nn import NodeModel

# What reading a file that is not what it should be can raise, from JSON, torch and our own checks.
_DAMAGE = (
    AgnnError, OSError, LookupError, ValueError, TypeError, AttributeError, RuntimeError
)  # fmt: skip


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

    @property
    def temperature(self) -> float | None:
        """What makes the ensemble's confidence true; None where an older folder does not say."""
        stated = self.config.get("confidence")
        return None if stated is None else float(stated["temperature"])


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
        kind = get_method(fields.pop("name"))
        if issubclass(kind, NetworkMethod) and "scaling" not in fields:
            fields |= _older_scaling(folder)
        method: Method = kind.from_settings(fields)
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


def _older_scaling(folder: Path) -> dict[str, str]:
    """What a folder from before methods had a `scaling` says about it: its graph does, if any."""
    path = folder / GRAPH
    return {} if not path.exists() or is_row_normalised(path) else {"scaling": "none"}


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


def stored_data(saved: SavedRun) -> NodeData:
    """The data that the run was trained on: from the folder, or the package's own."""
    folder = saved.folder
    if (folder / GRAPH).exists():
        made = None
        if (folder / PREPROCESSING).exists():
            values = json.loads((folder / PREPROCESSING).read_text(encoding="utf-8"))
            made = Preprocessing.from_dict(values)
        data = read_data(folder / GRAPH, preprocessing=made)
    elif saved.config["data"]["name"] in dataset_names():
        data = load_dataset(saved.config["data"]["name"])
    else:
        raise DataError(
            f"'{folder}' does not hold the graph that its model was trained on; train it again."
        )
    check_data(saved, data)
    return data


def stored_scores(saved: SavedRun) -> Tensor:
    """The probabilities [R, n, c] of a run whose method has no model."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = saved.folder / SCORES
    if not path.exists():
        raise DataError(f"'{saved.folder}' holds neither a model nor its answers; train it again.")
    try:
        scores: Tensor = load_file(path)["scores"]
    except (SafetensorError, LookupError) as error:
        raise DataError(f"'{path}' is damaged: {error}") from error
    return scores
