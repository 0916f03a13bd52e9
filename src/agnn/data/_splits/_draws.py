"""Random splits: uniform, balanced, stratified and folds, each a function of data and seed."""

from __future__ import annotations

from enum import IntEnum, unique
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agnn.data._node_data import NodeData
from agnn.data._splits._split import Split
from agnn.errors import DataError, InputError


@unique
class Stream(IntEnum):
    """The random stream of each kind of split: two kinds with one seed are unrelated.

    The numbers decide what is drawn. A new kind takes a new number; none is ever changed.
    """

    UNIFORM = 1
    BALANCED = 2
    FOLDS = 3
    NESTED = 4
    STRATIFIED_FOLDS = 5
    STRATIFIED = 6
    PER_CLASS = 7
    GROUPS = 8
    INNER = 9
    CROSS_FITTED = 10

    def order(self, count: int, seed: int) -> NDArray[np.int64]:
        """Return 0 to `count` - 1 in an order that follows from the seed and the stream."""
        if seed < 0:
            raise InputError(f"`seed` must not be negative; got {seed}.")
        generator = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(int(self),)))
        # NumPy promises that a bit generator's raw output never changes; it does not for shuffle().
        return np.argsort(generator.random_raw(count), kind="stable")


_SET_ASIDE: Final = 10  # one in this many training nodes of a fold becomes a validation node
_USUAL_FOLDS: Final = 10  # of cross-fitting
_FEWEST_FOLDS: Final = 3  # two others choose the epoch of a replica
_MANY_LABELS: Final = 100_000  # from which on the fewest folds have enough nodes each
_NAMED: Final = 5  # classes in a remark


def uniform_split(data: NodeData, seed: int, sizes: tuple[int, int, int] | None = None) -> Split:
    """Train, validation and test of these sizes, uniform over the labelled nodes.

    The sizes are those of the data's fixed split unless given; without one, 60, 20 and 20 % of
    the labelled nodes.
    """
    train, validation, test = sizes or _usual_sizes(data)
    order = _random_order_of_labelled(data, seed, Stream.UNIFORM)
    in_train, in_validation, in_test = _consecutive(order, train, validation, test)
    return Split(f"uniform-{seed}", in_train, in_validation, in_test, seed)


