"""Splits that follow a value of each node: its time, or the group that it belongs to."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agnn.data._splits._draws import Stream
from agnn.data._splits._split import Split
from agnn.errors import InputError

# Shares of the labelled nodes; the rest is for test.
_TRAIN: Final = 0.6
_VALIDATION: Final = 0.2
_DRAWS: Final = 10  # splits by groups; the seeds take them in turn

TIME: Final = "time"
GROUP: Final = "group"


def time_split(times: ArrayLike, labelled: NDArray[np.int64]) -> Split:
    """Train on the past: the earliest 60 % of the labelled nodes, then 20 %, test on the latest.

    `times` [n] are numbers or dates (datetime64). Nodes of equal time are in the same part, so
    the shares are met as nearly as the times allow.

    >>> split = time_split([2001, 2004, 2002, 2003, 2001], np.arange(5))
    >>> split.train.tolist(), split.validation.tolist(), split.test.tolist()
    ([0, 2, 4], [3], [1])
    """
    values = np.asarray(times)
    known = _values_of(values, labelled, "times")
    if known.dtype.kind not in "biufM":
        raise InputError(f"`times` must hold numbers or dates, to be ordered; got {known.dtype}.")
    if (np.isnat(known) if known.dtype.kind == "M" else np.isnan(known.astype(np.float64))).any():
        raise InputError("`times` is missing for a labelled node.")
    different, counts = np.unique(known, return_counts=True)
    if different.size < 3:
        raise InputError(
            f"`times` needs at least three different values among the labelled nodes, for "
            f"training, validation and test; got {different.size}."
        )
    upto = counts.cumsum()
    # The last time of training and of validation, so that each part has at least one.
    train = np.abs(upto[:-2] - _TRAIN * known.size).argmin()
    validation = (
        train + 1 + np.abs(upto[train + 1 : -1] - (_TRAIN + _VALIDATION) * known.size).argmin()
    )
    part = np.searchsorted(different[[train, validation]], known, side="left")
    return Split(TIME, *(labelled[part == k] for k in range(3)))


def group_split(groups: ArrayLike, labelled: NDArray[np.int64], seed: int) -> Split:
    """Return a split into whole groups, drawn for training, validation and test.

    `groups` [n] are whole numbers or text. In a random order, each group goes to the part that
    lacks most of its share, 60, 20 and 20 % of the labelled nodes.
    """
    group_of = _values_of(np.asarray(groups), labelled, "groups")
    different, codes = np.unique(group_of, return_inverse=True)
    if different.size < 3:
        raise InputError(
            f"`groups` needs at least three groups with labelled nodes, for training, validation "
            f"and test; got {different.size}."
        )
    sizes = np.bincount(codes)
    lacking = group_of.size * np.array([_TRAIN, _VALIDATION, 1.0 - _TRAIN - _VALIDATION])
    part_of = np.empty(different.size, dtype=np.int64)
    used = np.zeros(3, dtype=bool)
    order = Stream.GROUPS.order(different.size, seed)
    for position, group in enumerate(order):
        # The last groups are for parts that have none yet.
        must = ~used if different.size - position <= (~used).sum() else np.ones(3, dtype=bool)
        part = int(np.where(must, lacking, -np.inf).argmax())
        part_of[group] = part
        used[part] = True
        lacking[part] -= sizes[group]
    train, validation, test = (labelled[part_of[codes] == k] for k in range(3))
    return Split(f"{GROUP}-{seed}", train, validation, test, seed)


def column_splits(
    labelled: NDArray[np.int64], times: ArrayLike | None = None, groups: ArrayLike | None = None
) -> dict[str, Split]:
    """Return the splits by time, "time", or by group, "group-0" to "group-9", by name.

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
    """Return the values of the labelled nodes."""
    if values.ndim != 1 or (labelled.size and labelled.max() >= values.size):
        raise InputError(f"`{name}` must have one value per node; got {list(values.shape)}.")
    return values[labelled]
