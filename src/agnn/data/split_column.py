"""A column that says which rows are for training, validation and test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from agnn.data.encoded_text import plain_text
from agnn.data.reading import shown_rows
from agnn.data.splits import Split
from agnn.errors import DataError, unknown_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WORDS: Final = {
    "train": "train", "training": "train", "tr": "train",
    "validation": "validation", "valid": "validation", "val": "validation", "dev": "validation",
    "test": "test", "testing": "test", "te": "test", "holdout": "test",
    "": None, "none": None, "nan": None, "na": None, "unused": None, "-": None,
}  # fmt: skip


def column_split(values: Any, labels: NDArray[np.int64], where: str) -> tuple[Split, list[str]]:
    """The split that a pandas series writes down, called "fixed", and what is to be said of it.

    Rows without a label are in no part. Where no row is for validation, a fifth of the training
    rows is: the second, seventh, ... of each class, in the order of the table.
    """
    plain = plain_text(values)
    words = plain.astype(object).where(plain.notna(), "").astype(str).str.strip().str.lower()
    strange = np.flatnonzero(~words.isin(list(_WORDS)).to_numpy())
    if strange.size:
        problem = unknown_name("part", words.iloc[strange[0]], [w for w in _WORDS if w])
        raise DataError(f"{where}, {shown_rows(strange)}: {problem}")
    part = words.map(_WORDS).to_numpy()
    notes = []
    blank = np.flatnonzero((labels < 0) & ((part == "train") | (part == "validation")))
    if blank.size:
        notes.append(
            f"{where}: {shown_rows(blank)} are for training or validation but have no label; they "
            f"are left out."
        )
    found = {
        name: np.flatnonzero((part == name) & (labels >= 0))
        for name in ("train", "validation", "test")
    }
    if not found["train"].size:
        raise DataError(f"{where}: no row with a label says train.")
    if not found["validation"].size:
        found["train"], found["validation"] = _fifth(found["train"], labels)
        notes.append(
            f"{where}: no row says validation, so {found['validation'].size:,} training rows "
            f"choose the epoch instead of being learned from."
        )
    return Split("fixed", found["train"], found["validation"], found["test"]), notes


def _fifth(
    train: NDArray[np.int64], labels: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The training nodes without every fifth of each class, and these."""
    order = train[np.argsort(labels[train], kind="stable")]
    starts = np.searchsorted(labels[order], labels[order])
    chosen = (np.arange(order.size) - starts) % 5 == 1  # so that two are enough
    return np.sort(order[~chosen]), np.sort(order[chosen])
