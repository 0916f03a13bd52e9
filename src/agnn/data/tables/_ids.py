"""Node ids, and the edges of a table whose ends name them."""

from __future__ import annotations

from collections.abc import Container, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from agnn.data._edges import unusable_weight
from agnn.data._labels import id_text
from agnn.data._options import ReadOptions, check_columns, option_for
from agnn.data._report import ColumnUse, shown_rows
from agnn.data.tables._columns import (
    codes_and_words,
    has_no_id,
    holds_text,
    is_blank,
    is_encoded,
    numbers_in,
    plain_text,
)
from agnn.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.data.tables._source import TableSource

_ENDS: Final = (
    ("source", "target"), ("src", "dst"), ("from", "to"), ("sender", "receiver"), ("u", "v"),
)  # fmt: skip
_EXAMPLES: Final = 10_000  # edges with an unknown id that are looked up in other columns
_NEARLY_ALL: Final = 0.95
_NAMES: Final = ("id", "key")  # numbers in columns called so are names, as in GEXF and NetworkX


class Ids(Protocol):
    """Ids of nodes that edges can be looked up in."""

    where: str

    @property
    def ids(self) -> tuple[Hashable, ...]:
        """[n] The ids."""

    def positions_of_both(self, first: Any, second: Any) -> NDArray[np.int64]:
        """[2, k] The positions that two series of ids name; -1 for none."""


class NodeIndex:
    """The ids of the nodes; a missing id and an id that occurs twice are refused.

    `values` is a series: the column `column` of the table that messages call `place`. `hint` ends
    the message where they are refused.

    An id that is a number in one table and text in another is found by its text, 7 by "7", unless
    two ids have the same text.
    """

    def __init__(self, values: Any, place: str, column: str, hint: str = "") -> None:
        self.place, self.column, self.hint = place, column, hint
        self.where = where = f"{place}, column '{column}'"
        self._values = plain_text(values)
        if not holds_text(self._values) and self._values.dtype == object:
            _check_hashable(self._values, where)
        missing = np.flatnonzero(has_no_id(self._values))
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
        # One look-up for both: pyarrow builds its table of all ids anew for each.
        encoded = [codes_and_words(values) for values in (first, second)]
        words = pd.concat([each.words for each in encoded], ignore_index=True)
        parts = np.split(self.positions(words), [len(encoded[0].words)])
        return np.stack(
            [np.append(part, -1)[each.codes] for part, each in zip(parts, encoded, strict=True)]
        )

    def positions(self, values: Any) -> NDArray[np.int64]:
        """The position of the node that each value of a series names; -1 for none."""
        if is_encoded(values):
            codes, words = codes_and_words(values)
            by_code = np.append(self.positions(words), -1)
            decoded: NDArray[np.int64] = by_code[codes]  # a missing value has the code -1
            return decoded
        if self.is_text and holds_text(values):
            return self._positions_of_text(values)
        try:
            given = pd.Index(values, tupleize_cols=False)
            found = np.array(self._index.get_indexer(given), dtype=np.int64)
        except TypeError:  # lists and the like, which no id can be
            found = np.full(len(values), -1, dtype=np.int64)
        unknown = np.flatnonzero((found < 0) & ~has_no_id(values))
        if unknown.size and self._by_text is not None:
            texts = [id_text(value) for value in values.iloc[unknown].tolist()]
            found[unknown] = self._by_text.get_indexer(pd.Index(texts, dtype=object))
        return found

    @cached_property
    def _by_text(self) -> Any:
        """The ids as text; None if two ids have the same text."""
        index = pd.Index([id_text(each) for each in self.ids], dtype=object)
        return index if index.is_unique else None

    def _positions_of_text(self, values: Any) -> NDArray[np.int64]:
        given = pa.array(values, from_pandas=True)
        found = pc.index_in(given.cast(self._text.type), value_set=self._text)
        # No id is missing, so a missing value has no position.
        positions: NDArray[np.int64] = found.fill_null(-1).to_numpy(zero_copy_only=False)
        return positions.astype(np.int64)

    @cached_property
    def _text(self) -> Any:
        return pa.array(self._values, from_pandas=True).cast(pa.large_string())

    def _unique(self) -> Any:
        """The ids, each once."""
        return self._text.unique() if self.is_text else self._index.unique()

    @cached_property
    def _index(self) -> Any:
        # Tuples are ids like any other, not levels of an index.
        return pd.Index(self._values, tupleize_cols=False)

    def _name_the_twins(self) -> None:
        twin = self._values.duplicated(keep=False).to_numpy()
        first = self._values[twin].tolist()[0]
        rows = np.flatnonzero([value == first for value in self._values.tolist()])
        others = int(self._values.duplicated().sum()) - (rows.size - 1)
        more = f" ({others:,} more rows repeat other ids)" if others else ""
        raise DataError(
            f"{self.where}: the id {first!r} is in {shown_rows(rows)}{more}.{self.hint}"
        )


