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
from agnn.data._report import shown_rows
from agnn.data.preprocessing import Preprocessing, Source
from agnn.data.tables._columns import NodeTable, holds_text, plain_text, written
from agnn.data.tables._fit import Fit, fitted_features
from agnn.data.tables._ids import Weights, ends_of
from agnn.data.tables._read import id_column, labels_of_table, splits_of_table
from agnn.data.tables._source import TableSource, open_table
from agnn.errors import AgnnError, DataError, InputError, UnavailableError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.data._features import SparseRows
    from agnn.data._labels import Labels

_CELL: Final = 40  # bytes of a cell in memory, about
_BATCH: Final = 1_000_000  # edges that DuckDB gives at once


class LargeTables:
    """A table of nodes and one of edges that are never in memory as a whole."""

    def __init__(self, nodes: Path, edges: Path, options: ReadOptions, memory: int) -> None:
        if options.edge_weight is not None:
            raise InputError(
                "tables that are read in parts keep no edge weights; leave out `edge_weight` "
                "(--edge-weight)."
            )
        self.options, self.memory = options, memory
        self.node_table = open_table(nodes, is_streamed=True)
        self.edge_table = open_table(edges, is_streamed=True)
        named = [*options.text, *options.category, *options.number, *options.ignore]
        roles = [options.node_id, options.label, options.split_by]
        check_columns(self.node_table.place, self.node_table.columns, [*roles, *named])
        self.ends = list(ends_of(self.edge_table, options))
        self.id_column, why = id_column(self.node_table, options)
        guess = why and f"Column '{self.id_column}' is taken as the id ({why})."
        self.notes = [each for each in (guess, self.node_table.note, self.edge_table.note) if each]
        self.dropped = 0

    @cached_property
    def ids(self) -> NDArray[np.int64] | pa.ChunkedArray:
        """[n] The ids: whole numbers if all of them are, else text."""
        parts = [
            _plain(frame[self.id_column]) for frame in self.node_table.batches([self.id_column])
        ]
        where = f"{self.node_table.place}, column '{self.id_column}'"
        if not parts:
            raise DataError(f"{self.node_table.place} has no rows.")
        whole = pa.chunked_array([part.cast(parts[0].type) for part in parts])
        missing = pc.indices_nonzero(pc.is_null(whole))
        if pa.types.is_large_string(whole.type):
            missing = pc.indices_nonzero(pc.equal(pc.coalesce(whole, ""), ""))
        if len(missing):
            raise DataError(f"{where}: the id is missing in {shown_rows(missing.to_numpy())}.")
        found, is_whole = _whole_numbers(whole)
        if not is_whole.all():
            return whole
        ordered = np.sort(found)  # not np.unique, which hashes and takes ten times as long
        if (ordered[1:] == ordered[:-1]).any():
            twin = int(pd.Series(found).duplicated().idxmax())
            raise DataError(f"{where}, row {twin + 1}: the id {found[twin]} is there before.")
        return found

    @cached_property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self.ids)

    @cached_property
    def table(self) -> NodeTable:
        """The node table, whose columns are read when they are asked for."""
        columns = [name for name in self.node_table.columns if name not in self.options.ignore]
        at_once = max(1, self.memory // 2 // (_CELL * self.nodes))
        frame: Any = _LazyFrame(self.node_table, columns, at_once, self.nodes)
        return NodeTable.of(self.node_table, frame, parsed=_Few(at_once))

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
        found = {}
        for name, nodes in next(iter(splits.values())).parts.items() if splits else ():
            found[name] = np.zeros(self.nodes, dtype=bool)
            found[name][nodes] = True
        return found

    @cached_property
    def preprocessing(self) -> Preprocessing:
        """How columns become features."""
        if self.options.preprocessing is not None:
            return self.options.preprocessing
        taken = (self.id_column, self.options.label, self.options.split_by)
        rest = [column for column in self.table.frame.columns if column not in taken]
        if not rest:
            raise DataError(f"{self.node_table.place} has no column to learn from.")
        fit: Fit = fitted_features(self.table, rest, self.options, np.zeros((2, 0), np.int64))
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
        """The features of all nodes, in pieces."""
        made, nothing = self.preprocessing, np.zeros((2, 0), np.int64)
        for frame in self.node_table.batches(list(made.columns)):
            part = NodeTable.of(self.node_table, frame)
            yield made.features(Source(part, nothing, len(frame)))

    def order_by(self, column: str) -> NDArray[np.int64]:
        """[n] The nodes sorted by a column, equal ones as given."""
        check_columns(self.node_table.place, self.node_table.columns, [column])
        values = plain_text(self.table.frame[column])
        if self.table.kind(column) == "number":
            return np.argsort(self.table.numbers(column), kind="stable")
        return np.argsort(pd.factorize(values, sort=True)[0], kind="stable")

    def edges(self, spill: Path) -> Iterator[NDArray[np.int64]]:
        """[2, k] The edges in batches, each end as a row of the node table."""
        # The columns that were looked at last would take as much as the ids being joined.
        self.__dict__.pop("table", None)
        frames = self._edge_frames()
        found = (
            _by_number(frames, self.ids)
            if isinstance(self.ids, np.ndarray)
            else _by_duckdb(frames, self.ids, spill, self.memory)
        )
        rows, unknown, examples = 0, 0, list[str]()
        for pairs, unknown_ids in found:
            bad = (pairs < 0).any(axis=0)
            rows += pairs.shape[1]
            if bad.any():
                unknown += int(bad.sum())
                examples += unknown_ids[: 3 - len(examples)]
                if "" in examples:
                    raise DataError(f"{self.edge_table.place}: the id of an end is missing.")
                pairs = pairs[:, ~bad]
            yield pairs
        if not rows and not self.edge_table.may_be_empty:
            raise DataError(f"{self.edge_table.place} has no rows.")
        if unknown:
            words = ", ".join(repr(each) for each in examples)
            what = f"{self.edge_table.place}: {unknown:,} of {rows:,} edges name an id that no node"
            if not self.options.drop_unknown:
                raise DataError(
                    f"{what} has, such as {words}. Add the nodes, or leave such edges out with "
                    f"`drop_unknown` (--drop-unknown)."
                )
            self.dropped = unknown
            self.notes.append(f"{what} has and are left out, such as {words}.")

    def _edge_frames(self) -> Iterator[tuple[Any, Any]]:
        """Both ends of the edges as pyarrow arrays; the first rows are searched for weights."""
        weights = Weights(self.edge_table, self.ends)
        if weights.columns:
            weights.look_at(next(self.edge_table.batches(weights.columns)))
            weights.settled(
                self.edge_table.place, ignore=self.options.ignore_weights, can_use=False
            )
        for frame in self.edge_table.batches(self.ends):
            yield _plain(frame[self.ends[0]]), _plain(frame[self.ends[1]])


class _LazyFrame:
    """What `NodeTable` needs of a frame; columns are read a few at a time and then dropped."""

    def __init__(
        self, source: TableSource, columns: Sequence[str], at_once: int, rows: int
    ) -> None:
        self.source, self.at_once, self.rows = source, at_once, rows
        self.columns = pd.Index(columns)
        self.loaded: Any = pd.DataFrame()

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, column: str) -> Any:
        if column not in self.loaded.columns:
            first = int(self.columns.get_loc(column)) // self.at_once * self.at_once
            self.loaded = pd.DataFrame()  # before the next are read
            self.loaded = self.source.frame(list(self.columns[first : first + self.at_once]))
        return self.loaded[column]


