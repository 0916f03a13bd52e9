"""Splits by what a user writes: fixed, uniform, balanced, stratified, 10-fold or a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agnn.data.split_draws import balanced_split, k_folds, nested_k_folds, uniform_split
from agnn.data.splits import Split
from agnn.data.stratified_draws import own_split_names, stratified_folds, stratified_split
from agnn.errors import InputError, unknown_name

if TYPE_CHECKING:
    from agnn.data.node_data import NodeData

_DRAWN = {"uniform": uniform_split, "random": uniform_split, "stratified": stratified_split}
_FOLDS = {
    "fold": k_folds,
    "fold-nested": nested_k_folds,
    "stratified-fold": stratified_folds,
}


def make_splits(data: NodeData, spec: str, seeds: Sequence[int]) -> tuple[Split, ...]:
    """The splits of `data` that `spec` asks for, one for each seed; with folds, k for each seed.

    - "fixed", or another split that came with the data: the same for every seed
    - "own": the splits that came with the data, one after the other: seed s has number s modulo
      their count
    - "uniform" (or "random"): uniform over the labelled nodes, sizes as in the fixed split; 60, 20
      and 20 % where there is none
    - "balanced": 20 training nodes of each class, 500 for validation, 1000 for test
    - "stratified": 60, 20 and 20 % of each class
    - "10-fold", or another number: all folds of the first seed, then of the second, ...
    - "10-fold-nested": the same folds with a tenth of each training part as validation nodes
    - "stratified-5-fold", or another number: folds with their share of every class, and a
      validation part beside the test part
    - a path that ends in ".json": the split saved there, the same for every seed
    """
    if not seeds:
        raise InputError("`seeds` must hold at least one seed.")
    if spec.endswith(".json"):
        saved = Split.load(spec)
        saved.check(data)
        return (saved,) * len(seeds)
    if spec.lower() == "own":
        return _own_splits(data, seeds)
    if spec in data.splits:
        return (data.split(spec),) * len(seeds)
    word = spec.lower()
    if word in _DRAWN:
        return tuple(_DRAWN[word](data, seed) for seed in seeds)
    if word == "balanced":
        return tuple(balanced_split(data, seed) for seed in seeds)
    if folds := re.fullmatch(r"(stratified-)?([0-9]{1,9})-fold(-nested)?", word):
        draw = _FOLDS.get((folds[1] or "") + "fold" + (folds[3] or ""))
        if draw is not None:
            return tuple(split for seed in seeds for split in draw(data, int(folds[2]), seed))
    folds_of = {"10-fold", "10-fold-nested", "stratified-5-fold"}
    known = {*data.splits, *(["own"] if data.splits else []), *_DRAWN, "balanced", *folds_of}
    raise unknown_name("split", spec, known)


def _own_splits(data: NodeData, seeds: Sequence[int]) -> tuple[Split, ...]:
    own = own_split_names(data) or list(data.splits)
    if not own:
        raise InputError(f"'{data.name}' came without splits; draw one, such as 'uniform'.")
    # By the seed, not by the place: a replica has the same split alone and among others.
    return tuple(data.splits[own[seed % len(own)]] for seed in seeds)