def _check_hashable(values: Any, where: str) -> None:
    for row, value in enumerate(values.tolist()):
        try:
            hash(value)
        except TypeError as error:
            kind = type(value).__name__
            raise DataError(
                f"{where}, {shown_rows([row])}: an id must be text or a number; got {kind}."
            ) from error


@dataclass
class EdgeEntries:
    """Edges as positions of nodes, and what was left out."""

    entries: NDArray[np.int64]  # [2, k]
    rows: NDArray[np.int64]  # [k] the row of the table that each came from
    uses: list[ColumnUse] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    dropped: int = 0
    weights: NDArray[np.float64] | None = None  # [k] where a column of weights was named


def edge_entries(
    edges: TableSource, index: Ids, options: ReadOptions, nodes: pd.DataFrame | None = None
) -> EdgeEntries:
    """The edges of a table whose ends are ids of `index`.

    Where they are not, another column of the table `nodes` may hold them; the error names it.
    """
    source, target = ends_of(edges, options)
    parts = _Parts(edges.place, (source, target), index)
    column = options.edge_weight
    given = None if column is None else _GivenWeights(edges, column, (source, target))
    taken = (source, target, column)
    weights = Weights(edges, taken)
    wanted = [source, target, *weights.columns, *(() if column is None else (column,))]
    for frame in edges.batches(wanted):
        parts.add(frame)
        weights.look_at(frame)
        if given is not None:
            given.add(frame)
    if not parts.rows and not edges.may_be_empty:
        raise DataError(f"{edges.place} has no rows.")
    found = EdgeEntries(parts.entries(), parts.kept_rows())
    found.uses += [ColumnUse("edges", source, "source"), ColumnUse("edges", target, "target")]
    if parts.unknown:
        if not options.drop_unknown:
            raise DataError(parts.complaint(nodes))
        found.dropped = parts.unknown
        found.notes.append(parts.remark())
    if given is not None:
        found.weights = given.numbers()[found.rows]
        found.uses.append(ColumnUse("edges", given.column, "weight"))
    found.uses += weights.settled(
        edges.place, ignore=options.ignore_weights, is_named=given is not None
    )
    return found


def ends_of(edges: TableSource, options: ReadOptions) -> tuple[str, str]:
    check_columns(edges.place, edges.columns, [options.source, options.target])
    lower = {name.lower(): name for name in edges.columns}
    given = [end for end in (options.source, options.target) if end is not None]
    if len(given) < 2:
        usual = next((pair for pair in _ENDS if set(pair) <= set(lower)), None)
        pair = [lower[end] for end in usual] if usual else [name for name in edges.columns if name]
        free = [name for name in pair if name not in given]
        wanted = [options.source, options.target]
        if len(free) < wanted.count(None):
            raise DataError(f"{edges.place} must have two columns of ids; it has {len(pair)}.")
        ends = [end or free.pop(0) for end in wanted]
    else:
        ends = given
    if ends[0] == ends[1]:
        raise DataError(f"{edges.place}: source and target are the same column, '{ends[0]}'.")
    return ends[0], ends[1]


class _Parts:
    """Positions batch by batch, and the first few rows with an unknown id."""

    def __init__(self, place: str, ends: tuple[str, str], index: Ids) -> None:
        self.place, self.ends, self.index = place, ends, index
        self.found: list[NDArray[np.int64]] = []
        self.dropped: list[NDArray[np.int64]] = []
        self.rows = self.unknown = 0
        self.examples: list[str] = []
        self.example_ends: tuple[Any, Any] | None = None

    def add(self, frame: pd.DataFrame) -> None:
        both = self.index.positions_of_both(*(frame[end] for end in self.ends))
        bad = np.flatnonzero((both < 0).any(axis=0))
        if bad.size:
            self._check_gaps(frame)
            self.unknown += bad.size
            if self.example_ends is None:
                first, second = (frame[end].iloc[bad[:_EXAMPLES]] for end in self.ends)
                self.example_ends = first, second
            for row in bad[: 3 - len(self.examples)]:
                end = self.ends[0] if both[0, row] < 0 else self.ends[1]
                (value,) = frame[end].iloc[[row]].tolist()  # Python's own, not NumPy's
                self.examples.append(f"row {self.rows + row + 1} {value!r} in column '{end}'")
            self.dropped.append(bad + self.rows)
            both = np.delete(both, bad, axis=1)
        self.rows += len(frame)
        self.found.append(both)

    def entries(self) -> NDArray[np.int64]:
        return np.concatenate([np.empty((2, 0), dtype=np.int64), *self.found], axis=1)

    def kept_rows(self) -> NDArray[np.int64]:
        gone = np.concatenate([np.empty(0, dtype=np.int64), *self.dropped])
        return np.delete(np.arange(self.rows), gone)

    def _check_gaps(self, frame: pd.DataFrame) -> None:
        for end in self.ends:
            gaps = np.flatnonzero(has_no_id(plain_text(frame[end])))
            if gaps.size:
                row = self.rows + int(gaps[0]) + 1
                raise DataError(f"{self.place}, column '{end}', row {row}: the id is missing.")

    def complaint(self, nodes: pd.DataFrame | None) -> str:
        hint = ""
        if 2 * self.unknown > self.rows and nodes is not None:
            hint = self._better_column(nodes)
        if not hint and self.unknown == self.rows:
            hint = " No id is known: are these the right columns?"
        return (
            f"{self.place}: {self.unknown:,} of {self.rows:,} edges name an id that is not in "
            f"{self.index.where}: {', '.join(self.examples)}.{hint} Add the nodes, or leave such "
            f"edges out with {option_for('drop_unknown')}."
        )

    def _better_column(self, nodes: pd.DataFrame) -> str:
        """A hint at another column of the node table that has the ids of these edges."""
        assert self.example_ends is not None  # noqa: S101 (some id is unknown)
        for column in nodes.columns:
            try:
                positions = NodeIndex(nodes[column], "", column).positions_of_both(
                    *self.example_ends
                )
            except DataError:  # its values are not all there and different
                continue
            share = (positions >= 0).mean()
            if share >= _NEARLY_ALL:
                count = "All" if share == 1 else "Nearly all"
                return (
                    f" {count} of them are in column '{column}': name it as "
                    f"{option_for('node_id', column)}."
                )
        return ""

    def remark(self) -> str:
        return (
            f"{self.place}: {self.unknown:,} of {self.rows:,} edges name an id that no node has "
            f"and are left out: {', '.join(self.examples)}."
        )


