"""An array of classes: numbers or text, with gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from agnn.errors import DataError, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ArrayLabels(NamedTuple):
    """Labels as class numbers, and the names of the classes."""

    codes: NDArray[np.int64]  # [n], -1 where there is none
    class_names: tuple[str, ...]


def array_labels(labels: NDArray[Any], class_names: Sequence[str] | None) -> ArrayLabels:
    """The labels [n]: classes by number where `class_names` are given, else by what is there.

    -1, NaN, None and "" are no label. Numbers sort by value, text by letters.
    """
    if labels.ndim != 1:
        raise InputError(f"`labels` must have shape [n]; got {list(labels.shape)}.")
    if labels.dtype.kind == "f":
        if np.isinf(labels).any() or (labels[~np.isnan(labels)] % 1 != 0).any():
            raise DataError("`labels` must be whole numbers or text.")
        labels = np.where(np.isnan(labels), -1, labels).astype(np.int64)
    if labels.dtype.kind in "iub":
        return _numbers(labels.astype(np.int64), class_names)
    text = np.array(["" if label is None else str(label) for label in labels.tolist()], dtype=str)
    blank = np.isin(text, ("", "nan", "-1"))
    names, codes = np.unique(text[~blank], return_inverse=True)
    if class_names is not None:
        place = {name: k for k, name in enumerate(class_names)}
        strange = [name for name in names.tolist() if name not in place]
        if strange:
            raise DataError(f"`labels` has '{strange[0]}', which is not in `class_names`.")
        codes = np.array([place[name] for name in names.tolist()], dtype=np.int64)[codes]
    found = np.full(text.size, -1, dtype=np.int64)
    found[~blank] = codes
    return ArrayLabels(found, tuple(class_names or names.tolist()))


def _numbers(labels: NDArray[np.int64], class_names: Sequence[str] | None) -> ArrayLabels:
    if class_names is not None:
        return ArrayLabels(labels, tuple(class_names))
    known = labels >= 0
    values, codes = np.unique(labels[known], return_inverse=True)
    found = np.full(labels.size, -1, dtype=np.int64)
    found[known] = codes
    return ArrayLabels(found, tuple(str(value) for value in values.tolist()))
