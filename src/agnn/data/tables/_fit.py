"""Which column of a node table becomes which kind of feature, fitted to its values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from agnn.data._options import ReadOptions, option_for
from agnn.data._report import ColumnUse
from agnn.data.preprocessing import (
    GRAPH_NOTE,
    Block,
    Category,
    Counts,
    Numbers,
    Preprocessing,
    Words,
    graph_blocks,
    word_weigher,
)
from agnn.data.tables._columns import NodeTable, plain_text
from agnn.errors import DataError

_BAG: Final = 20  # this many columns of counts, mostly zero, are a bag of words
_MOST_VALUES: Final = 1000  # of a category
_MOST_WORDS: Final = 20_000

# Measurements that are whole numbers repeat themselves before there are this many.
_MANY: Final = 100
_DATE: Final = re.compile(r"[0-9]{1,4}([-./])[0-9]{1,2}\1[0-9]{1,4}\b")  # 2024-03-31, 31.3.2024
_LETTER: Final = re.compile(r"[^\W\d_]")
_WHOLE_NUMBERS: Final = re.compile(r"([0-9]+(\s+[0-9]+)*)?")
_COMMA_NUMBER: Final = re.compile(r"[+-]?[0-9.' ]*,[0-9.,]*[0-9]")  # 17,23 and 1.234,50 and 1,234.5
_SHARED_WORDS: Final = 0.5  # of the words of a text column, in several values
_SHARED_NUMBERS: Final = 0.9
# A column whose deviation is so many times that of its values between the percentiles has a scale
# that a few of them set.
_FAR: Final = 100.0
_INNER: Final = (1.0, 99.0)  # percentiles
_FEW: Final = 20  # rows whose numbers may be 0, 1, 2, ... or far apart by chance
_ID_NAME: Final = re.compile(
    r"(^|[_\-. ])(?i:u?id|uuid|guid|key|index|idx|nr|no|number|code)$|[a-z](Id|ID)$"
)


@dataclass
class Fit:
    """The blocks fitted so far, the use of each column, and notes."""

    blocks: list[Block] = field(default_factory=list)
    uses: list[ColumnUse] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def preprocessing(self) -> Preprocessing:
        """The fitted blocks."""
        return Preprocessing(tuple(self.blocks))

    def use(self, column: str, use: str, detail: str = "") -> None:
        """Record the use of a column of the nodes."""
        self.uses.append(ColumnUse("nodes", column, use, detail))

    def leave_out(self, column: str, why: str) -> None:
        """Record that a column is not used."""
        self.use(column, "left out", why)


def fitted_features(
    table: NodeTable, columns: Sequence[str], options: ReadOptions, edges: NDArray[np.int64]
) -> Fit:
    """Return what these columns of the node table become, or what the graph gives if none serves.

    `edges` [2, k] holds each undirected edge once.
    """
    fit = Fit()
    kinds = {
        column: _requested_kind(column, options) or ("" if not column else table.kind(column))
        for column in columns
    }
    numeric = [column for column, kind in kinds.items() if kind == "number"]
    _fit_numbers(fit, table, numeric, kept=options.number)
    for column, kind in kinds.items():
        if kind == "category":
            _fit_category(fit, table, column, is_asked=column in options.category)
        elif kind == "text":
            _fit_words(fit, table, column)
        elif kind != "number":
            fit.leave_out(column, _WHY_NOT[kind])
    if not fit.blocks:
        fit.blocks += graph_blocks(edges, table.nodes)
        fit.notes.append(GRAPH_NOTE)
    return fit


_WHY_NOT: Final = {
    "": "it has no name, like the row numbers that pandas writes",
    "empty": "every row is empty",
    "date": "it holds dates; to use them, convert them to numbers, such as days, or split by them "
    f"with {option_for('split_time')}",
    "other": "it holds neither numbers nor text",
}


def _same(column: str, missing: int) -> str:
    if not missing:
        return "it is the same in every row"
    return (
        f"it is the same in every row that has a value; to use which rows have one, take it as a "
        f"category with {option_for('category', column)}"
    )


def _requested_kind(column: str, options: ReadOptions) -> str | None:
    if column in options.text:
        return "text"
    if column in options.number:
        return "number"
    return "category" if column in options.category else None


def _fit_numbers(fit: Fit, table: NodeTable, columns: Sequence[str], kept: Sequence[str]) -> None:
    profiles = {column: _profile(table, column) for column in columns}
    counts = [column for column, profile in profiles.items() if profile.is_count]
    if len(counts) >= _BAG:
        fit.blocks.append(Counts(tuple(counts)))
        for column in counts:
            fit.use(column, "count", "as it is: a bag of words")
    else:
        counts = []
    used = []
    for column, profile in profiles.items():
        if column in counts:
            continue
        if profile.scale == 0.0:
            fit.leave_out(column, _same(column, profile.gaps.size))
            continue
        if column not in kept and _is_identifier(table, column):
            fit.leave_out(
                column,
                f"whole numbers, all different, look like an identifier; keep it as a feature "
                f"with {option_for('number', column)}",
            )
            continue
        used.append(column)
        detail = f"mean {profile.mean:.4g}, deviation {profile.scale:.4g}, standardised"
        if table.has_decimal_commas and any("," in text for text in table.texts(column)):
            detail += "; decimal commas"
        if profile.gaps.size:
            detail += (
                f"; {profile.gaps.size:,} missing ({table.rows(profile.gaps)}), filled with the "
                f"mean and marked by the feature '{column} is missing'"
            )
        far = _far_rows(table.numbers(column))
        if far.size:
            fit.notes.append(
                f"Column '{column}' has numbers far from all others in {table.rows(far)}, such as "
                f"{table.numbers(column)[far[0]]:.4g}: standardised, the other rows are nearly "
                f"equal. Correct them, or leave the column out with {option_for('ignore', column)}."
            )
        fit.use(column, "number", detail)
    if used:
        means, scales = zip(*((profiles[c].mean, profiles[c].scale) for c in used), strict=True)
        gaps = tuple(column for column in used if profiles[column].gaps.size)
        fit.blocks.append(Numbers(tuple(used), means, scales, gaps))


def _is_identifier(table: NodeTable, column: str) -> bool:
    """Return whether a column of numbers names the nodes rather than measures them.

    Its values are whole numbers and all different, and either its name ends in id, key, index or
    the like, or there are at least 100 of them, or they count the rows from 0 or 1.
    """
    values = table.numbers(column)
    present = values[~np.isnan(values)]
    if present.size < 2 or (present % 1 != 0).any() or np.abs(present).max() >= 2.0**64:
        return False
    distinct = np.unique(present).size
    if np.abs(present).max() > 2.0**53:  # neighbouring whole numbers are one float
        distinct = int(plain_text(table.column(column)).nunique())
    if distinct < present.size:
        return False
    if _ID_NAME.search(column) or present.size >= _MANY:
        return True
    counts_rows = present[0] in (0, 1) and bool((np.diff(present) == 1).all())
    return counts_rows and present.size >= _FEW


def _far_rows(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the rows of a column whose few numbers set its scale, if there are any."""
    present = values[~np.isnan(values)]
    if present.size < _FEW:
        return np.zeros(0, np.int64)
    low, high = np.percentile(present, _INNER)
    inner = present[(present >= low) & (present <= high)]
    spread = float(inner.std())
    if spread == 0.0 or float(present.std()) <= _FAR * spread:
        return np.zeros(0, np.int64)
    with np.errstate(invalid="ignore"):  # missing values are far from nothing
        return np.flatnonzero(np.abs(values - inner.mean()) > _FAR * spread)


