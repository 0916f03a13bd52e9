"""Splits by what a user writes: fixed, uniform, balanced, 10-fold or a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agnn.data.split_draws import balanced_split, k_folds, nested_k_folds, uniform_split
from agnn.data.splits import Split
from agnn.errors import InputError, unknown_name

if TYPE_CHECKING:
    from agnn.data.node_data import NodeData


def make_splits(data: NodeData, spec: str, seeds: Sequence[int]) -> tuple[Split, ...]:
    """The splits of `data` that `spec` asks for, one for each seed; with folds, k for each seed.

    - "fixed", or another split that came with the data: the same for every seed
    - "uniform" (or "random"): uniform over the labelled nodes, sizes as in the fixed split
    - "balanced": 20 training nodes of each class, 500 for validation, 1000 for test
    - "10-fold", or another number: all folds of the first seed, then of the second, ...
    - "10-fold-nested": the same folds with a tenth of each training part as validation nodes
    - a path that ends in ".json": the split saved there, the same for every seed
    """
    if not seeds:
        raise InputError("`seeds` must hold at least one seed.")
    if spec.endswith(".json"):
        saved = Split.load(spec)
        saved.check(data)
        return (saved,) * len(seeds)
    if spec in data.splits:
        return (data.split(spec),) * len(seeds)
    word = spec.lower()
    if word in ("uniform", "random"):
        return tuple(uniform_split(data, seed) for seed in seeds)
    if word == "balanced":
        return tuple(balanced_split(data, seed) for seed in seeds)
    if folds := re.fullmatch(r"([0-9]{1,9})-fold(-nested)?", word):
        draw = nested_k_folds if folds[2] else k_folds
        return tuple(split for seed in seeds for split in draw(data, int(folds[1]), seed))
    known = {*data.splits, "uniform", "random", "balanced", "10-fold", "10-fold-nested"}
    raise unknown_name("split", spec, known)
