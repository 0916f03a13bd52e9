"""Columns and single features that may give the answer away, each with how to leave it out."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from agnn.data._labels import Labels
from agnn.data._options import option_for
from agnn.data.preprocessing import Block, Numbers, Preprocessing
from agnn.data.scaling import SparseRows
from agnn.data.tables._columns import PARTS, NodeTable, plain_text

_LEAST: Final = 20  # labelled nodes below which nothing is concluded
_SAMPLE: Final = 20_000  # labelled nodes that are looked at
_DETERMINES: Final = 0.97  # share of held-out nodes whose label the column alone gives
_OF_THE_ERRORS: Final = 0.2  # share of the errors of the most frequent class that may remain
_COPIES: Final = 0.95  # share of rows that repeat the id
# One of many thousand words may fit a class of a few nodes by chance, and a good word most of its
# class: a word that gives a class away has hardly an exception.
_LEAST_OF_CLASS: Final = 10
_EXCEPTIONS: Final = 0.05  # in all, as a share of the class or of the others, whichever is fewer


def table_leaks(
    table: NodeTable, columns: Sequence[str], ids: pd.Series[Any], labels: NDArray[np.int64]
) -> dict[str, str]:
    """Return a sentence for each column of features that may give the answer away."""
    sample = _sample(labels)
    leaks = {}
    for column in columns:
        values = table.column(column)
        if _copies(values, ids):
            leaks[column] = (
                f"Column '{column}' is a feature and copies the id; leave it out with "
                f"{option_for('ignore', column)}."
            )
        elif _is_split(values):
            leaks[column] = (
                f"Column '{column}' is a feature and looks like a split; name it as "
                f"{option_for('split_column', column)}, or leave it out with "
                f"{option_for('ignore', column)}."
            )
        else:
            share = _determined_share(values.iloc[sample], labels[sample])
            if share is not None:
                leaks[column] = (
                    f"Column '{column}' alone gives the label of {100 * share:.0f} % of the "
                    f"nodes: was it made from the label, or after it? If so, leave it out with "
                    f"{option_for('ignore', column)}."
                )
    return leaks


def feature_leaks(
    features: SparseRows, preprocessing: Preprocessing, labels: Labels, reported: Container[str]
) -> list[str]:
    """Return a sentence for each column of which one feature alone tells a class from all others.

    A feature, such as a word of a text, is looked at for being there (not 0) or not. Columns in
    `reported` have a sentence already.
    """
    sample = _sample(labels.codes)
    counts = np.bincount(labels.codes[sample], minlength=len(labels.class_names))
    present: Any = features[sample].astype(bool)
    totals = np.asarray(present.sum(axis=0)).ravel()  # [d_x]
    origins = [origin for block in preprocessing.blocks for origin in _origins(block)]
    fewest: dict[str, int] = {}  # exceptions, by column
    leaks: dict[str, str] = {}
    for label, name in enumerate(labels.class_names):
        count = int(counts[label])
        outside = sample.size - count
        if min(count, outside) < _LEAST_OF_CLASS:
            continue
        inside = np.asarray(present[labels.codes[sample] == label].sum(axis=0)).ravel()
        exceptions = count + totals - 2 * inside  # in the class without it, or outside with it
        exceptions = np.minimum(exceptions, sample.size - exceptions)  # or the other way round
        for k in np.flatnonzero(exceptions <= _EXCEPTIONS * min(count, outside)).tolist():
            feature, column = origins[k]
            if column in reported or exceptions[k] >= fewest.get(column, sample.size):
                continue
            fewest[column] = int(exceptions[k])
            leaks[column] = (
                f"Feature '{feature}' is in {inside[k]:,} of the {count:,} nodes of class '{name}' "
                f"and in {totals[k] - inside[k]:,} of the {outside:,} others: was it made from the "
                f"label, or after it? If so, remove it from the table, or leave the column out "
                f"with {option_for('ignore', column)}."
            )
    return [*leaks.values()]


def _sample(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the labelled nodes, or so many of them that looking at them takes no time."""
    labelled = np.flatnonzero(labels >= 0)
    if labelled.size <= _SAMPLE:
        return labelled
    return np.random.default_rng(0).choice(labelled, _SAMPLE, replace=False)


def _origins(block: Block) -> Iterator[tuple[str, str]]:
    """Yield the name of each feature of a block, and the column it is made from."""
    columns = block.reads
    if isinstance(block, Numbers):
        columns = (*block.columns, *block.with_gaps)
    elif len(columns) == 1:
        columns = columns * len(block.names)
    yield from zip(block.names, columns, strict=True)


def _copies(values: pd.Series[Any], ids: pd.Series[Any]) -> bool:
    """Return whether nearly all rows repeat the id, as text or as a number."""
    same = (plain_text(values) == plain_text(ids)).mean()
    return len(values) > 1 and bool(same >= _COPIES)


def _is_split(values: pd.Series[Any]) -> bool:
    """Return whether the values are names of the parts of a split."""
    if pd.api.types.is_numeric_dtype(values):
        return False
    different = plain_text(values).unique()[:20].tolist()
    parts = {PARTS.get(str(value).strip().lower(), "") for value in different}
    return "" not in parts and len(parts - {None}) >= 2


def _determined_share(values: pd.Series[Any], labels: NDArray[np.int64]) -> float | None:
    """Return the share of labels that follow from a column alone, on nodes held out; None: too few.

    Half of the nodes say what a value means, the other half are predicted by it.
    """
    classes, class_codes = np.unique(labels, return_inverse=True)
    if len(class_codes) < _LEAST or len(classes) < 2:
        return None
    order = np.random.default_rng(0).permutation(len(class_codes))
    half = len(class_codes) // 2
    learned = order[:half]
    held = order[half:]
    most = np.bincount(class_codes[learned], minlength=len(classes))
    by_chance = float((class_codes[held] == most.argmax()).mean())
    codes, different = pd.factorize(values, use_na_sentinel=False)
    if len(different) < 2:
        return None
    if len(different) <= max(2 * len(classes), len(class_codes) // 20):
        counts = np.zeros((len(different), len(classes)))
        np.add.at(counts, (codes[learned], class_codes[learned]), 1.0)
        right = float((counts.argmax(1)[codes[held]] == class_codes[held]).mean())
    elif pd.api.types.is_numeric_dtype(values):
        right = _by_intervals(
            values.to_numpy(np.float64, na_value=np.nan), class_codes, learned, held
        )
    else:
        return None  # different in nearly every node: it cannot have told the label of another
    is_leak = right >= _DETERMINES and 1 - right <= _OF_THE_ERRORS * (1 - by_chance)
    return right if is_leak else None


def _by_intervals(
    values: NDArray[np.float64],
    labels: NDArray[np.int64],
    learned: NDArray[np.int64],
    held: NDArray[np.int64],
) -> float:
    """Return the share of held-out labels that follow from the interval in which a number lies."""
    from sklearn.tree import DecisionTreeClassifier

    numbers = np.nan_to_num(values, nan=np.nanmin(values) - 1.0)[:, None]
    tree = DecisionTreeClassifier(max_leaf_nodes=2 * (labels.max() + 1), random_state=0)
    tree.fit(numbers[learned], labels[learned])
    return float((tree.predict(numbers[held]) == labels[held]).mean())