@dataclass(frozen=True, eq=False)
class _Profile:
    mean: float
    scale: float
    gaps: NDArray[np.int64]
    is_count: bool


def _profile(table: NodeTable, column: str) -> _Profile:
    values = table.numbers(column)
    gaps = np.flatnonzero(np.isnan(values))
    present = values[~np.isnan(values)] if gaps.size else values
    is_whole = not gaps.size and bool((present >= 0).all() and (present % 1 == 0).all())
    is_count = is_whole and bool(np.count_nonzero(present) <= present.size / 2)
    spread = float(present.std()) if present.min() != present.max() else 0.0
    return _Profile(float(present.mean()), spread, gaps, is_count)


def _fit_category(fit: Fit, table: NodeTable, column: str, *, is_asked: bool) -> None:
    names = table.names(column)
    values = sorted(value for value in names.unique() if value)
    if not is_asked and len(values) > min(_MOST_VALUES, max(20, len(names) / 4)):
        if _is_prose(values):
            fit.notes.append(
                f"Column '{column}' holds text, which is used by its words; leave it out with "
                f"{option_for('ignore', column)}."
            )
            _fit_words(fit, table, column)
            return
        if 2 * sum(bool(_DATE.match(value)) for value in values) > len(values):
            fit.leave_out(column, _WHY_NOT["date"])
            return
        with_commas = [value for value in values if _COMMA_NUMBER.fullmatch(value)]
        if 2 * len(with_commas) > len(values):
            fit.leave_out(
                column,
                f"its values look like numbers with commas, such as '{with_commas[0]}'; write them "
                f"with a decimal point and without thousands separators",
            )
            return
        fit.leave_out(
            column,
            f"{len(values):,} distinct values in {len(names):,} rows do not look like categories; "
            f"use its words with {option_for('text', column)}, or force it with "
            f"{option_for('category', column)}",
        )
        return
    missing = int((names == "").sum())
    if len(values) < 2 and not missing:  # one value, here and there, tells the rows that have it
        fit.leave_out(column, _same(column, missing))
        return
    fit.blocks.append(Category(column, tuple(values)))
    more = f"; {missing:,} missing, all zero" if missing else ""
    count = "1 value" if len(values) == 1 else f"{len(values):,} values"
    fit.use(column, "category", f"{count}{more}")


