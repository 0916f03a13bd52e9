"""Random splits in which every part has its share of every class: for one's own data."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from agnn.data.split_draws import shuffled_labelled
from agnn.data.splits import Split
from agnn.errors import DataError, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.data.node_data import NodeData

FEW_LABELS: Final = 50
"""Below this many labelled nodes one test part is too small to say much: folds are better."""

_FOLDS: Final = 5
_STRATIFIED: Final = 4  # its own stream, beside those of split_draws
_STRATIFIED_FOLDS: Final = 5


DEFAULT_SPLITS: Final = {
    "fixed": "as the data came",
    "own": "the data's own splits, one per replica",
    "stratified": "60, 20 and 20 % of each class, drawn anew for every replica",
    f"stratified-{_FOLDS}-fold": f"fewer than {FEW_LABELS} labels: every one is tested once, and "
    f"another fold chooses the epoch",
}
"""What `default_split` chooses among, in words."""


def own_split_names(data: NodeData) -> list[str]:
    """The names of the data's own numbered splits, "own-1", "own-2", ..., in their order."""
    count = sum(bool(re.fullmatch(r"own-[0-9]+", name)) for name in data.splits)
    return [name for name in (f"own-{k + 1}" for k in range(count)) if name in data.splits]


def default_split(data: NodeData) -> str:
    """How data is split where nobody says: as it came, else by how many labels there are.

    "fixed" where the data has such a split, "own" where it came with several; "stratified" (60, 20
    and 20 % of each class); with fewer than 50 labelled nodes "stratified-5-fold", in which every
    label is tested once.
    """
    if "fixed" in data.splits:
        return "fixed"
    if own_split_names(data):
        return "own"
    return "stratified" if data.labelled.size >= FEW_LABELS else f"stratified-{_FOLDS}-fold"


def stratified_split(data: NodeData, seed: int) -> Split:
    """60 % of each class for training, 20 % each for validation and test, at least one in each.

    A class with two labelled nodes has one for training and one for test.
    """
    chosen: list[list[NDArray[np.int64]]] = [[], [], []]
    order = shuffled_labelled(data, seed, _STRATIFIED)
    for label in _classes(data):
        members = order[data.labels[order] == label]
        test = max(round(members.size / 5), 1)
        validation = test if members.size > 2 else 0
        train = members.size - validation - test
        for part, nodes in zip(chosen, np.split(members, [train, train + validation]), strict=True):
            part.append(nodes)
    first, second, third = (np.concatenate(part) for part in chosen)
    return Split(f"stratified-{seed}", first, second, third, seed)


def stratified_folds(data: NodeData, folds: int, seed: int) -> tuple[Split, ...]:
    """Splits whose test parts partition the labelled nodes, every class spread over all of them.

    The next fold is for validation and the rest for training, so nothing is chosen by the test
    part.
    """
    if not 3 <= folds <= data.labelled.size:
        raise InputError(
            f"`folds` must be at least 3 (test, validation, training) and at most the number of "
            f"labelled nodes, {data.labelled.size}; got {folds}."
        )
    order = shuffled_labelled(data, seed, _STRATIFIED_FOLDS)
    _classes(data)
    # Dealt like cards, class by class: every fold gets its share of each, and sizes within 1.
    dealt = order[np.argsort(data.labels[order], kind="stable")]
    parts = [dealt[k::folds] for k in range(folds)]
    splits = []
    for k in range(folds):
        rest = [parts[other] for other in range(folds) if other not in (k, (k + 1) % folds)]
        splits.append(
            Split(
                f"stratified-fold-{k + 1}-of-{folds}-seed-{seed}",
                train=np.concatenate(rest),
                validation=parts[(k + 1) % folds],
                test=parts[k],
                seed=seed,
            )
        )
    return tuple(splits)


def _classes(data: NodeData) -> list[int]:
    """The classes that have labelled nodes; one with a single node is refused."""
    counts = np.bincount(data.labels[data.labelled], minlength=data.classes)
    for label, name in enumerate(data.class_names):
        if counts[label] == 1:
            node = data.node_ids[int(np.flatnonzero(data.labels == label)[0])]
            raise DataError(
                f"class '{name}' of '{data.name}' has one labelled node ({node!r}): it cannot be "
                f"learned from and tested too. Label more, take its label away, or split "
                f"'uniform'."
            )
    return np.flatnonzero(counts).tolist()
