"""The columns of a node table, as numbers or as names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from agnn.data.encoded_text import plain_text
from agnn.data.node_index import holds_text
from agnn.data.packages import tables_package
from agnn.data.reading import shown_rows
from agnn.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MISSING: Final = (
    "", "nan", "NaN", "NAN", "NA", "na", "N/A", "n/a", "null", "NULL", "Null", "none", "None", "?",
)  # fmt: skip
"""How people write that a value is missing."""


# Squares and sums of larger numbers overflow.
_LARGEST: Final = 1e30


@dataclass(frozen=True, eq=False)
class NodeTable:
    """A pandas frame with one row a node, and where it came from."""

    frame: Any
    place: str
    is_untyped: bool = False
    _known: dict[str, NDArray[np.float64]] = field(default_factory=dict, repr=False)

    def where(self, column: str) -> str:
        """A column as messages name it."""
        return f"{self.place}, column '{column}'"

    def numbers(self, column: str) -> NDArray[np.float64]:
        """[n] the values as numbers, NaN where there is none; text among them is refused."""
        values = plain_text(self.frame[column])
        found = self._parsed(column, values)
        gaps = np.isnan(found)
        words = gaps & ~is_blank(values) if gaps.any() else gaps
        bad = np.flatnonzero(words)
        if bad.size:
            raise DataError(
                f"{self.where(column)}, {shown_rows(bad)}: '{str(values.iloc[bad[0]])[:40]}' is "
                f"no number, and the column has numbers in other rows. Mend it, or take the whole "
                f"column as names with --category {column}, or leave it out with --ignore {column}."
            )
        huge = np.flatnonzero(np.abs(found) > _LARGEST)  # NaN compares as false
        if huge.size:
            value = found[huge[0]]
            said = "endless" if np.isinf(value) else f"{value:g}, too large to compute with"
            raise DataError(f"{self.where(column)}, {shown_rows(huge)}: the number is {said}.")
        return found

    def names(self, column: str) -> Any:
        """A pandas series of text, "" where there is no value."""
        values = plain_text(self.frame[column])
        if not holds_text(values):
            values = values.astype(object).where(values.notna(), "").astype(str).str.strip()
        return values.where(~is_blank(values), "")

    def texts(self, column: str) -> list[str]:
        """The sentences of a column, "" where there is none."""
        values = plain_text(self.frame[column])
        found: list[str] = values.astype(object).where(values.notna(), "").astype(str).tolist()
        return found

    def kind(self, column: str) -> str:
        """What a column holds: number, category, empty, date or other."""
        values = plain_text(self.frame[column])
        types = tables_package("pandas").api.types
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
        share = np.isfinite(self._parsed(column, values)).sum() / (~blank).sum()
        # Mostly numbers: a few words in it are somebody's mistake, and `numbers` names them.
        return "number" if share > 0.5 else "category"

    def _parsed(self, column: str, values: Any) -> NDArray[np.float64]:
        """`numbers_in`, kept for text: it is asked for three times, and parsing takes long."""
        if not self.is_untyped:
            return numbers_in(values)
        if column not in self._known:
            self._known[column] = numbers_in(values)
        return self._known[column]


def numbers_in(values: Any) -> NDArray[np.float64]:
    """[n] the numbers in a series; NaN for everything else."""
    pandas = tables_package("pandas")
    if pandas.api.types.is_numeric_dtype(values):
        typed: NDArray[np.float64] = values.to_numpy(dtype=np.float64, na_value=np.nan)
        return typed
    if holds_text(values):
        arrow, compute = tables_package("pyarrow"), tables_package("pyarrow.compute")
        text = _arrow_text(values)
        try:
            cast = compute.if_else(_blank_text(text), None, text).cast(arrow.float64())
            return np.asarray(cast.to_numpy(zero_copy_only=False), dtype=np.float64)
        except arrow.ArrowInvalid:  # pyarrow stops at the first word; pandas goes on
            pass
    known = values.where(~is_blank(values), None)
    coerced = pandas.to_numeric(known, errors="coerce")
    return np.asarray(coerced.to_numpy(dtype=np.float64, na_value=np.nan))


def is_blank(values: Any) -> NDArray[np.bool_]:
    """Where a series has no value, or a word for it."""
    if holds_text(values):
        found: NDArray[np.bool_] = _blank_text(_arrow_text(values)).to_numpy(zero_copy_only=False)
        return found
    blank: NDArray[np.bool_] = values.isna().to_numpy(dtype=bool)
    if values.dtype == object:
        as_text = values.where(values.notna(), "").astype(str)
        blank = blank | as_text.isin(MISSING).to_numpy(dtype=bool)
    return blank


def _arrow_text(values: Any) -> Any:
    arrow = tables_package("pyarrow")
    return arrow.array(values, from_pandas=True).cast(arrow.large_string())


def _blank_text(text: Any) -> Any:
    compute, arrow = tables_package("pyarrow.compute"), tables_package("pyarrow")
    words = arrow.array([*MISSING, None], type=text.type)
    return compute.is_in(text, value_set=words)


def _is_mixture(values: Any) -> bool:
    """Whether every value is text, a number or missing: no lists, no objects."""
    plain = (str, int, float, bool, np.number, np.bool_, type(None))
    return all(isinstance(value, plain) for value in values.tolist())