class _Few(dict[str, Any]):
    """A dictionary that keeps the last few entries."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        while len(self) > self.most:
            del self[next(iter(self))]


def _plain(values: Any) -> Any:
    """A series of ids as pyarrow's whole numbers or text."""
    values = plain_text(values)
    if pd.api.types.is_integer_dtype(values):
        return pa.array(values, from_pandas=True).cast(pa.int64())
    if not holds_text(values):
        values = written(values)
    return pa.array(values, pa.large_string(), from_pandas=True)


def _whole_numbers(values: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The whole numbers that ids are or spell out, and which are such: "07" and "x" are not."""
    if pa.types.is_integer(values.type):
        known = np.asarray(pc.is_valid(values))
        return np.asarray(pc.fill_null(values, 0)), known
    try:
        found = np.asarray(pc.fill_null(values, "x").cast(pa.int64()))
    except pa.ArrowInvalid:
        spelled = pc.match_substring_regex(pc.fill_null(values, ""), r"^(0|-?[1-9][0-9]{0,17})$")
        found = np.asarray(pc.if_else(spelled, values, "0").cast(pa.int64()))
        return found, np.asarray(spelled)
    # The usual spelling has as many letters as the number has digits.
    digits = np.searchsorted(10 ** np.arange(1, 19), np.abs(found), side="right") + 1
    return found, np.asarray(pc.binary_length(values)) == digits + (found < 0)


def _by_number(
    frames: Iterator[tuple[Any, Any]], ids: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], list[str]]]:
    """Positions of ids that are whole numbers, and ids that no node has."""
    is_range = bool(ids.size and ids[0] == 0 and ids[-1] == ids.size - 1)
    is_range = is_range and bool((ids == np.arange(ids.size)).all())
    places = None if is_range else np.argsort(ids, kind="stable")
    ordered = ids if places is None else ids[places]
    for both in frames:
        pairs = np.empty((2, len(both[0])), np.int64)
        words: list[str] = []
        for row, values in zip(pairs, both, strict=True):
            numbers, is_whole = _whole_numbers(values)
            if places is None:
                row[:] = np.where((numbers >= 0) & (numbers < ids.size), numbers, -1)
            else:
                at = np.searchsorted(ordered, numbers).clip(max=ids.size - 1)
                row[:] = np.where(ordered[at] == numbers, places[at], -1)
            row[~is_whole] = -1
            bad = np.flatnonzero(row < 0)[:3]
            words += ["" if v is None else str(v) for v in values.take(bad).to_pylist()]
        yield pairs, words


def _by_duckdb(
    frames: Iterator[tuple[Any, Any]], ids: pa.ChunkedArray, spill: Path, memory: int
) -> Iterator[tuple[NDArray[np.int64], list[str]]]:
    """Positions of ids of any type by two joins, which spill to disk when memory is short."""
    try:
        duckdb = import_module("duckdb")
    except ModuleNotFoundError as error:
        raise UnavailableError(
            "duckdb is not installed, and ids that are text are looked up with it: "
            "pip install 'agnn[large]'."
        ) from error
    schema = pa.schema([("source", pa.large_string()), ("target", pa.large_string())])
    own_errors: list[AgnnError] = []  # DuckDB turns them into text

    def batches() -> Iterator[Any]:
        try:
            for both in frames:
                yield pa.record_batch([each.cast(pa.large_string()) for each in both], schema)
        except AgnnError as error:
            own_errors.append(error)
            raise

    edges = pa.RecordBatchReader.from_batches(schema, batches())
    given = pa.table({"id": ids, "position": pa.array(np.arange(len(ids)))})
    connection = duckdb.connect(str(spill / "ids.duckdb"))
    try:
        for setting in (
            # Half of it: the arrays of the nodes and what is being written need the rest.
            f"memory_limit = '{max(memory // 2, 2**28) // 2**20}MiB'",
            f"temp_directory = '{str(spill).replace(chr(39), chr(39) * 2)}'",
            "preserve_insertion_order = false",
            "enable_progress_bar = false",
            # The edges, whose number DuckDB does not know, must not be the side that is kept.
            "disabled_optimizers = 'join_order,build_side_probe_side'",
        ):
            connection.execute(f"SET {setting}")
        connection.register("given", given)
        connection.execute("CREATE TABLE nodes AS SELECT * FROM given")
        twin = connection.execute(
            "SELECT id FROM nodes GROUP BY id HAVING count(*) > 1 LIMIT 1"
        ).fetchone()
        if twin is not None:
            raise DataError(f"the id {twin[0]!r} is in the node table more than once.")
        connection.register("edges", edges)
        found = connection.sql(
            "SELECT coalesce(a.position, -1), coalesce(b.position, -1), CASE WHEN a.position IS "
            "NULL THEN coalesce(source, '') WHEN b.position IS NULL THEN coalesce(target, '') END "
            "FROM edges LEFT JOIN nodes a ON source = a.id LEFT JOIN nodes b ON target = b.id"
        ).to_arrow_reader(_BATCH)
        for batch in found:
            pairs = np.stack([np.asarray(batch.column(k)) for k in (0, 1)])
            yield pairs, batch.column(2).drop_null().slice(0, 3).to_pylist()
    except (duckdb.Error, pa.ArrowException) as error:
        if own_errors:
            raise own_errors[0] from error
        raise UnavailableError(
            f"looking up the ids failed: {str(error).splitlines()[0][:200]} Free some space, or "
            f"choose another folder for temporary files (--spill) or more --memory."
        ) from error
    finally:
        connection.close()
