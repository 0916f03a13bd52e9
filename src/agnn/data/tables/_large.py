"""Tables larger than memory: columns one after the other, edges in batches, ids by DuckDB.

What is kept in memory is a few numbers per node: ids, labels and the columns being looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from agnn.data._labels import class_notes
from agnn.data._options import ReadOptions, check_columns
from agnn.data.preprocessing import Preprocessing, Source
from agnn.data.tables._columns import NodeTable, as_text, holds_text, plain_text
from agnn.data.tables._edge_table import EdgeBatch, EndCheck, Weights, ends_of, look_up
from agnn.data.tables._fit import fitted_features
from agnn.data.tables._ids import check_distinct, check_no_missing, repeated_id_error
from agnn.data.tables._read import feature_columns, find_ids, labels_of_table, splits_of_table
from agnn.data.tables._source import TableSource, open_table
from agnn.errors import AgnnError, DataError, InputError, UnavailableError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.data._features import SparseRows
    from agnn.data._labels import Labels

_CELL: Final = 40  # bytes of a cell in memory, about
_BATCH: Final = 250_000  # edges that DuckDB gives at once
_EDGE_SCHEMA: Final = pa.schema(
    [("source", pa.large_string()), ("target", pa.large_string()), ("row", pa.int64())]
)
_JOIN: Final = """
SELECT coalesce(a.position, -1), coalesce(b.position, -1), "row",
    CASE WHEN a.position IS NULL OR b.position IS NULL THEN source END,
    CASE WHEN a.position IS NULL OR b.position IS NULL THEN target END