class _GivenWeights:
    """The numbers of the column that the user named as weights, batch by batch."""

    def __init__(self, edges: TableSource, column: str, ends: tuple[str, str]) -> None:
        check_columns(edges.place, edges.columns, [column])
        if column in ends:
            raise DataError(f"{edges.place}: column '{column}' holds ids, so it has no weights.")
        self.column, self.where = column, f"{edges.place}, column '{column}'"
        self._has_decimal_commas = edges.has_decimal_commas
        self._parts: list[NDArray[np.float64]] = []
        self._rows = 0

    def add(self, frame: pd.DataFrame) -> None:
        """Take one batch; a weight that no edge can have is refused with its row."""
        values = plain_text(frame[self.column])
        numbers = numbers_in(values, decimal_commas=self._has_decimal_commas)
        found = unusable_weight(numbers)
        if found is not None:
            reason = found.reason
            if np.isnan(numbers[found.place]):
                blank = bool(is_blank(values)[found.place])
                text = str(values.iloc[found.place])[:40]
                reason = "the weight is missing." if blank else f"'{text}' is not a number."
            raise DataError(f"{self.where}, row {self._rows + found.place + 1}: {reason}")
        self._parts.append(numbers)
        self._rows += len(frame)

    def numbers(self) -> NDArray[np.float64]:
        """[k] The weights of all rows."""
        return np.concatenate([np.empty(0), *self._parts])


class Weights:
    """Which further columns of an edge table hold numbers that differ, batch by batch."""

    def __init__(self, edges: TableSource, taken: Container[str | None]) -> None:
        self.columns = [name for name in edges.columns if name and name not in taken]
        self._has_decimal_commas = edges.has_decimal_commas
        self._first: dict[str, float] = {}
        self._differing: set[str] = set()
        self._words: set[str] = {name for name in self.columns if name.lower() in _NAMES}

    def look_at(self, frame: pd.DataFrame) -> None:
        """Take one batch into account."""
        for name in self.columns:
            if name in self._words or name in self._differing:
                continue
            values = plain_text(frame[name])
            numbers = numbers_in(values, decimal_commas=self._has_decimal_commas)
            known = numbers[~np.isnan(numbers)]
            filled = int((~is_blank(values)).sum())
            if known.size < filled / 2:
                self._words.add(name)
            elif known.size and (known != self._first.setdefault(name, float(known[0]))).any():
                self._differing.add(name)

    def settled(
        self, place: str, *, ignore: bool, is_named: bool = False, can_use: bool = True
    ) -> list[ColumnUse]:
        """The use of each column; what looks like weights must be named or ignored.

        Where another column is named as the weights, these are edge features.
        """
        heavy = [] if is_named else sorted(self._differing - self._words)
        if heavy and not ignore:
            use = f"Use them with {option_for('edge_weight', heavy[0])}, or leave"
            advice = use if can_use else "Tables that are read in parts keep none; leave"
            raise DataError(
                f"{place}, column '{heavy[0]}': numbers at the edges look like weights. {advice} "
                f"them out with {option_for('ignore_weights')}."
            )
        why = dict.fromkeys(heavy, "a weight, ignored as requested")
        return [
            ColumnUse("edges", name, "left out", why.get(name, "edge features are not supported"))
            for name in self.columns
        ]