def _is_prose(values: Sequence[str]) -> bool:
    """Return whether distinct values are texts whose words say something about other rows.

    At least half of them have two words or more, and at least half of the words that they have
    in all occur in another value, too. Only words with a letter count, unless all values are
    lists of whole numbers: then these are the words, and 90 % of them must occur in another value,
    as those of telephone numbers do not.
    """
    is_list = _are_number_lists(values)
    word_lists = [
        {word for word in value.lower().split() if is_list or _LETTER.search(word)}
        for value in values
    ]
    spread = Counter(word for text in word_lists for word in text)
    shared = sum(count for count in spread.values() if count > 1)
    return (
        len(values) >= _MANY
        and 2 * sum(len(text) > 1 for text in word_lists) >= len(values)
        and shared >= (_SHARED_NUMBERS if is_list else _SHARED_WORDS) * spread.total()
    )


def _are_number_lists(values: Iterable[str]) -> bool:
    """Return whether all values are whole numbers with spaces between them."""
    return all(_WHOLE_NUMBERS.fullmatch(value.strip()) for value in values)


def _fit_words(fit: Fit, table: NodeTable, column: str) -> None:
    texts = table.texts(column)
    weigher = word_weigher(
        max_features=_MOST_WORDS,
        min_df=2 if len(texts) >= 100 else 1,
        # A single letter says nothing, but 7 is an id like 77.
        token_pattern=r"(?u)\b\w+\b" if _are_number_lists(texts) else r"(?u)\b\w\w+\b",
    )
    try:
        weigher.fit(texts)
    except ValueError as error:
        raise DataError(f"{table.where(column)} holds no words to learn from: {error}.") from error
    vocabulary = tuple(str(word) for word in weigher.get_feature_names_out())
    fit.blocks.append(Words(column, vocabulary, tuple(weigher.idf_.astype(float).tolist())))
    fit.use(column, "text", f"TF-IDF of {len(vocabulary):,} words")
