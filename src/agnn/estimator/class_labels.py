"""An array of labels as scikit-learn has it: any values, some of them missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ClassLabels(NamedTuple):
    """Labels as class numbers, and the values they stand for."""

    codes: NDArray[np.int64]  # [n], -1 where there is none
    classes: NDArray[Any]  # [c] sorted, as the caller wrote them


def class_labels(y: Any) -> ClassLabels:
    """The labels [n]; -1, NaN, None and "" are none."""
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import assert_all_finite, column_or_1d

    values = column_or_1d(y, warn=True)
    known = ~_is_blank(values)
    if values.dtype.kind == "f":
        assert_all_finite(values[known], input_name="y")
    check_classification_targets(values[known])
    classes, places = np.unique(values[known], return_inverse=True)
    codes = np.full(values.size, -1, dtype=np.int64)
    codes[known] = places
    return ClassLabels(codes, classes)


def _is_blank(values: NDArray[Any]) -> NDArray[np.bool_]:
    kind = values.dtype.kind
    if kind == "b":
        return np.zeros(values.size, dtype=bool)
    if kind in "iu":
        return np.asarray(values == -1)
    if kind == "f":
        return np.asarray(np.isnan(values) | (values == -1))
    if kind == "U":  # NumPy writes NaN among text as "nan"
        return np.isin(values, ("", "nan"))
    # NaN alone differs from itself.
    blank = [each is None or each != each or each in ("", -1) for each in values.tolist()]
    return np.array(blank, dtype=bool)