FROM edges LEFT JOIN nodes a ON source = a.id LEFT JOIN nodes b ON target = b.id
"""


class LargeTables:
    """A table of nodes and one of edges that are never in memory as a whole."""

    def __init__(self, nodes: Path, edges: Path, options: ReadOptions, memory: int) -> None:
        if options.edge_weight is not None:
            raise InputError(
                "tables that are read in parts keep no edge weights; leave out `edge_weight` "
                "(--edge-weight)."
            )
        self.options = options
        self.memory = memory
        self.dropped = 0
        self.node_table = open_table(nodes, is_streamed=True)
        self.edge_table = open_table(edges, is_streamed=True)
        self.ends = ends_of(self.edge_table, options)
        id_use = find_ids(self.node_table, options)
        self.id_column = id_use.name
        guess = id_use.detail and f"Column '{id_use.name}' is taken as the id ({id_use.detail})."
        self.notes = [each for each in (guess, self.node_table.note, self.edge_table.note) if each]
        self._table: NodeTable | None = None

    @cached_property
    def ids(self) -> NDArray[np.int64] | pa.ChunkedArray:
        """[n] The ids: whole numbers if all of them are, else text."""
        parts = [
            _plain(frame[self.id_column]) for frame in self.node_table.batches([self.id_column])
        ]
        if not parts:
            raise DataError(f"{self.node_table.place} has no rows.")
        ids = pa.chunked_array([part.cast(parts[0].type) for part in parts])
        missing = pc.is_null(ids)
        if pa.types.is_large_string(ids.type):
            missing = pc.equal(pc.coalesce(ids, ""), "")
        check_no_missing(pc.indices_nonzero(missing).to_numpy().astype(np.int64), self._where)
        numbers, is_whole = _whole_numbers(ids)
        if not is_whole.all():
            return ids
        ordered = np.sort(numbers)  # not np.unique, which hashes and takes ten times as long
        if (ordered[1:] == ordered[:-1]).any():
            check_distinct(pd.Series(ids.to_pandas()), self._where)
        return numbers

    @property
    def _where(self) -> str:
        return f"{self.node_table.place}, column '{self.id_column}'"

    @cached_property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self.ids)

    @property
    def table(self) -> NodeTable:
        """The node table, whose columns are read when they are asked for."""
        if self._table is None:
            columns = [name for name in self.node_table.columns if name not in self.options.ignore]
            at_once = max(1, self.memory // 2 // (_CELL * self.nodes))
            column = _ColumnGroups(self.node_table, columns, at_once).column
            self._table = NodeTable(self.node_table, columns, self.nodes, column, parsed=at_once)
        return self._table

    @cached_property
    def labels(self) -> Labels:
        """The classes."""
        labels = labels_of_table(self.table, self.options)
        self.notes += class_notes(labels.class_names, self.node_table.place)
        return labels

    @cached_property
    def masks(self) -> dict[str, NDArray[np.bool_]]:
        """[n] Who is for training, validation and test; nothing where no column says so."""
        splits, _, notes = splits_of_table(self.table, self.labels, self.options)
        self.notes += notes
        masks = {}
        for name, nodes in next(iter(splits.values())).parts.items() if splits else ():
            masks[name] = np.zeros(self.nodes, dtype=bool)
            masks[name][nodes] = True
        return masks

    @cached_property
    def preprocessing(self) -> Preprocessing:
        """How columns become features."""
        if self.options.preprocessing is not None:
            return self.options.preprocessing
        rest = feature_columns(self.table, self.id_column, self.options)
        if not rest:
            raise DataError(f"{self.node_table.place} has no column to learn from.")
        fit = fitted_features(self.table, rest, self.options, np.zeros((2, 0), np.int64))
        if fit.preprocessing.is_structural:
            reasons = "; ".join(f"'{use.name}': {use.detail}" for use in fit.uses[:3])
            raise DataError(f"{self.node_table.place} has no column to learn from: {reasons}.")
        self.notes += fit.notes
        self.notes += [
            f"Column '{use.name}' is left out: {use.detail}."
            for use in fit.uses
            if use.use == "left out"
        ]
        return fit.preprocessing

    def features(self) -> Iterator[SparseRows]:
        """Yield the features of all nodes, in pieces."""
        no_edges = np.zeros((2, 0), np.int64)
        for frame in self.node_table.batches(list(self.preprocessing.columns)):
            part = NodeTable.of(self.node_table, frame)
            yield self.preprocessing.features(Source(part, no_edges, len(frame)))

    def order_by(self, column: str) -> NDArray[np.int64]:
        """Return the nodes sorted by a column, equal ones as given; [n]."""
        check_columns(self.node_table.place, self.node_table.columns, [column])
        values = plain_text(self.table.column(column))
        if self.table.kind(column) == "number":
            return np.argsort(self.table.numbers(column), kind="stable")
        return np.argsort(pd.factorize(values, sort=True)[0], kind="stable")

    def edges(self, spill: Path) -> Iterator[NDArray[np.int64]]:
        """Yield the edges in batches, each end as a row of the node table; [2, k]."""
        # The columns that were looked at last would take as much as the ids being joined.
        self._table = None
        self._check_weights()
        ids = EndCheck(self.edge_table, self.ends, self._where)
        batches = (
            self._look_up_numbers(self.ids)
            if isinstance(self.ids, np.ndarray)
            else self._join_text(self.ids, spill)
        )
        for batch in batches:
            yield ids.take(batch)
        self.notes += ids.finish(drop_unknown=self.options.drop_unknown)
        self.dropped = ids.unknown

    def _check_weights(self) -> None:
        """Raise if a column looks like weights in the first rows."""
        weights = Weights(self.edge_table, self.ends)
        if weights.columns:
            weights.look_at(next(self.edge_table.batches(weights.columns)))
            weights.settle(self.edge_table.place, ignore=self.options.ignore_weights, can_use=False)

    def _look_up_numbers(self, ids: NDArray[np.int64]) -> Iterator[EdgeBatch]:
        index = _NumberIndex(ids, self._where)
        row = 0
        for frame in self.edge_table.batches(self.ends):
            yield look_up(frame, self.ends, index, row)
            row += len(frame)

    def _join_text(self, ids: pa.ChunkedArray, spill: Path) -> Iterator[EdgeBatch]:
        """Look up ids of any type by two joins, which spill to disk when memory is short."""
        try:
            duckdb = import_module("duckdb")
        except ModuleNotFoundError as error:
            raise UnavailableError(
                "duckdb is not installed, and ids that are text are looked up with it: "
                "pip install 'agnn[large]'."
            ) from error
        own_errors: list[AgnnError] = []  # DuckDB turns them into text
        edges = pa.RecordBatchReader.from_batches(_EDGE_SCHEMA, self._edge_batches(own_errors))
        connection = duckdb.connect(str(spill / "ids.duckdb"))
        try:
            (threads,) = connection.execute("SELECT current_setting('threads')").fetchone()
            for setting in (
                # Each has buffers of its own.
                f"threads = {min(threads, max(1, self.memory // 2**30))}",
                # A quarter: DuckDB does not count all that it uses, and the arrays of the nodes and
                # what is being written need the rest.
                f"memory_limit = '{max(self.memory // 4, 2**28) // 2**20}MiB'",
                f"temp_directory = '{str(spill).replace(chr(39), chr(39) * 2)}'",
                "preserve_insertion_order = false",
                "enable_progress_bar = false",
                # The edges, whose number DuckDB does not know, must not be the side that is kept.
                "disabled_optimizers = 'join_order,build_side_probe_side'",
            ):
                connection.execute(f"SET {setting}")
            positions = pa.array(np.arange(len(ids)))
            connection.register("given", pa.table({"id": ids, "position": positions}))
            connection.execute("CREATE TABLE nodes AS SELECT * FROM given")
            _check_distinct_in(connection, self._where)
            connection.register("edges", edges)
            for batch in connection.sql(_JOIN).to_arrow_reader(_BATCH):
                yield _joined_batch(batch, self.ends)
        except (duckdb.Error, pa.ArrowException) as error:
            if own_errors:
                raise own_errors[0] from error
            raise UnavailableError(
                f"looking up the ids failed: {str(error).splitlines()[0][:200]} Free some space, "
                f"or choose another folder for temporary files (--spill) or more --memory."
            ) from error
        finally:
            connection.close()

    def _edge_batches(self, own_errors: list[AgnnError]) -> Iterator[Any]:
        """Yield both ends of the edges as text, with their row; errors are kept as well."""
        row = 0
        try:
            for frame in self.edge_table.batches(self.ends):
                ends = [_plain(frame[end]).cast(pa.large_string()) for end in self.ends]
                rows = pa.array(np.arange(row, row + len(frame)))
                yield pa.record_batch([*ends, rows], _EDGE_SCHEMA)
                row += len(frame)
                pa.default_memory_pool().release_unused()  # it keeps what a batch has taken
        except AgnnError as error:
            own_errors.append(error)
            raise


class _ColumnGroups:
    """The columns of a table, read a few neighbours at a time and then dropped."""

    def __init__(self, source: TableSource, columns: Sequence[str], at_once: int) -> None:
        self._source = source
        self._columns = list(columns)
        self._at_once = at_once
        self._loaded = pd.DataFrame()

    def column(self, name: str) -> pd.Series[Any]:
        """Return a column."""
        if name not in self._loaded.columns:
            first = self._columns.index(name) // self._at_once * self._at_once
            self._loaded = pd.DataFrame()  # before the next are read
            self._loaded = self._source.frame(self._columns[first : first + self._at_once])
        return self._loaded[name]


class _NumberIndex:
    """Ids [n] that are different whole numbers."""

    def __init__(self, ids: NDArray[np.int64], where: str) -> None:
        self.where = where
        is_range = bool(ids.size and ids[0] == 0 and ids[-1] == ids.size - 1)
        is_range = is_range and bool((ids == np.arange(ids.size)).all())
        self._places = None if is_range else np.argsort(ids, kind="stable")
        self._ordered = ids if self._places is None else ids[self._places]

    def positions_of_both(self, first: Any, second: Any) -> NDArray[np.int64]:
        """Return the positions that two series of ids name; -1 for none; [2, k]."""
        return np.stack([self._positions(_plain(values)) for values in (first, second)])

    def _positions(self, values: Any) -> NDArray[np.int64]:
        numbers, is_whole = _whole_numbers(values)
        count = self._ordered.size
        if self._places is None:
            positions = np.where((numbers >= 0) & (numbers < count), numbers, -1)
        else:
            at = np.searchsorted(self._ordered, numbers).clip(max=count - 1)
            positions = np.where(self._ordered[at] == numbers, self._places[at], -1)
        positions[~is_whole] = -1
        return positions


def _plain(values: Any) -> Any:
    """Return a series of ids as pyarrow's whole numbers or text."""
    values = plain_text(values)
    if pd.api.types.is_integer_dtype(values):
        return pa.array(values, from_pandas=True).cast(pa.int64())
    if not holds_text(values):
        values = as_text(values)
    return pa.array(values, pa.large_string(), from_pandas=True)


