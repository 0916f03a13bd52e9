"""Random splits: uniform, balanced over the classes, and folds, each a function of its seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from agnn.data.splits import Split
from agnn.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.data.node_data import NodeData

# Each kind of split draws from its own stream: uniform and balanced with one seed are unrelated.
_UNIFORM: Final = 1
_BALANCED: Final = 2
_FOLDS: Final = 3
_NESTED: Final = 4
_SET_ASIDE: Final = 10  # one of so many training nodes of a fold becomes a validation node


def uniform_split(data: NodeData, seed: int, sizes: tuple[int, int, int] | None = None) -> Split:
    """Train, validation and test of these sizes, uniform over the labelled nodes.

    The sizes are those of the data's fixed split unless given; without one, 60, 20 and 20 % of
    the labelled nodes.
    """
    train, validation, test = sizes or _usual_sizes(data)
    order = shuffled_labelled(data, seed, _UNIFORM)
    first, second, third = _consecutive(order, train, validation, test)
    return Split(f"uniform-{seed}", first, second, third, seed)


def _usual_sizes(data: NodeData) -> tuple[int, int, int]:
    if "fixed" in data.splits:
        train, validation, test = (part.size for part in data.split("fixed").parts.values())
        return train, validation, test
    fifth = max(data.labelled.size // 5, 1)
    return data.labelled.size - 2 * fifth, fifth, fifth


def balanced_split(
    data: NodeData, seed: int, per_class: int = 20, validation: int = 500, test: int = 1000
) -> Split:
    """`per_class` training nodes of each class; validation and test uniform over the rest."""
    order = shuffled_labelled(data, seed, _BALANCED)
    chosen = []
    for label, name in enumerate(data.class_names):
        members = order[data.labels[order] == label]
        if not 0 < per_class <= members.size:
            raise InputError(
                f"cannot take {per_class} training nodes of class '{name}': it has {members.size}."
            )
        chosen.append(members[:per_class])
    train = np.concatenate(chosen)
    rest = order[~np.isin(order, train)]
    if validation + test > rest.size:
        raise InputError(
            f"cannot take {validation} validation and {test} test nodes: beside the {train.size} "
            f"training nodes {rest.size} are labelled. A 'stratified' split fits any number."
        )
    others, tested = _consecutive(rest, validation, test)
    return Split(f"balanced-{seed}", train, others, tested, seed)


def k_folds(data: NodeData, folds: int, seed: int) -> tuple[Split, ...]:
    """Splits whose test parts partition the labelled nodes into `folds` parts, sizes within 1.

    Each split trains on all the other parts and has no validation nodes.
    """
    if not 2 <= folds <= data.labelled.size:
        raise InputError(
            f"`folds` must be at least 2 and at most the number of labelled nodes, "
            f"{data.labelled.size}; got {folds}."
        )
    parts = np.array_split(shuffled_labelled(data, seed, _FOLDS), folds)
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
    """`k_folds`, with a tenth of each training part, rounded up, set aside as validation nodes.

    The tested nodes are those of `k_folds` with this seed; the nodes set aside are uniform over
    the other folds. A tenth and not a fold: with three folds that would halve the training part.
    """
    nested, shuffled = [], shuffled_labelled(data, seed, _NESTED)
    for fold in k_folds(data, folds, seed):
        order = shuffled[np.isin(shuffled, fold.train)]
        validation, train = np.split(order, [-(-order.size // _SET_ASIDE)])
        nested.append(Split(f"nested-{fold.name}", train, validation, fold.test, seed))
    return tuple(nested)


def shuffled_labelled(data: NodeData, seed: int, kind: int) -> NDArray[np.int64]:
    """The labelled nodes in an order that follows from the seed and the kind of split."""
    if seed < 0:
        raise InputError(f"`seed` must not be negative; got {seed}.")
    stream = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(kind,)))
    # NumPy promises that a bit generator's raw output never changes; it does not for shuffle().
    return data.labelled[np.argsort(stream.random_raw(data.labelled.size), kind="stable")]


def _consecutive(nodes: NDArray[np.int64], *sizes: int) -> list[NDArray[np.int64]]:
    if min(sizes) < 0 or sum(sizes) > nodes.size:
        raise InputError(
            f"cannot take {' + '.join(map(str, sizes))} nodes: {nodes.size} are labelled."
        )
    return np.split(nodes, np.cumsum(sizes))[: len(sizes)]
