"""The edges of a table, whose ends are ids of nodes: checked and turned into positions."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from agnn.data._edges import unusable_weight
from agnn.data._options import ReadOptions, check_columns, option_for
from agnn.data._report import ColumnUse
from agnn.data.tables._columns import NodeTable, has_no_id, is_blank, numbers_in, plain_text
from agnn.data.tables._ids import Ids, NodeIndex
from agnn.data.tables._source import TableSource
from agnn.errors import DataError

_ENDS: Final = (
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("sender", "receiver"),
    ("u", "v"),
)
_SHOWN: Final = 3  # edges with an unknown id that a message names
_LOOKED_UP: Final = 10_000  # edges with an unknown id that are looked up in other columns
_NEARLY_ALL: Final = 0.95
_NAMES: Final = ("id", "key")  # numbers in columns called so are names, as in GEXF and NetworkX


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
    edges: TableSource, index: Ids, options: ReadOptions, nodes: NodeTable | None = None
) -> EdgeEntries:
    """Return the edges of a table whose ends are ids of `index`.

    Where they are not, another column of the table `nodes` may hold them; the error names it.
    """
    ends = ends_of(edges, options)
    ids = EndCheck(edges, ends, index.where)
    column = options.edge_weight
    given_weights = None if column is None else GivenWeights(edges, column, ends)
    numbers = [np.empty(0)]
    weights = Weights(edges, (*ends, column))
    columns = [*ends, *weights.columns, *(() if column is None else (column,))]
    entries = [np.empty((2, 0), dtype=np.int64)]
    rows = [np.empty(0, dtype=np.int64)]
    for frame in edges.batches(columns):
        batch = look_up(frame, ends, index, ids.rows)
        rows.append(np.delete(np.arange(ids.rows, ids.rows + len(frame)), batch.unknown))
        entries.append(ids.take(batch))
        weights.look_at(frame)
        if given_weights is not None:
            numbers.append(np.delete(given_weights.take(frame), batch.unknown))
    links = EdgeEntries(np.concatenate(entries, axis=1), np.concatenate(rows))
    links.uses += [ColumnUse("edges", ends[0], "source"), ColumnUse("edges", ends[1], "target")]
    links.notes += ids.finish(drop_unknown=options.drop_unknown, nodes=nodes)
    links.dropped = ids.unknown
    if given_weights is not None:
        links.weights = np.concatenate(numbers)
        links.uses.append(ColumnUse("edges", given_weights.column, "weight"))
    links.uses += weights.settle(
        edges.place, ignore=options.ignore_weights, is_named=given_weights is not None
    )
    return links


def ends_of(edges: TableSource, options: ReadOptions) -> tuple[str, str]:
    """Return the two columns that name the ends of an edge."""
    check_columns(edges.place, edges.columns, [options.source, options.target])
    lower = {name.lower(): name for name in edges.columns}
    named_ends = [end for end in (options.source, options.target) if end is not None]
    if len(named_ends) < 2:
        usual = next((pair for pair in _ENDS if set(pair) <= set(lower)), None)
        pair = [lower[end] for end in usual] if usual else [name for name in edges.columns if name]
        free = [name for name in pair if name not in named_ends]
        ends_by_option = [options.source, options.target]
        if len(free) < ends_by_option.count(None):
            raise DataError(f"{edges.place} must have two columns of ids; it has {len(pair)}.")
        ends = [end or free.pop(0) for end in ends_by_option]
    else:
        ends = named_ends
    if ends[0] == ends[1]:
        raise DataError(f"{edges.place}: source and target are the same column, '{ends[0]}'.")
    return ends[0], ends[1]


class EdgeBatch(NamedTuple):
    """Some edges, in any order, as positions of nodes."""

    positions: NDArray[np.int64]  # [2, k], -1 for an id that no node has
    unknown: NDArray[np.int64]  # [u] those of the k edges with such an id
    unknown_ends: pd.DataFrame  # [u, 2] their ids as given; indexed by their row in the table


def look_up(frame: pd.DataFrame, ends: tuple[str, str], index: Ids, first_row: int) -> EdgeBatch:
    """Return the edges of a frame, which stands at `first_row` in its table."""
    positions = index.positions_of_both(frame[ends[0]], frame[ends[1]])
    unknown = np.flatnonzero((positions < 0).any(axis=0))
    unknown_ends = frame.iloc[unknown][list(ends)].set_axis(unknown + first_row)
    return EdgeBatch(positions, unknown, unknown_ends)


class EndCheck:
    """The edges of a table counted batch by batch, with those that name an unknown id.

    A missing id is refused at once. `where` says which column has the known ids.
    """

    def __init__(self, edges: TableSource, ends: tuple[str, str], where: str) -> None:
        self.rows = 0
        self.unknown = 0
        self._edges = edges
        self._ends = ends
        self._where = where
        self._examples: list[tuple[int, str]] = []  # row and text, the first few rows
        self._first_unknown: pd.DataFrame | None = None

    def take(self, batch: EdgeBatch) -> NDArray[np.int64]:
        """Count a batch; return the positions of the edges whose ids are known."""
        self.rows += batch.positions.shape[1]
        if not batch.unknown.size:
            return batch.positions
        ends = batch.unknown_ends
        for column in self._ends:
            gaps = ends.index[has_no_id(plain_text(ends[column]))]
            if gaps.size:
                raise DataError(
                    f"{self._edges.place}, column '{column}', row {gaps.min() + 1}: the id is "
                    f"missing."
                )
        self.unknown += batch.unknown.size
        if self._first_unknown is None:
            self._first_unknown = ends.iloc[:_LOOKED_UP]
        is_second = batch.positions[0, batch.unknown] >= 0
        for k in np.argsort(ends.index, kind="stable")[:_SHOWN].tolist():
            column = self._ends[int(is_second[k])]
            (value,) = ends[column].iloc[[k]].tolist()  # Python's own, not NumPy's
            row = int(ends.index[k])
            self._examples.append((row, f"row {row + 1} {value!r} in column '{column}'"))
        self._examples = sorted(self._examples)[:_SHOWN]
        return np.delete(batch.positions, batch.unknown, axis=1)

    def finish(self, *, drop_unknown: bool, nodes: NodeTable | None = None) -> list[str]:
        """Return a note on the edges left out; raise if there may be none, or there is no edge."""
        place = self._edges.place
        if not self.rows and not self._edges.may_be_empty:
            raise DataError(f"{place} has no rows.")
        if not self.unknown:
            return []
        examples = ", ".join(text for _, text in self._examples)
        subject = f"{place}: {self.unknown:,} of {self.rows:,} edges name an id that"
        if drop_unknown:
            return [f"{subject} no node has and are left out: {examples}."]
        hint = ""
        if 2 * self.unknown > self.rows and nodes is not None:
            hint = self._better_column(nodes)
        if not hint:
            if self.unknown == self.rows:
                hint = " No id is known: are these the right columns?"
            hint += f" Add the nodes, or leave such edges out with {option_for('drop_unknown')}."
        raise DataError(f"{subject} is not in {self._where}: {examples}.{hint}")

    def _better_column(self, nodes: NodeTable) -> str:
        """Return a hint at another column of the node table that has the ids of these edges."""
        assert self._first_unknown is not None  # noqa: S101 (some id is unknown)
        ends = [self._first_unknown[end] for end in self._ends]
        for column in nodes.columns:
            try:
                index = NodeIndex(nodes.column(column), "", column)
            except DataError:  # its values are not all there and different
                continue
            share = (index.positions_of_both(*ends) >= 0).mean()
            if share >= _NEARLY_ALL:
                count = "All" if share == 1 else "Nearly all"
                return (
                    f" {count} of them are in column '{column}': name it as "
                    f"{option_for('node_id', column)}."
                )
        return ""


class GivenWeights:
    """The numbers of the column that the user named as weights, batch by batch."""

    def __init__(self, edges: TableSource, column: str, ends: tuple[str, str]) -> None:
        check_columns(edges.place, edges.columns, [column])
        if column in ends:
            raise DataError(f"{edges.place}: column '{column}' holds ids, so it has no weights.")
        self.column = column
        self.where = f"{edges.place}, column '{column}'"
        self._has_decimal_commas = edges.has_decimal_commas
        self._rows = 0

    def take(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Return the weights of the next batch; one that no edge can have is refused by its row."""
        values = plain_text(frame[self.column])
        numbers = numbers_in(values, decimal_commas=self._has_decimal_commas)
        unusable = unusable_weight(numbers)
        if unusable is not None:
            reason = unusable.reason
            if np.isnan(numbers[unusable.place]):
                blank = bool(is_blank(values)[unusable.place])
                text = str(values.iloc[unusable.place])[:40]
                reason = "the weight is missing." if blank else f"'{text}' is not a number."
            raise DataError(f"{self.where}, row {self._rows + unusable.place + 1}: {reason}")
        self._rows += len(frame)
        return numbers


class Weights:
    """Which further columns of an edge table hold numbers that differ, batch by batch."""

    def __init__(self, edges: TableSource, used_columns: Container[str | None]) -> None:
        self.columns = [name for name in edges.columns if name and name not in used_columns]
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

    def settle(self, place: str, *, ignore: bool, is_named: bool = False) -> list[ColumnUse]:
        """Return the use of each column; what looks like weights must be named or ignored.

        Where another column is named as the weights, these are edge features.
        """
        heavy = [] if is_named else sorted(self._differing - self._words)
        if heavy and not ignore:
            raise DataError(
                f"{place}, column '{heavy[0]}': numbers at the edges look like weights. Use them "
                f"with {option_for('edge_weight', heavy[0])}, or leave them out with "
                f"{option_for('ignore_weights')}."
            )
        why = dict.fromkeys(heavy, "a weight, ignored as requested")
        return [
            ColumnUse("edges", name, "left out", why.get(name, "edge features are not supported"))
            for name in self.columns
        ]
