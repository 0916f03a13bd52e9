"""The user's ids, all different, and where each stands."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from agnn.data.encoded_text import codes_and_words, is_encoded, plain_text
from agnn.data.packages import tables_package
from agnn.data.reading import shown_rows
from agnn.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class NodeIndex:
    """The ids of the nodes; an id that is missing or there twice is refused.

    `values` is a pandas series: the column `column` of the table that messages call `place`. `hint`
    ends the message where they are refused.
    """

    def __init__(self, values: Any, place: str, column: str, hint: str = "") -> None:
        self.place, self.column, self.hint = place, column, hint
        self.where = where = f"{place}, column '{column}'"
        self._values = plain_text(values)
        missing = np.flatnonzero(is_missing(self._values))
        if missing.size:
            raise DataError(f"{where}: the id is missing in {shown_rows(missing)}.{hint}")
        self.is_text = holds_text(self._values)
        if len(self._unique()) < len(self._values):
            self._name_the_twins()

    @cached_property
    def ids(self) -> tuple[Hashable, ...]:
        """[n] The ids as Python's own values."""
        return tuple(self._values.tolist())

    def positions_of_both(self, first: Any, second: Any) -> NDArray[np.int64]:
        """[2, k] `positions` of two series of the same length."""
        if not (is_encoded(first) and is_encoded(second)):
            return np.stack([self.positions(first), self.positions(second)])
        # One look-up for both: pyarrow sorts all ids into a table anew for each.
        pandas = tables_package("pandas")
        encoded = [codes_and_words(values) for values in (first, second)]
        words = pandas.concat([each.words for each in encoded], ignore_index=True)
        places = self.positions(words)
        parts = np.split(places, [len(encoded[0].words)])
        return np.stack(
            [np.append(part, -1)[each.codes] for part, each in zip(parts, encoded, strict=True)]
        )

    def positions(self, values: Any) -> NDArray[np.int64]:
        """The position of the node that each value of a pandas series names; -1 for none."""
        pandas = tables_package("pandas")
        if is_encoded(values):
            codes, words = codes_and_words(values)
            by_code = np.append(self.positions(words), -1)
            decoded: NDArray[np.int64] = by_code[codes]  # a missing value has the code -1
            return decoded
        if self.is_text and holds_text(values):
            return self._positions_of_text(values)
        given = pandas.Index(values, tupleize_cols=False)
        found: NDArray[np.int64] = self._index.get_indexer(given).astype(np.int64)
        return found

    def _positions_of_text(self, values: Any) -> NDArray[np.int64]:
        compute = tables_package("pyarrow.compute")
        given = tables_package("pyarrow").array(values, from_pandas=True)
        found = compute.index_in(given.cast(self._text.type), value_set=self._text)
        # A missing value would be found where another one is: there is none among the ids.
        positions: NDArray[np.int64] = found.fill_null(-1).to_numpy(zero_copy_only=False)
        return positions.astype(np.int64)

    @cached_property
    def _text(self) -> Any:
        arrow = tables_package("pyarrow")
        array = arrow.array(self._values, from_pandas=True)
        return array.cast(arrow.large_string())

    def _unique(self) -> Any:
        """The ids, each once."""
        if self.is_text:
            return self._text.unique()
        return self._index.unique()

    @cached_property
    def _index(self) -> Any:
        pandas = tables_package("pandas")
        try:
            # Tuples are ids like any other, not levels of an index.
            return pandas.Index(self._values, tupleize_cols=False)
        except TypeError as error:
            raise DataError(f"{self.where}: an id is not hashable: {error}.") from error

    def _name_the_twins(self) -> None:
        twin = self._values.duplicated(keep=False).to_numpy()
        first = self._values[twin].tolist()[0]
        rows = np.flatnonzero([value == first for value in self._values.tolist()])
        others = int(self._values.duplicated().sum()) - (rows.size - 1)
        more = f" ({others:,} more rows repeat other ids)" if others else ""
        raise DataError(
            f"{self.where}: the id {first!r} is in {shown_rows(rows)}{more}.{self.hint}"
        )


def holds_text(values: Any) -> bool:
    """Whether a series holds text and nothing else, missing values aside."""
    pandas = tables_package("pandas")
    if isinstance(values.dtype, pandas.StringDtype):
        return True
    if values.dtype != object:
        return False
    return bool(pandas.api.types.infer_dtype(values, skipna=True) in ("string", "empty"))


def is_missing(values: Any) -> NDArray[np.bool_]:
    """Where a series has no value, or an empty text."""
    blank: NDArray[np.bool_] = values.isna().to_numpy(dtype=bool)
    if holds_text(values):
        blank = blank | (values == "").fillna(True).to_numpy(dtype=bool)
    return blank
