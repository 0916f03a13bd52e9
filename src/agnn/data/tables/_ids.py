"""The ids of nodes: checked once, and looked up by the edges of tables."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from agnn.data._labels import id_text
from agnn.data._node_data import NodeData
from agnn.data._wording import row_list
from agnn.data.tables._columns import (
    codes_and_words,
    has_no_id,
    holds_text,
    is_encoded,
    plain_text,
)
from agnn.errors import DataError


class Ids(Protocol):
    """Ids of nodes that edges can be looked up in."""

    where: str
    """The table and its column, as messages name them."""

    def positions_of_both(self, first: Any, second: Any) -> NDArray[np.int64]:
        """Return the positions that two series of ids name; -1 for none; [2, k]."""


def check_no_missing(rows: NDArray[np.int64], where: str, hint: str = "") -> None:
    """Raise if there are `rows` without an id."""
    if rows.size:
        raise DataError(f"{where}: the id is missing in {row_list(rows)}.{hint}")


def repeated_id_error(
    node: Hashable, rows: Any, repetitions: int, where: str, hint: str = ""
) -> DataError:
    """Return the error for an id in several `rows`; `repetitions` counts those of all ids."""
    unlisted = repetitions - (len(rows) - 1)
    more = f" ({unlisted:,} more rows repeat other ids)" if unlisted else ""
    return DataError(f"{where}: the id {node!r} is in {row_list(rows)}{more}.{hint}")


def check_distinct(values: Any, where: str, hint: str = "") -> None:
    """Raise for a series of ids in which one occurs twice."""
    is_repeated = values.duplicated(keep=False).to_numpy()
    if not is_repeated.any():
        return
    twins = values[is_repeated].tolist()
    rows = np.flatnonzero(is_repeated)[[twin == twins[0] for twin in twins]]
    raise repeated_id_error(twins[0], rows, int(values.duplicated().sum()), where, hint)


class NodeIndex:
    """The ids of the nodes; a missing id and an id that occurs twice are refused.

    `values` is a series: the column `column` of the table that messages call `place`. `hint` ends
    the message where they are refused.

    An id that is a number in one table and text in another is found by its text, 7 by "7", unless
    two ids have the same text.
    """

    def __init__(self, values: Any, place: str, column: str, hint: str = "") -> None:
        self.column = column
        self.where = f"{place}, column '{column}'"
        self._values = plain_text(values)
        if not holds_text(self._values) and self._values.dtype == object:
            _check_hashable(self._values, self.where)
        check_no_missing(np.flatnonzero(has_no_id(self._values)), self.where, hint)
        self.is_text = holds_text(self._values)
        if len(self._unique()) < len(self._values):
            check_distinct(self._values, self.where, hint)

    @cached_property
    def ids(self) -> tuple[Hashable, ...]:
        """[n] The ids as Python's own values."""
        return tuple(self._values.tolist())

    def positions_of_both(self, first: Any, second: Any) -> NDArray[np.int64]:
        """Return `positions` of two series of the same length; [2, k]."""
        if not (is_encoded(first) and is_encoded(second)):
            return np.stack([self.positions(first), self.positions(second)])
        # One look-up for both: pyarrow builds its table of all ids anew for each.
        encoded = [codes_and_words(values) for values in (first, second)]
        words = pd.concat([column.words for column in encoded], ignore_index=True)
        parts = np.split(self.positions(words), [len(encoded[0].words)])
        return np.stack(
            [np.append(part, -1)[column.codes] for part, column in zip(parts, encoded, strict=True)]
        )

    def positions(self, values: Any) -> NDArray[np.int64]:
        """Return the position of the node that each value of a series names; -1 for none."""
        if is_encoded(values):
            codes, words = codes_and_words(values)
            by_code = np.append(self.positions(words), -1)
            decoded: NDArray[np.int64] = by_code[codes]  # a missing value has the code -1
            return decoded
        if self.is_text and holds_text(values):
            return self._positions_of_text(values)
        try:
            ids = pd.Index(values, tupleize_cols=False)
            positions = np.array(self._index.get_indexer(ids), dtype=np.int64)
        except TypeError:  # lists and the like, which no id can be
            positions = np.full(len(values), -1, dtype=np.int64)
        unknown = np.flatnonzero((positions < 0) & ~has_no_id(values))
        if unknown.size and self._by_text is not None:
            texts = [id_text(value) for value in values.iloc[unknown].tolist()]
            positions[unknown] = self._by_text.get_indexer(pd.Index(texts, dtype=object))
        return positions

    @cached_property
    def _by_text(self) -> Any:
        """The ids as text; None if two ids have the same text."""
        index = pd.Index([id_text(node_id) for node_id in self.ids], dtype=object)
        return index if index.is_unique else None

    def _positions_of_text(self, values: Any) -> NDArray[np.int64]:
        texts = pa.array(values, from_pandas=True)
        indices = pc.index_in(texts.cast(self._text.type), value_set=self._text)
        # No id is missing, so a missing value has no position.
        positions: NDArray[np.int64] = indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return positions.astype(np.int64)

    @cached_property
    def _text(self) -> Any:
        return pa.array(self._values, from_pandas=True).cast(pa.large_string())

    def _unique(self) -> Any:
        """Return the ids, each once."""
        return self._text.unique() if self.is_text else self._index.unique()

    @cached_property
    def _index(self) -> Any:
        # Tuples are ids like any other, not levels of an index.
        return pd.Index(self._values, tupleize_cols=False)


class GrownIndex:
    """The ids of known data followed by new ones; an id that is in both is refused.

    The known ids are looked up in the data, where their index is made once.
    """

    def __init__(self, data: NodeData, new: NodeIndex) -> None:
        self.data = data
        self.new = new
        self.where = f"'{data.name}' or {new.where}"
        for row, node in enumerate(new.ids):
            if data.index_of(node) is not None:
                raise DataError(
                    f"{new.where}, row {row + 1}: the id {node!r} is in '{data.name}' already; new "
                    f"nodes need new ids."
                )

    @property
    def ids(self) -> tuple[Hashable, ...]:
        """The known ids, then the new ones."""
        return (*self.data.node_ids, *self.new.ids)

    def positions_of_both(self, first: Any, second: Any) -> NDArray[np.int64]:
        """Return the positions that two series of ids name; -1 for none; [2, k]."""
        return np.stack([self._positions(first), self._positions(second)])

    def _positions(self, values: Any) -> NDArray[np.int64]:
        among_new = self.new.positions(values)
        positions = np.where(among_new < 0, -1, among_new + self.data.nodes)
        rows = np.flatnonzero(among_new < 0)
        indices = [self.data.index_of(text) for text in plain_text(values).iloc[rows].tolist()]
        positions[rows] = [-1 if position is None else position for position in indices]
        return positions


def _check_hashable(values: Any, where: str) -> None:
    for row, value in enumerate(values.tolist()):
        try:
            hash(value)
        except TypeError as error:
            kind = type(value).__name__
            raise DataError(
                f"{where}, {row_list([row])}: an id must be text or a number; got {kind}."
            ) from error
