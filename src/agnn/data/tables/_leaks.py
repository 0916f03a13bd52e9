"""Columns of a node table that may give the answer away, each with how to leave it out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from agnn.data.tables._columns import NodeTable, plain_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEAST: Final = 20  # labelled nodes below which nothing is concluded
_SAMPLE: Final = 20_000  # labelled nodes that are looked at
_DETERMINES: Final = 0.97  # share of held-out nodes whose label the column alone gives
_OF_THE_ERRORS: Final = 0.2  # share of the errors of the most frequent class that may remain
_COPIES: Final = 0.95  # share of rows that repeat the id
_PARTS: Final = frozenset(
    {"train", "training", "tr", "val", "valid", "validation", "dev", "test", "testing", "holdout"}
)


def table_leaks(
    table: NodeTable, columns: Sequence[str], ids: pd.Series[Any], labels: NDArray[np.int64]
) -> list[str]:
    """A sentence for each of the columns, which are features, that may give the answer away."""
    known = np.flatnonzero(labels >= 0)
    if known.size > _SAMPLE:
        known = np.random.default_rng(0).choice(known, _SAMPLE, replace=False)
    found = []
    for column in columns:
        values = table.frame[column]
        if _copies(values, ids):
            found.append(
                f"Column '{column}' is a feature and copies the id; leave it out with `ignore` "
                f"(--ignore {column})."
            )
        elif _is_split(values):
            found.append(
                f"Column '{column}' is a feature and looks like a split; name it as `split_column` "
                f"(--split-column {column}) or leave it out (--ignore {column})."
            )
        else:
            share = _determined(values.iloc[known], labels[known])
            if share is not None:
                found.append(
                    f"Column '{column}' alone gives the label of {100 * share:.0f} % of the "
                    f"nodes: was it made from the label, or after it? If so, leave it out with "
                    f"`ignore` (--ignore {column})."
                )
    return found


def _copies(values: pd.Series[Any], ids: pd.Series[Any]) -> bool:
    """Whether nearly all rows repeat the id, as text or as a number."""
    same = (plain_text(values) == plain_text(ids)).mean()
    return len(values) > 1 and bool(same >= _COPIES)


def _is_split(values: pd.Series[Any]) -> bool:
    """Whether the values are names of the parts of a split."""
    if pd.api.types.is_numeric_dtype(values):
        return False
    different = {str(each).strip().lower() for each in values.dropna().unique()[:20].tolist()}
    return len(different) >= 2 and different <= _PARTS


def _determined(values: pd.Series[Any], labels: NDArray[np.int64]) -> float | None:
    """The share of labels that follow from a column alone, on nodes held out; None: too few.

    Half of the nodes say what a value means, the other half are predicted by it.
    """
    classes, own = np.unique(labels, return_inverse=True)
    if len(own) < _LEAST or len(classes) < 2:
        return None
    order = np.random.default_rng(0).permutation(len(own))
    half = len(own) // 2
    seen, held = order[:half], order[half:]
    most = np.bincount(own[seen], minlength=len(classes))
    by_chance = float((own[held] == most.argmax()).mean())
    codes, different = pd.factorize(values, use_na_sentinel=False)
    if len(different) < 2:
        return None
    if len(different) <= max(2 * len(classes), len(own) // 20):
        counts = np.zeros((len(different), len(classes)))
        np.add.at(counts, (codes[seen], own[seen]), 1.0)
        right = float((counts.argmax(1)[codes[held]] == own[held]).mean())
    elif pd.api.types.is_numeric_dtype(values):
        right = _by_intervals(values.to_numpy(np.float64, na_value=np.nan), own, seen, held)
    else:
        return None  # different in nearly every node: it cannot have told the label of another
    is_leak = right >= _DETERMINES and 1 - right <= _OF_THE_ERRORS * (1 - by_chance)
    return right if is_leak else None


def _by_intervals(
    values: NDArray[np.float64],
    labels: NDArray[np.int64],
    seen: NDArray[np.int64],
    held: NDArray[np.int64],
) -> float:
    """The share of held-out labels that follow from the interval in which a number lies."""
    from sklearn.tree import DecisionTreeClassifier

    numbers = np.nan_to_num(values, nan=np.nanmin(values) - 1.0)[:, None]
    tree = DecisionTreeClassifier(max_leaf_nodes=2 * (labels.max() + 1), random_state=0)
    tree.fit(numbers[seen], labels[seen])
    return float((tree.predict(numbers[held]) == labels[held]).mean())
