"""The columns of a node table as numbers, categories, text, labels and parts of a split."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from agnn.data._labels import MISSING, Labels, check_classes, labels_of, missing_spellings
from agnn.data._options import option_for
from agnn.data._splits._by_column import column_splits
from agnn.data._splits._split import Split
from agnn.data._wording import row_list
from agnn.data.tables._source import TableSource
from agnn.errors import DataError, InputError, unknown_name

_LARGEST: Final = 1e30  # squares and sums of larger numbers overflow
_DECIMAL_COMMA: Final = r"^([+-]?[0-9]*),([0-9]+([eE][+-]?[0-9]+)?)$"

PARTS: Final = {
    **dict.fromkeys(("train", "training", "tr"), "train"),
    **dict.fromkeys(("validation", "valid", "val", "dev"), "validation"),
    **dict.fromkeys(("test", "testing", "te", "holdout"), "test"),
    **dict.fromkeys((*MISSING, "none", "unused", "-")),
}
"""The parts of a split by the words that a column may have for them; None: in no part."""


class NodeTable:
    """The columns of a table with one row per node.

    `column` returns a column as a series. `kept` are the rows of the user's table that are here;
    None: all. Of text that was parsed as numbers, the last `parsed` columns are kept; None: all.
    """

    def __init__(
        self,
        source: TableSource,
        columns: Sequence[str],
        nodes: int,
        column: Callable[[str], pd.Series[Any]],
        *,
        kept: NDArray[np.int64] | None = None,
        parsed: int | None = None,
    ) -> None:
        self.place = source.place
        self.is_untyped = source.is_untyped
        self.has_decimal_commas = source.has_decimal_commas
        self.columns = tuple(columns)
        self.nodes = nodes
        self.column = column
        self._kept = kept

        def parse(name: str) -> NDArray[np.float64]:
            values = plain_text(column(name))
            return numbers_in(values, decimal_commas=source.has_decimal_commas)

        # Parsing takes long, and each column is needed three times. No method is cached: a table
        # in its own cache would stay, with its columns, until garbage is collected.
        self._numbers = lru_cache(parsed)(parse) if source.is_untyped else parse

    @classmethod
    def of(
        cls, source: TableSource, frame: pd.DataFrame, kept: NDArray[np.int64] | None = None
    ) -> Self:
        """Return the table whose columns are those of a frame of a source."""
        return cls(source, tuple(frame.columns), len(frame), frame.__getitem__, kept=kept)

    def rows(self, rows: Any) -> str:
        """Return some rows as messages name them, by their place in the user's table."""
        return row_list(rows if self._kept is None else self._kept[rows])

    def where(self, column: str) -> str:
        """Return a column as messages name it."""
        return f"{self.place}, column '{column}'"

    def numbers(self, column: str) -> NDArray[np.float64]:
        """Return the values as numbers [n], NaN where there is none; text is refused."""
        values = plain_text(self.column(column))
        numbers = self._numbers(column)
        gaps = np.isnan(numbers)
        is_text = gaps & ~is_blank(values) if gaps.any() else gaps
        # Among numbers "None" can only be a missing value; elsewhere it may be a category.
        bad = [row for row in np.flatnonzero(is_text) if str(values.iloc[row]).lower() != "none"]
        if bad:
            raise DataError(
                f"{self.where(column)}, {self.rows(bad)}: '{str(values.iloc[bad[0]])[:40]}' is "
                f"not a number, and the column has numbers in other rows. Fix it, treat the whole "
                f"column as categories with {option_for('category', column)}, or leave it out with "
                f"{option_for('ignore', column)}."
            )
        huge = np.flatnonzero(np.abs(numbers) > _LARGEST)  # NaN compares as false
        if huge.size:
            value = numbers[huge[0]]
            description = "infinite" if np.isinf(value) else f"{value:g}, too large to compute with"
            raise DataError(f"{self.where(column)}, {self.rows(huge)}: the value is {description}.")
        return numbers

    def names(self, column: str) -> pd.Series[str]:
        """Return a series of text, "" where there is no value."""
        values = plain_text(self.column(column))
        if not holds_text(values):
            values = as_text(values).str.strip()
        return values.where(~is_blank(values), "")

    def codes(self, column: str, values: Sequence[str]) -> NDArray[np.int64]:
        """Return the position in `values` of each row's category; -1 for any other; [n]."""
        return np.asarray(pd.Index(values).get_indexer(self.names(column)), dtype=np.int64)

    def texts(self, column: str) -> list[str]:
        """Return the texts of a column, "" where there is none."""
        texts: list[str] = as_text(plain_text(self.column(column))).tolist()
        return texts

    def kind(self, column: str) -> str:
        """Return what a column holds: number, category, empty, date or other."""
        values = plain_text(self.column(column))
        types = pd.api.types
        if types.is_numeric_dtype(values) or types.is_bool_dtype(values):
            return "number" if bool(values.notna().any()) else "empty"
        if types.is_datetime64_any_dtype(values) or types.is_timedelta64_dtype(values):
            return "date"
        blank = is_blank(values)
        if blank.all():
            return "empty"
        if holds_text(values) and not self.is_untyped:
            return "category"
        if not holds_text(values) and not _is_mixture(values):
            return "other"
        share = np.isfinite(self._numbers(column)).sum() / (~blank).sum()
        # Mostly numbers: a few words among them are a mistake, which `numbers` reports.
        return "number" if share > 0.5 else "category"

    def labels(self, column: str, known: Sequence[str] | None = None) -> Labels:
        """Return the classes of a column; `known` fixes which there are, and their order."""
        where = self.where(column)
        values = self.column(column)
        if is_encoded(values):
            codes, distinct = codes_and_words(values)
        else:
            try:
                codes, distinct = pd.factorize(values)
            except TypeError as error:
                raise DataError(f"{where}: a label must be text or a number; {error}.") from error
        labels = labels_of(list(distinct), np.asarray(codes, dtype=np.int64), where, known)
        if not (labels.codes >= 0).any():
            raise DataError(f"{where}: every row is empty; there is no label to learn from.")
        if known is None:
            check_classes(labels, where, f"choose another column as {option_for('label')}")
        return labels

    def split(self, column: str, labels: NDArray[np.int64]) -> tuple[Split, list[str]]:
        """Return the split that a column holds, called "fixed", and remarks on it.

        Rows without a label are in no part. If no row is for validation, a fifth of the training
        rows is: the second, seventh, ... of each class, in the order of the table.
        """
        where = self.where(column)
        values = plain_text(self.column(column))
        # Few different words in perhaps millions of rows; a missing value has the code -1.
        codes, distinct = pd.factorize(values if holds_text(values) else as_text(values))
        names = [*as_text(pd.Series(distinct)).str.strip().str.lower(), ""]
        strange = np.flatnonzero(np.array([word not in PARTS for word in names])[codes])
        if strange.size:
            part_words = [word for word, part in PARTS.items() if part]
            problem = unknown_name("part", names[codes[strange[0]]], part_words)
            raise DataError(f"{where}, {self.rows(strange)}: {problem}")
        is_in = {
            name: np.array([PARTS.get(word) == name for word in names])[codes]
            for name in ("train", "validation", "test")
        }
        notes = []
        blank = np.flatnonzero((labels < 0) & (is_in["train"] | is_in["validation"]))
        if blank.size:
            notes.append(
                f"{where}: {self.rows(blank)} are for training or validation but have no label; "
                f"they are left out."
            )
        nodes = {name: np.flatnonzero(is_part & (labels >= 0)) for name, is_part in is_in.items()}
        if not nodes["train"].size:
            raise DataError(f"{where}: no row with a label is for training ('train').")
        if not nodes["validation"].size:
            nodes["train"], nodes["validation"] = _fifth(nodes["train"], labels)
            notes.append(
                f"{where}: no row is for validation, so {nodes['validation'].size:,} training "
                f"rows choose the epoch instead of being trained on."
            )
        return Split("fixed", nodes["train"], nodes["validation"], nodes["test"]), notes

    def splits_by(
        self, column: str, labels: Labels, *, is_time: bool
    ) -> tuple[dict[str, Split], list[str]]:
        """Return the splits by a column of times or of groups, and remarks on them."""
        labelled = np.flatnonzero(labels.codes >= 0)
        try:
            if is_time:
                splits = column_splits(labelled, times=self._times(column, labelled))
            else:
                splits = column_splits(labelled, groups=self._groups(column, labelled))
        except InputError as error:
            reason = str(error).replace("`times`", "it").replace("`groups`", "it")
            raise DataError(f"{self.where(column)}: {reason}") from error
        first_split = next(iter(splits.values()))
        absent = np.setdiff1d(labels.codes[labelled], labels.codes[first_split.train])
        if not absent.size:
            return splits, []
        names = ", ".join(f"'{labels.class_names[k]}'" for k in absent[:5].tolist())
        more = " and others" if absent.size > 5 else ""
        return splits, [
            f"{self.where(column)}: no training node is of class {names}{more}, so it cannot be "
            f"learned."
        ]

    def _times(self, column: str, labelled: NDArray[np.int64]) -> NDArray[Any]:
        """Return the times of a column: numbers, or dates as nanoseconds; [n]."""
        values = plain_text(self.column(column))
        self._check_complete(column, values, labelled)
        if pd.api.types.is_datetime64_any_dtype(values):
            return _nanoseconds(values)
        numbers = numbers_in(values, decimal_commas=self.has_decimal_commas)
        if not np.isnan(numbers[labelled]).any():
            return numbers
        dates = pd.to_datetime(as_text(values), errors="coerce", format="ISO8601", utc=True)
        bad = labelled[dates.isna().to_numpy()[labelled]]
        if bad.size:
            raise DataError(
                f"{self.where(column)}, {self.rows(bad)}: '{str(values.iloc[bad[0]])[:40]}' "
                f"cannot be ordered in time; numbers, or dates such as 2024-03-31, are expected."
            )
        return _nanoseconds(dates)

    def _groups(self, column: str, labelled: NDArray[np.int64]) -> NDArray[Any]:
        """Return the groups of a column as text; [n]."""
        values = plain_text(self.column(column))
        self._check_complete(column, values, labelled)
        return np.asarray(as_text(values).tolist(), dtype=np.str_)

    def _check_complete(self, column: str, values: Any, labelled: NDArray[np.int64]) -> None:
        blank = labelled[is_blank(values)[labelled]]
        if blank.size:
            raise DataError(
                f"{self.where(column)}, {self.rows(blank)}: the value is missing, and the node "
                f"has a label; without a value it cannot be in a part of the split."
            )


