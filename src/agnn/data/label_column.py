"""A column of classes: text or numbers, with gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from agnn.data.encoded_text import plain_text
from agnn.data.node_index import holds_text
from agnn.data.packages import tables_package
from agnn.data.reading import shown_rows
from agnn.errors import DataError, unknown_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

# How people write that there is no label. "none" is not among them: it may be a class.
_BLANK: Final = ("", "nan", "na", "n/a", "null", "-1", "-1.0")
_FEW: Final = 20  # so many classes nobody questions


class Labels(NamedTuple):
    """A label column, encoded."""

    codes: NDArray[np.int64]  # [n], -1 where there is none
    class_names: tuple[str, ...]  # numbers in their order, text in alphabetical order
    unlabelled_as: Mapping[str, int]


def encoded_labels(values: Any, where: str, known: Sequence[str] | None = None) -> Labels:
    """The classes of a pandas series; `known` fixes which there are, and their order."""
    names = _names(values)
    blank = names.str.lower().isin(_BLANK).to_numpy()
    given = names[~blank]
    if not len(given):
        raise DataError(f"{where}: every row is empty; there is no label to learn from.")
    classes = tuple(sorted(given.unique(), key=_order(given))) if known is None else tuple(known)
    codes = np.full(len(names), -1, dtype=np.int64)
    codes[~blank] = tables_package("pandas").Index(classes).get_indexer(given)
    foreign = np.flatnonzero(~blank & (codes < 0))
    if foreign.size:
        problem = unknown_name("class", names.iloc[foreign[0]], classes)
        raise DataError(f"{where}, {shown_rows(foreign)}: {problem}")
    if known is None and len(classes) > max(_FEW, len(given) / 2):
        raise DataError(
            f"{where}: {len(classes):,} different values in {len(given):,} rows are no classes; "
            f"name another column with --label."
        )
    counts = names[blank].value_counts()
    as_words = {word or "empty": int(count) for word, count in counts.items()}
    return Labels(codes, classes, as_words)


def _names(values: Any) -> Any:
    """The values as text: 3 and 3.0 are "3", true is "True", a gap is ""."""
    plain = plain_text(values)
    pandas = tables_package("pandas")
    if pandas.api.types.is_numeric_dtype(plain) and not pandas.api.types.is_bool_dtype(plain):
        numbers = pandas.Series(plain.to_numpy(dtype=float, na_value=np.nan))
        return _without_point(numbers).where(numbers.notna(), "").astype(str)
    text = plain.astype(object).where(plain.notna(), "").astype(str).reset_index(drop=True)
    # pandas writes whole numbers with gaps as 1.0, 2.0, ...
    if holds_text(text) and text[text != ""].str.fullmatch(r"-?\d{1,15}\.0").all():
        return text.str.removesuffix(".0")
    return text.str.strip()


def _without_point(numbers: Any) -> Any:
    whole = numbers.fillna(0) % 1 == 0
    integers = numbers.where(whole).fillna(0).astype("int64").astype(str)
    return integers.where(whole, numbers.astype(str))


def _order(names: Any) -> Any:
    """What to sort classes by: their value where all are numbers, else their letters."""
    pandas = tables_package("pandas")
    if pandas.to_numeric(names, errors="coerce").notna().all():
        return lambda name: (float(name), name)
    return lambda name: name
