"""Tables larger than memory: columns one after the other, edges in batches, ids by a hash.

What is kept in memory is a few numbers per node: ids, labels and the columns being looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from agnn.data._labels import Labels, class_notes
from agnn.data._options import ReadOptions, check_columns
from agnn.data.preprocessing import Preprocessing, Source
from agnn.data.scaling import SparseRows
from agnn.data.tables._columns import NodeTable, plain_text
from agnn.data.tables._edge_table import (
    EdgeBatch,
    EndCheck,
    GivenWeights,
    Weights,
    ends_of,
    look_up,
)
from agnn.data.tables._fit import fitted_features
from agnn.data.tables._ids import check_distinct, check_no_missing
from agnn.data.tables._large_ids import NumberIndex, TextIndex, plain_ids, whole_numbers
from agnn.data.tables._read import feature_columns, find_ids, labels_of_table, splits_of_table
from agnn.data.tables._source import TableSource, open_table
from agnn.errors import DataError

_CELL: Final = 40  # bytes of a cell in memory, about


class LargeTables:
    """A table of nodes and one of edges that are never in memory as a whole."""

    def __init__(self, nodes: Path, edges: Path, options: ReadOptions, memory: int) -> None:
        self.options = options
        self.memory = memory
        self.dropped = 0
        self.node_table = open_table(nodes, is_streamed=True)
        self.edge_table = open_table(edges, is_streamed=True)
        self.ends = ends_of(self.edge_table, options)
        id_use = find_ids(self.node_table, options)
        self.id_column = id_use.name
        guess = id_use.detail and f"Column '{id_use.name}' is taken as the id ({id_use.detail})."
        self.notes = [note for note in (guess, self.node_table.note, self.edge_table.note) if note]
        self._table: NodeTable | None = None

    @cached_property
    def ids(self) -> NDArray[np.int64] | pa.LargeStringArray:
        """[n] The ids: whole numbers if all of them are, else text."""
        parts = [
            plain_ids(frame[self.id_column]) for frame in self.node_table.batches([self.id_column])
        ]
        if not parts:
            raise DataError(f"{self.node_table.place} has no rows.")
        ids = pa.concat_arrays([part.cast(parts[0].type) for part in parts])
        del parts
        missing = pc.is_null(ids)
        if pa.types.is_large_string(ids.type):
            missing = pc.equal(pc.coalesce(ids, ""), "")
        check_no_missing(pc.indices_nonzero(missing).to_numpy().astype(np.int64), self._where)
        numbers, is_whole = whole_numbers(ids)
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
        columns = feature_columns(self.table, self.id_column, self.options)
        if not columns:
            raise DataError(f"{self.node_table.place} has no column to learn from.")
        fit = fitted_features(self.table, columns, self.options, np.zeros((2, 0), np.int64))
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

    def edges(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64] | None]]:
        """Yield the edges in batches: each end as a row of the node table [2, k], and weights [k].

        There are weights where the options name their column.
        """
        # The columns that were looked at last would take as much as the ids being joined.
        self._table = None
        self._check_weights()
        ids = EndCheck(self.edge_table, self.ends, self._where)
        index = NumberIndex if isinstance(self.ids, np.ndarray) else TextIndex
        for batch, weights in self._look_up(index(self.ids, self._where)):
            yield ids.take(batch), weights
        self.notes += ids.finish(drop_unknown=self.options.drop_unknown)
        self.dropped = ids.unknown

    def _check_weights(self) -> None:
        """Raise if a column that is not named looks like weights in the first rows."""
        options = self.options
        weights = Weights(self.edge_table, self.ends)
        if weights.columns and options.edge_weight is None:
            weights.look_at(next(self.edge_table.batches(weights.columns)))
            weights.settle(self.edge_table.place, ignore=options.ignore_weights)

    def _look_up(
        self, index: NumberIndex | TextIndex
    ) -> Iterator[tuple[EdgeBatch, NDArray[np.float64] | None]]:
        row = 0
        column = self.options.edge_weight
        given = None if column is None else GivenWeights(self.edge_table, column, self.ends)
        columns = [*self.ends, *(() if column is None else (column,))]
        for frame in self.edge_table.batches(columns):
            batch = look_up(frame, self.ends, index, row)
            weights = None if given is None else np.delete(given.take(frame), batch.unknown)
            yield batch, weights
            row += len(frame)
            pa.default_memory_pool().release_unused()  # it keeps what a batch has taken


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
            start = self._columns.index(name) // self._at_once * self._at_once
            self._loaded = pd.DataFrame()  # before the next are read
            self._loaded = self._source.frame(self._columns[start : start + self._at_once])
        return self._loaded[name]