def _whole_numbers(values: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the whole numbers that ids spell out, and which are such: "07" and "x" are not."""
    if pa.types.is_integer(values.type):
        known = np.asarray(pc.is_valid(values))
        return np.asarray(pc.fill_null(values, 0)), known
    try:
        numbers = np.asarray(pc.fill_null(values, "x").cast(pa.int64()))
    except pa.ArrowInvalid:
        spelled = pc.match_substring_regex(pc.fill_null(values, ""), r"^(0|-?[1-9][0-9]{0,17})$")
        numbers = np.asarray(pc.if_else(spelled, values, "0").cast(pa.int64()))
        return numbers, np.asarray(spelled)
    # The usual spelling has as many letters as the number has digits.
    digits = np.searchsorted(10 ** np.arange(1, 19), np.abs(numbers), side="right") + 1
    return numbers, np.asarray(pc.binary_length(values)) == digits + (numbers < 0)


def _check_distinct_in(connection: Any, where: str) -> None:
    """Raise if an id is in DuckDB's table of nodes twice."""
    twin = connection.execute(
        "SELECT id FROM nodes GROUP BY id HAVING count(*) > 1 ORDER BY min(position) LIMIT 1"
    ).fetchone()
    if twin is None:
        return
    rows = connection.execute(
        "SELECT position FROM nodes WHERE id = ? ORDER BY position", [twin[0]]
    ).fetchall()
    (repetitions,) = connection.execute(
        "SELECT count(*) - count(DISTINCT id) FROM nodes"
    ).fetchone()
    raise repeated_id_error(twin[0], [row for (row,) in rows], repetitions, where)


def _joined_batch(batch: Any, ends: tuple[str, str]) -> EdgeBatch:
    """Return rows of `_JOIN` as edges."""
    positions = np.stack([np.asarray(batch.column(k)) for k in (0, 1)])
    unknown = np.flatnonzero((positions < 0).any(axis=0))
    strange = batch.select([2, 3, 4]).take(pa.array(unknown)).to_pandas()
    return EdgeBatch(positions, unknown, strange.set_index("row").set_axis(list(ends), axis=1))