def numbers_in(values: Any, *, decimal_commas: bool = False) -> NDArray[np.float64]:
    """Return the numbers in a series; NaN for everything else; [n].

    With `decimal_commas` 17,5 is a number as well as 17.5; 1.234,5 is none.
    """
    if pd.api.types.is_numeric_dtype(values):
        typed: NDArray[np.float64] = values.to_numpy(dtype=np.float64, na_value=np.nan)
        return typed
    if holds_text(values):
        text = _arrow_text(values)
        if decimal_commas:
            text = pc.replace_substring_regex(text, _DECIMAL_COMMA, r"\1.\2")
        try:
            cast = pc.if_else(_blank_text(text), None, text).cast(pa.float64())
            return np.asarray(cast.to_numpy(zero_copy_only=False), dtype=np.float64)
        except pa.ArrowInvalid:  # pyarrow stops at the first word; pandas goes on
            values = pd.Series(text.to_pylist(), dtype=object) if decimal_commas else values
    present = values.where(~is_blank(values), None)
    coerced = pd.to_numeric(present, errors="coerce")
    return np.asarray(coerced.to_numpy(dtype=np.float64, na_value=np.nan))


def is_blank(values: Any) -> NDArray[np.bool_]:
    """Return where a series has no value, or text that stands for a missing one."""
    if holds_text(values):
        is_missing: NDArray[np.bool_] = _blank_text(_arrow_text(values)).to_numpy(
            zero_copy_only=False
        )
        return is_missing
    blank: NDArray[np.bool_] = values.isna().to_numpy(dtype=bool)
    if values.dtype == object:
        blank = blank | as_text(values).isin(missing_spellings()).to_numpy(dtype=bool)
    return blank


