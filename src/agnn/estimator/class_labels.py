"""Labels as scikit-learn has them: an array of any values, some of them missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from agnn.data import encoded_labels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ClassLabels(NamedTuple):
    """Labels as class numbers, and the values they stand for."""

    codes: NDArray[np.int64]  # [n], -1 where there is none
    classes: NDArray[Any]  # [c] sorted, as the caller wrote them


def class_labels(y: Any) -> ClassLabels:
    """The labels [n]; -1, NaN, None, "" and other ways to write a missing value are no label."""
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import assert_all_finite, column_or_1d

    values = column_or_1d(y, warn=True)
    if values.dtype.kind == "f":
        assert_all_finite(values[values == values], input_name="y")  # NaN is no label
    labels = encoded_labels(values, where="`y`")
    check_classification_targets(values[labels.codes >= 0])
    return ClassLabels(labels.codes, values[labels.examples])