def _usual_sizes(data: NodeData) -> tuple[int, int, int]:
    if "fixed" in data.splits:
        train, validation, test = (part.size for part in data.split("fixed").parts.values())
        return train, validation, test
    fifth = max(data.labelled.size // 5, 1)
    return data.labelled.size - 2 * fifth, fifth, fifth


def balanced_split(
    data: NodeData, seed: int, per_class: int = 20, validation: int = 500, test: int = 1000
) -> Split:
    """Return `per_class` training nodes of each class; the other parts uniform over the rest."""
    order = _random_order_of_labelled(data, seed, Stream.BALANCED)
    chosen = []
    for label, name in enumerate(data.class_names):
        members = order[data.labels[order] == label]
        if not 0 < per_class <= members.size:
            raise InputError(
                f"cannot take {per_class} training nodes of class '{name}': it has {members.size}."
            )
        chosen.append(members[:per_class])
    train = np.concatenate(chosen)
    remaining = order[~np.isin(order, train)]
    if validation + test > remaining.size:
        raise InputError(
            f"cannot take {validation} validation and {test} test nodes: beside the {train.size} "
            f"training nodes {remaining.size} are labelled. A 'stratified' split fits any number."
        )
    in_validation, in_test = _consecutive(remaining, validation, test)
    return Split(f"balanced-{seed}", train, in_validation, in_test, seed)


def per_class_split(data: NodeData, per_class: int, seed: int) -> Split:
    """Return `per_class` training nodes of each class, and half as many more validation nodes.

    The rest is test. With 20 training nodes these are 30 for validation. A class with fewer than
    three times as many nodes as training nodes gives a third of them to each part.
    """
    if per_class < 1:
        raise InputError(f"`per_class` must be at least 1; got {per_class}.")
    _check_two_per_class(data)
    order = _random_order_of_labelled(data, seed, Stream.PER_CLASS)
    parts: tuple[list[NDArray[np.int64]], ...] = ([], [], [])
    for label in range(data.classes):
        members = order[data.labels[order] == label]
        train = per_class
        validation = per_class * 3 // 2
        if members.size < 3 * per_class:
            train = max(members.size // 3, 1)
            validation = members.size // 3
        pieces = np.split(members, [train, train + validation])
        for part, piece in zip(parts, pieces, strict=True):
            part.append(piece)
    in_train, in_validation, in_test = (np.sort(np.concatenate(part)) for part in parts)
    return Split(f"{per_class}-per-class-{seed}", in_train, in_validation, in_test, seed)


def k_folds(data: NodeData, folds: int, seed: int) -> tuple[Split, ...]:
    """Return splits whose test parts partition the labelled nodes; their sizes differ by at most 1.

    Each split trains on all the other parts and has no validation nodes.
    """
    if not 2 <= folds <= data.labelled.size:
        raise InputError(
            f"`folds` must be at least 2 and at most the number of labelled nodes, "
            f"{data.labelled.size}; got {folds}."
        )
    parts = np.array_split(_random_order_of_labelled(data, seed, Stream.FOLDS), folds)
    return tuple(
        Split(
            f"fold-{i + 1}-of-{folds}-seed-{seed}",
            train=np.concatenate(parts[:i] + parts[i + 1 :]),
            validation=np.empty(0, dtype=np.int64),
            test=parts[i],
            seed=seed,
        )
        for i in range(folds)
    )


def nested_k_folds(data: NodeData, folds: int, seed: int) -> tuple[Split, ...]:
    """Return `k_folds` with a tenth of each training part, rounded up, as validation nodes.

    The tested nodes are those of `k_folds` with this seed; the nodes set aside are uniform over
    the other folds. A tenth and not a fold: with three folds that would halve the training part.
    """
    nested = []
    labelled = _random_order_of_labelled(data, seed, Stream.NESTED)
    for fold in k_folds(data, folds, seed):
        order = labelled[np.isin(labelled, fold.train)]
        validation, train = np.split(order, [-(-order.size // _SET_ASIDE)])
        nested.append(Split(f"nested-{fold.name}", train, validation, fold.test, seed))
    return tuple(nested)


def stratified_split(data: NodeData, seed: int) -> Split:
    """Return 60 % of each class for training, 20 % each for validation and test.

    Each part has at least one of each class; a class with two labelled nodes has one for training
    and one for test.
    """
    chosen: list[list[NDArray[np.int64]]] = [[], [], []]
    order = _random_order_of_labelled(data, seed, Stream.STRATIFIED)
    _check_two_per_class(data)
    for label in np.unique(data.labels[data.labelled]).tolist():
        members = order[data.labels[order] == label]
        test = max(round(members.size / 5), 1)
        validation = test if members.size > 2 else 0
        train = members.size - validation - test
        for part, nodes in zip(chosen, np.split(members, [train, train + validation]), strict=True):
            part.append(nodes)
    in_train, in_validation, in_test = (np.concatenate(part) for part in chosen)
    return Split(f"stratified-{seed}", in_train, in_validation, in_test, seed)


def stratified_folds(data: NodeData, folds: int, seed: int) -> tuple[Split, ...]:
    """Return splits whose test parts partition the labelled nodes, each class spread over all.

    The next fold is for validation and the rest for training, so nothing is chosen by the test
    part.
    """
    _check_two_per_class(data)
    if folds < 3:
        raise InputError(f"`folds` must be at least 3 (test, validation, training); got {folds}.")
    if folds > data.labelled.size:
        raise InputError(
            f"'{data.name}' has {data.labelled.size} labelled nodes, too few for {folds} folds. "
            f"Label more nodes, or name a split of your own."
        )
    parts = _stratified_parts(data, folds, seed)
    splits = []
    for k in range(folds):
        training_folds = [parts[fold] for fold in range(folds) if fold not in (k, (k + 1) % folds)]
        splits.append(
            Split(
                f"stratified-fold-{k + 1}-of-{folds}-seed-{seed}",
                train=np.concatenate(training_folds),
                validation=parts[(k + 1) % folds],
                test=parts[k],
                seed=seed,
            )
        )
    return tuple(splits)


def cross_fitted_folds(data: NodeData, folds: int, seed: int) -> tuple[Split, ...]:
    """Return splits whose test parts partition the labelled nodes; all others are for training.

    There are no validation nodes: the epoch of a replica is chosen by the folds of the other
    replicas, see `agnn.training.CrossFitted`.

    The folds are drawn at random and not stratified. A fold with the same class shares as the
    labels it was drawn from is easier than the unlabelled nodes, whose shares differ from those of
    a few labels: with 40 to 150 labels the accuracy would be reported 1 to 3 points too high.
    """
    count = data.labelled.size
    if count < _FEWEST_FOLDS or np.bincount(data.labels[data.labelled]).max() < 2:
        raise DataError(
            f"'{data.name}' has {count} labelled nodes and no class with two of them, or fewer "
            f"than {_FEWEST_FOLDS} in all: none could be tested by a model that knows its class. "
            f"Label more nodes."
        )
    if not _FEWEST_FOLDS <= folds <= count:
        raise InputError(
            f"`folds` must be at least {_FEWEST_FOLDS}, so that other folds can choose the epoch, "
            f"and at most the number of labelled nodes, {count}; got {folds}."
        )
    order = _random_order_of_labelled(data, seed, Stream.CROSS_FITTED)
    fold_of = np.arange(order.size) % folds
    labels = data.labels[order]
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        if members.size > 1 and np.unique(fold_of[members]).size == 1:
            # Every training part knows a class that has two labels.
            fold_of[members[0]] = (fold_of[members[0]] + 1) % folds
    return tuple(
        Split(
            f"cross-fitted-{k + 1}-of-{folds}-seed-{seed}",
            train=order[fold_of != k],
            validation=np.empty(0, dtype=np.int64),
            test=order[fold_of == k],
            seed=seed,
        )
        for k in range(folds)
    )


def cross_fitting_folds(data: NodeData, replicas: int | None = None) -> int:
    """Return the number of folds that cross-fitting uses for this data.

    Ten, or three from 100,000 labels on; no more than `replicas`, if that is given, but at least
    three, and never more than there are labels.
    """
    labels = data.labelled.size
    folds = _USUAL_FOLDS if labels < _MANY_LABELS else _FEWEST_FOLDS
    if replicas is not None:
        folds = max(_FEWEST_FOLDS, min(folds, replicas))
    return int(min(folds, max(labels, 1)))


def fold_remarks(data: NodeData, folds: int) -> str:
    """Return what few or very many labels mean for cross-fitting with these folds; else ""."""
    counts = np.bincount(data.labels[data.labelled], minlength=data.classes)
    labels = int(counts.sum())
    if labels >= _MANY_LABELS and folds == _FEWEST_FOLDS:
        return f"{labels:,} labels: {folds} folds are enough, since each has very many to test."
    remarks = []
    if folds == labels:
        remarks.append(f"{labels} labels: each is a fold of its own.")
    single = [data.class_names[label] for label in np.flatnonzero(counts == 1).tolist()]
    if single:
        names = ", ".join(f"'{name}'" for name in single[:_NAMED])
        more = f" and {len(single) - _NAMED} more" if len(single) > _NAMED else ""
        remarks.append(
            f"One label only: {names}{more}. It is tested by a model that does not know its class, "
            f"so it counts as wrong."
        )
    return " ".join(remarks)


def _stratified_parts(data: NodeData, folds: int, seed: int) -> list[NDArray[np.int64]]:
    """Return the labelled nodes in parts of one size, each with its share of every class."""
    order = _random_order_of_labelled(data, seed, Stream.STRATIFIED_FOLDS)
    # Dealt like cards, class by class.
    dealt = order[np.argsort(data.labels[order], kind="stable")]
    return [dealt[k::folds] for k in range(folds)]


def _check_two_per_class(data: NodeData) -> None:
    """Raise for a class with a single labelled node."""
    counts = np.bincount(data.labels[data.labelled], minlength=data.classes)
    for label in np.flatnonzero(counts == 1).tolist():
        node = data.node_ids[int(np.flatnonzero(data.labels == label)[0])]
        raise DataError(
            f"class '{data.class_names[label]}' of '{data.name}' has one labelled node ({node!r}): "
            f"it cannot be in both training and test. Label more nodes, remove this label, or "
            f"split 'uniform'."
        )


def _random_order_of_labelled(data: NodeData, seed: int, stream: Stream) -> NDArray[np.int64]:
    """Return the labelled nodes in an order that follows from the seed and the stream."""
    return data.labelled[stream.order(data.labelled.size, seed)]


def _consecutive(nodes: NDArray[np.int64], *sizes: int) -> list[NDArray[np.int64]]:
    if min(sizes) < 0 or sum(sizes) > nodes.size:
        raise InputError(
            f"cannot take {' + '.join(map(str, sizes))} nodes: {nodes.size} are labelled."
        )
    return np.split(nodes, np.cumsum(sizes))[: len(sizes)]