def as_text(values: Any) -> pd.Series[str]:
    """Return a series as text, "" where there is no value."""
    missing = values.isna().to_numpy(dtype=bool)
    # Not astype(str), which takes bytes for UTF-8 text and may fail.
    cells = ["" if gap else str(v) for v, gap in zip(values.tolist(), missing, strict=True)]
    return pd.Series(cells, index=values.index, dtype=object)


def has_no_id(values: Any) -> NDArray[np.bool_]:
    """Return where a series of ids has no value, or an empty text."""
    blank: NDArray[np.bool_] = values.isna().to_numpy(dtype=bool)
    if holds_text(values):
        blank = blank | (values == "").fillna(True).to_numpy(dtype=bool)
    return blank


def holds_text(values: Any) -> bool:
    """Return whether a series holds text and nothing else, apart from missing values."""
    if isinstance(values.dtype, pd.StringDtype):
        return True
    if values.dtype != object:
        return False
    return bool(pd.api.types.infer_dtype(values, skipna=True) in ("string", "empty"))


def is_encoded(values: Any) -> bool:
    """Return whether a series is codes for words, by pyarrow or as pandas' categories."""
    if isinstance(values.dtype, pd.ArrowDtype):
        return bool(pa.types.is_dictionary(values.dtype.pyarrow_dtype))
    return isinstance(values.dtype, pd.CategoricalDtype)


