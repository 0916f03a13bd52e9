"""SplitSpec: what a user writes to say how nodes are split."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from agnn.data._node_data import NodeData
from agnn.data._splits._by_column import GROUP, TIME
from agnn.data._splits._draws import (
    balanced_split,
    cross_fitted_folds,
    cross_fitting_folds,
    fold_remarks,
    k_folds,
    nested_k_folds,
    per_class_split,
    stratified_folds,
    stratified_split,
    uniform_split,
)
from agnn.data._splits._split import Split
from agnn.errors import InputError, unknown_name

_DRAWN: Final[Mapping[str, Callable[[NodeData, int], Split]]] = {
    "uniform": uniform_split,
    "random": uniform_split,
    "balanced": balanced_split,
    "stratified": stratified_split,
}
_FOLDED: Final[Mapping[str, Callable[[NodeData, int, int], tuple[Split, ...]]]] = {
    "fold": k_folds,
    "fold-nested": nested_k_folds,
    "stratified-fold": stratified_folds,
    "fold-cross-fit": cross_fitted_folds,
}
_CROSS_FIT: Final = "cross-fit"
_EXAMPLES: Final = (_CROSS_FIT, "20-per-class", "10-fold", "10-fold-nested", "stratified-5-fold")


@dataclass(frozen=True)
class SplitSpec:
    """A way to split nodes, parsed from text.

    - "fixed", or another split that came with the data: the same for every seed
    - "own": the splits that came with the data in turn: seed s has number s modulo their count
    - "time": train on the past, test on the latest; for data read with `split_time`
    - "group": no group in two parts, seed s has draw s modulo 10; for data read with `split_group`
    - "uniform" (or "random"): uniform over the labelled nodes, with the sizes of the fixed split,
      or 60, 20 and 20 % where there is none
    - "balanced": 20 training nodes per class, 500 for validation, 1000 for test
    - "20-per-class", or another number: 20 training nodes per class, 30 per class for validation,
      all others for test
    - "stratified": 60, 20 and 20 % of each class
    - "10-fold", or another number: all folds of the first seed, then of the second, ...
    - "10-fold-nested": the same folds with a tenth of each training part as validation nodes
    - "stratified-5-fold", or another number: folds that each hold their share of every class, with
      a validation part beside the test part
    - "10-fold-cross-fit", or another number: ten random folds; a replica trains on all but its own
      fold, and the other replicas' folds choose its epoch. "cross-fit" has as many folds as suit
      the data
    - a path that ends in ".json": the split saved there, the same for every seed

    >>> spec = SplitSpec.parse("10-fold-nested")
    >>> spec.setting, spec.folds, spec.has_validation
    ('cross-validation', 10, True)
    """

    CROSS_FIT: ClassVar[str] = _CROSS_FIT
    DEFAULTS: ClassVar[Mapping[str, str]] = {
        "fixed": "as the data came",
        "own": "the data's own splits, one per replica",
        TIME: "trained on the earliest 60 %, the next 20 % choose the epoch, tested on the latest",
        GROUP: "about 60, 20 and 20 %, whole groups, another draw for every replica",
        _CROSS_FIT: "every replica trains on all labels but one fold, the folds of the others "
        "choose its epoch, and every label is tested once by a replica that was not trained on it",
    }
    """What `default` chooses from, with explanations."""

    text: str
    """As the user wrote it."""

    kind: str
    """"file", "own", a key of the drawn or folded kinds, or "named": a split of the data."""

    folds: int = 1
    """Splits per seed."""

    per_class: int = 0
    """Training nodes per class of "20-per-class"; 0 for any other kind."""

    @classmethod
    def parse(cls, text: str) -> SplitSpec:
        """Return the specification in `text`; an unknown word is the name of a split."""
        if text.endswith(".json"):
            return cls(text, "file")
        word = text.lower()
        if word in ("own", GROUP) or word in _DRAWN:
            return cls(text, word)
        if match := re.fullmatch(r"(stratified-)?([0-9]{1,9})-(fold(?:-nested|-cross-fit)?)", word):
            kind = (match[1] or "") + match[3]
            if kind in _FOLDED:
                return cls(text, kind, int(match[2]))
        if match := re.fullmatch(r"([0-9]{1,6})-per-class", word):
            return cls(text, "per-class", per_class=int(match[1]))
        return cls(text, "named")

    @property
    def setting(self) -> str:
        """The paper's name for this kind of split: "fixed", "random" or "cross-validation"."""
        if self.kind in ("fold", "fold-nested"):
            return "cross-validation"
        drawn = (*_DRAWN, "stratified-fold", "fold-cross-fit", "per-class", GROUP)
        return "random" if self.kind in drawn else "fixed"

    @property
    def has_validation(self) -> bool:
        """False for folds whose splits have no validation nodes."""
        return self.kind != "fold" and not self.is_cross_fitted

    @property
    def is_cross_fitted(self) -> bool:
        """Whether the folds of other replicas choose a replica's epoch and settings."""
        return self.kind == "fold-cross-fit"

    def passes(self, replicas: int) -> tuple[int, ...]:
        """Return the pass that each replica belongs to, where they are cross-fitted; else ()."""
        if not self.is_cross_fitted:
            return ()
        return tuple(replica // self.folds for replica in range(replicas))

    def remark(self, data: NodeData) -> str:
        """Return what few or very many labels mean for cross-fitting with these folds; else ""."""
        return fold_remarks(data, self.folds) if self.is_cross_fitted else ""

    def draw(self, data: NodeData, seeds: Sequence[int]) -> tuple[Split, ...]:
        """Return the splits of `data`: `folds` for each seed."""
        if not seeds:
            raise InputError("`seeds` must hold at least one seed.")
        if self.kind == "file":
            saved = Split.load(self.text)
            saved.check(data)
            return (saved,) * len(seeds)
        if self.kind == "own":
            return _own_splits(data, seeds)
        if self.kind == GROUP:
            return _in_turn(data, _group_split_names(data), seeds)
        if self.text in data.splits:  # also one that is called like a way to draw
            return (data.split(self.text),) * len(seeds)
        if self.kind in _DRAWN:
            return tuple(_DRAWN[self.kind](data, seed) for seed in seeds)
        if self.kind == "per-class":
            return tuple(per_class_split(data, self.per_class, seed) for seed in seeds)
        if self.kind in _FOLDED:
            draw = _FOLDED[self.kind]
            return tuple(split for seed in seeds for split in draw(data, self.folds, seed))
        if self.text.lower() == TIME:
            raise InputError(f"'{data.name}' has no times; name a column as split_time.")
        names = ["own"] if data.splits else []
        raise unknown_name("split", self.text, {*data.splits, *names, *_DRAWN, *_EXAMPLES})

    @classmethod
    def of(cls, text: str | None, data: NodeData, replicas: int | None = None) -> SplitSpec:
        """Return the specification in `text`, for these data; None: their default.

        It has a number of folds, also where the text leaves that to the data. `replicas` is their
        number, if one is asked for: there are no more folds than that.
        """
        text = text or cls.default(data)
        if text.lower() == _CROSS_FIT:
            text = f"{cross_fitting_folds(data, replicas)}-fold-{_CROSS_FIT}"
        return cls.parse(text)

    @staticmethod
    def default(data: NodeData) -> str:
        """Return the split to use when none is given.

        "fixed" if the data has such a split, "own" if it came with several, "time" or "group" if it
        was read with a column to split by; else "cross-fit".
        """
        if "fixed" in data.splits:
            return "fixed"
        if _own_split_names(data):
            return "own"
        if TIME in data.splits:
            return TIME
        return GROUP if f"{GROUP}-0" in data.splits else _CROSS_FIT


def make_splits(data: NodeData, spec: str, seeds: Sequence[int]) -> tuple[Split, ...]:
    """Return the splits of `data` that `spec` describes; `SplitSpec` lists what may be written."""
    return SplitSpec.of(spec, data).draw(data, seeds)


def _own_splits(data: NodeData, seeds: Sequence[int]) -> tuple[Split, ...]:
    names = _own_split_names(data) or list(data.splits)
    if not names:
        raise InputError(f"'{data.name}' came without splits; draw one, such as 'uniform'.")
    return _in_turn(data, names, seeds)


def _in_turn(data: NodeData, names: Sequence[str], seeds: Sequence[int]) -> tuple[Split, ...]:
    # By seed, not by position: a replica has the same split alone and among others.
    return tuple(data.splits[names[seed % len(names)]] for seed in seeds)


def _group_split_names(data: NodeData) -> list[str]:
    """Return the names "group-0", "group-1", ... of the splits by group."""
    names = [f"{GROUP}-{k}" for k in range(len(data.splits))]
    present = [name for name in names if name in data.splits]
    if not present:
        raise InputError(f"'{data.name}' has no groups; name a column as split_group.")
    return present


def _own_split_names(data: NodeData) -> list[str]:
    """Return the names "own-1", "own-2", ... of splits that came with the data, in this order."""
    names = (f"own-{k + 1}" for k in range(len(data.splits)))
    return [name for name in names if name in data.splits]
