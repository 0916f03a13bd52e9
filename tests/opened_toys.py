"""Runs of the toy data, saved and opened, and random models opened on the zoo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from agnn.data import NodeData
from agnn.methods import get_method
from agnn.runs import Run, evaluate, load_run, save_run
from toy_runs import run_of
from zoo import ZOO
from zoo_models import even_split, random_model, zoo_data

TEMPERATURE = 0.7  # of the zoo's models, which are not trained


def saved_toy(
    data: NodeData, folder: Path, method: str = "agnn", split: str = "fixed", **fields: Any
) -> Run:
    """Three replicas of a method on the toy data, after a few epochs, from their folder."""
    made = get_method(method)().with_fields(**fields)
    save_run(evaluate(made, data, split, seeds=(0, 1, 2)), folder)
    return load_run(folder)


def zoo_run(kind: str, name: str, data: NodeData | None = None) -> Run:
    """Two random replicas on a specimen, every third node theirs for training."""
    split = even_split(ZOO[name].nodes) if ZOO[name].nodes > 2 else None
    splits = (split, split) if split is not None else tiny_splits(ZOO[name].nodes)
    return run_of(
        random_model(kind),
        zoo_data(name) if data is None else data,
        method=get_method(kind)(),
        splits=splits,
        temperature=TEMPERATURE,
    )


def tiny_splits(nodes: int) -> tuple[Any, Any]:
    from agnn.data import Split

    split = Split("tiny", np.array([0]), np.arange(1, nodes), np.array([], dtype=np.int64))
    return split, split