class Encoded(NamedTuple):
    """A series as codes that stand for words."""

    codes: NDArray[np.int64]  # [n], -1 for a missing value
    words: pd.Series[Any]


def codes_and_words(values: Any) -> Encoded:
    """Return the codes and the words of an encoded series."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        words = values.cat.categories.to_series().reset_index(drop=True)
        return Encoded(values.cat.codes.to_numpy(dtype=np.int64), words)
    chunked = pa.chunked_array(pa.array(values))
    codes = []
    parts = []
    before = 0
    for chunk in chunked.chunks:  # each has its own words; one that two chunks share occurs twice
        signed = chunk.indices.cast(pa.int64())  # Polars' codes have no sign
        in_chunk = signed.fill_null(-1).to_numpy(zero_copy_only=False)
        codes.append(np.where(in_chunk < 0, -1, in_chunk + before))
        parts.append(chunk.dictionary)
        before += len(chunk.dictionary)
    named = pa.chunked_array(parts, chunked.type.value_type)
    return Encoded(np.concatenate([np.empty(0, np.int64), *codes]), named.to_pandas())


def plain_text(values: Any) -> Any:
    """Return a series with words in place of codes."""
    if not is_encoded(values):
        return values
    codes, words = codes_and_words(values)
    text = words.take(np.maximum(codes, 0)) if len(words) else words.reindex(codes)
    text = text.set_axis(values.index)
    return text if (codes >= 0).all() else text.where(pd.Series(codes >= 0, values.index))


def _arrow_text(values: Any) -> Any:
    return pa.array(values, from_pandas=True).cast(pa.large_string())


def _blank_text(text: Any) -> Any:
    return pc.is_in(text, value_set=_missing_text())


@cache
def _missing_text() -> Any:
    return pa.array([*missing_spellings(), None], type=pa.large_string())


def _is_mixture(values: Any) -> bool:
    """Return whether every value is text, a number or missing: no lists, no objects."""
    plain = (str, int, float, bool, Decimal, np.number, np.bool_, type(None))
    return all(isinstance(value, plain) for value in values.tolist())


def _nanoseconds(dates: Any) -> NDArray[Any]:
    """Return dates, with or without a time zone, as datetime64; [n]."""
    plain = dates.dt.tz_convert("UTC").dt.tz_localize(None) if dates.dt.tz is not None else dates
    return np.asarray(plain.to_numpy(dtype="datetime64[ns]"))


def _fifth(
    train: NDArray[np.int64], labels: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the training nodes without every fifth of each class, and these."""
    order = train[np.argsort(labels[train], kind="stable")]
    starts = np.searchsorted(labels[order], labels[order])
    chosen = (np.arange(order.size) - starts) % 5 == 1  # so that two are enough
    return np.sort(order[~chosen]), np.sort(order[chosen])
