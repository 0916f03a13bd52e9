"""Splits that follow a value of each node: its time, or the group that it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from agnn.data.splits._draws import Stream, shuffled
from agnn.data.splits._split import Split
from agnn.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_TRAIN, _VALIDATION = 0.6, 0.2  # of the labelled nodes; the rest is for test
_DRAWS: Final = 10  # splits by groups; the seeds take them in turn

TIME, GROUP = "time", "group"


def time_split(times: ArrayLike, labelled: NDArray[np.int64]) -> Split:
    """Train on the past: the earliest 60 % of the labelled nodes, then 20 %, test on the latest.

    `times` [n] are numbers or dates (datetime64). Nodes of equal time are in the same part, so
    the shares are met as nearly as the times allow.

    >>> split = time_split([2001, 2004, 2002, 2003, 2001], np.arange(5))
    >>> split.train.tolist(), split.validation.tolist(), split.test.tolist()
    ([0, 2, 4], [3], [1])
    """
    values = np.asarray(times)
    own = _values_of(values, labelled, "times")
    if own.dtype.kind not in "biufM":
        raise InputError(f"`times` must hold numbers or dates, to be ordered; got {own.dtype}.")
    if (np.isnat(own) if own.dtype.kind == "M" else np.isnan(own.astype(np.float64))).any():
        raise InputError("`times` is missing for a labelled node.")
    different, counts = np.unique(own, return_counts=True)
    if different.size < 3:
        raise InputError(
            f"`times` needs at least three different values among the labelled nodes, for "
            f"training, validation and test; got {different.size}."
        )
    upto = counts.cumsum()
    # The last time of training and of validation, so that each part has at least one.
    first = np.abs(upto[:-2] - _TRAIN * own.size).argmin()
    second = first + 1 + np.abs(upto[first + 1 : -1] - (_TRAIN + _VALIDATION) * own.size).argmin()
    part = np.searchsorted(different[[first, second]], own, side="left")
    return Split(TIME, *(labelled[part == k] for k in range(3)))


def group_split(groups: ArrayLike, labelled: NDArray[np.int64], seed: int) -> Split:
    """No group on both sides: whole groups drawn for training, validation and test.

    `groups` [n] are whole numbers or text. In a random order, each group goes to the part that
    lacks most of its share, 60, 20 and 20 % of the labelled nodes.
    """
    own = _values_of(np.asarray(groups), labelled, "groups")
    different, codes = np.unique(own, return_inverse=True)
    if different.size < 3:
        raise InputError(
            f"`groups` needs at least three groups with labelled nodes, for training, validation "
            f"and test; got {different.size}."
        )
    sizes = np.bincount(codes)
    lacking = own.size * np.array([_TRAIN, _VALIDATION, 1.0 - _TRAIN - _VALIDATION])
    part_of, used = np.empty(different.size, dtype=np.int64), np.zeros(3, dtype=bool)
    order = shuffled(different.size, seed, Stream.GROUPS)
    for place, group in enumerate(order):
        # The last groups are for parts that have none yet.
        must = ~used if different.size - place <= (~used).sum() else np.ones(3, dtype=bool)
        part = int(np.where(must, lacking, -np.inf).argmax())
        part_of[group], used[part] = part, True
        lacking[part] -= sizes[group]
    train, validation, test = (labelled[part_of[codes] == k] for k in range(3))
    return Split(f"{GROUP}-{seed}", train, validation, test, seed)


def column_splits(
    labelled: NDArray[np.int64], times: ArrayLike | None = None, groups: ArrayLike | None = None
) -> dict[str, Split]:
    """The splits by time, "time", or by group, "group-0" to "group-9", by name.

    `data.with_splits(column_splits(data.labelled, times=...))` has them; the split "group" takes
    those by group in turn.
    """
    if times is not None and groups is not None:
        raise InputError("split by `times` or by `groups`, not by both.")
    if times is not None:
        return {TIME: time_split(times, labelled)}
    if groups is None:
        return {}
    drawn = (group_split(groups, labelled, seed) for seed in range(_DRAWS))
    return {split.name: split for split in drawn}


def _values_of(values: NDArray[Any], labelled: NDArray[np.int64], name: str) -> NDArray[Any]:
    """The values of the labelled nodes."""
    if values.ndim != 1 or (labelled.size and labelled.max() >= values.size):
        raise InputError(f"`{name}` must have one value per node; got {list(values.shape)}.")
    return values[labelled]
