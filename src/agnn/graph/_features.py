"""Node features as the kernels read them, sparse or dense."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.graph._graph import LongRows

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix

# Entries of a row or column that one program of a GPU goes through: fewer where all are few, since
# the longest line then decides how long they take.
_LONGEST_LINE = 128
_SHORTER_LINE = 64
_FEW_ENTRIES = 100_000
_WORTH_SHARING = 1 << 22  # entries, 16 MiB
_DENSE = 0.25  # share of stored entries from which a dense matrix is smaller and faster
_FEW_EXCEPTIONS = 0.05  # share of entries that differ from the usual number of their column
_SAMPLED_ROWS = 101  # by which that number is guessed


@dataclass(frozen=True, eq=False)
class SparseFeatures:
    """X [n, d_x] by rows, and by columns for the gradient of the weights.

    `row_ids` are the rows' labels in the whole graph. Dropout draws its numbers by them, so a
    pruned matrix drops the same entries as the whole one.
    """

    offsets: Tensor  # [n + 1] int64
    columns: Tensor  # [nnz] int32
    values: Tensor  # [nnz]
    row_ids: Tensor  # [n] int64
    width: int  # d_x

    @classmethod
    def from_scipy(
        cls, matrix: csr_array[Any, Any] | csr_matrix[Any], dtype: torch.dtype = torch.float32
    ) -> SparseFeatures:
        """Return the features of all nodes."""
        rows = matrix.tocsr()
        return cls(
            offsets=torch.from_numpy(np.array(rows.indptr, dtype=np.int64)),
            columns=torch.from_numpy(np.array(rows.indices, dtype=np.int32)),
            values=torch.from_numpy(np.array(rows.data)).to(dtype),
            row_ids=torch.arange(rows.shape[0]),
            width=int(rows.shape[1]),
        )

    @property
    def rows(self) -> int:
        """The number of rows held."""
        return self.row_ids.numel()

    @property
    def dtype(self) -> torch.dtype:
        """The type that is computed in."""
        return self.values.dtype

    @cached_property
    def row_of_entry(self) -> Tensor:
        """The row of every stored entry; [nnz] int64."""
        rows = torch.arange(self.rows, device=self.values.device)
        return torch.repeat_interleave(rows, self.offsets.diff(), output_size=self.columns.numel())

    @cached_property
    def by_column(self) -> tuple[Tensor, Tensor, Tensor]:
        """The same entries column by column: offsets [d_x + 1], rows [nnz] int32, values [nnz].

        Inside a column the rows stand in the order of their `row_ids`, so a sum down a column
        runs in the same order whichever rows were pruned away.
        """
        columns = self.columns.to(torch.int64)
        nodes = self.row_ids[self.row_of_entry]
        order = torch.argsort(nodes, stable=True)
        order = order[torch.argsort(columns[order], stable=True)]
        offsets = torch.zeros(self.width + 1, dtype=torch.int64, device=columns.device)
        torch.cumsum(torch.bincount(columns, minlength=self.width), dim=0, out=offsets[1:])
        return offsets, self.row_of_entry[order].to(torch.int32), self.values[order]

    @cached_property
    def summation_order(self) -> NDArray[np.uint64]:
        """The rows in the order of their `row_ids`, in which compiled CPU code sums; [n]."""
        return torch.argsort(self.row_ids).numpy().view(np.uint64)

    @cached_property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """By row, for compiled code: offsets; column, row label, column label, value of each."""
        columns = self.columns.numpy().view(np.uint32)
        labels = self.row_ids[self.row_of_entry].numpy().astype(np.uint32)
        offsets = self.offsets.numpy().view(np.uint64)
        return offsets, columns, labels, columns, self.values.numpy()

    @cached_property
    def column_arrays(self) -> tuple[NDArray[Any], ...]:
        """By column, for compiled code: offsets; row, row label, column label, value of each."""
        offsets, rows, values = self.by_column
        labels = self.row_ids[rows.to(torch.int64)].numpy().astype(np.uint32)
        columns = torch.repeat_interleave(torch.arange(self.width), offsets.diff())
        return (
            offsets.numpy().view(np.uint64),
            rows.numpy().view(np.uint32),
            labels,
            columns.numpy().astype(np.uint32),
            values.numpy(),
        )

    @cached_property
    def longest_row(self) -> int:
        """The most entries in a row."""
        return int(self.offsets.diff().max())

    @cached_property
    def longest_column(self) -> int:
        """The most entries in a column."""
        return int(self.by_column[0].diff().max())

    @cached_property
    def long_rows(self) -> LongRows:
        """The rows that one program of a GPU would take too long for."""
        return LongRows.of(self.offsets, self._longest_line)

    @cached_property
    def long_columns(self) -> LongRows:
        """The columns that one program of a GPU would take too long for."""
        return LongRows.of(self.by_column[0], self._longest_line)

    @property
    def _longest_line(self) -> int:
        is_small = self.values.numel() <= _FEW_ENTRIES
        return min(_SHORTER_LINE, _LONGEST_LINE) if is_small else _LONGEST_LINE

    def select(self, rows: Tensor) -> SparseFeatures:
        """Return the given rows, in the given order."""
        lengths = self.offsets[rows + 1] - self.offsets[rows]
        offsets = torch.zeros(rows.numel() + 1, dtype=torch.int64, device=rows.device)
        torch.cumsum(lengths, dim=0, out=offsets[1:])
        starts = torch.repeat_interleave(self.offsets[rows] - offsets[:-1], lengths)
        entries = starts + torch.arange(starts.numel(), device=rows.device)
        return SparseFeatures(
            offsets, self.columns[entries], self.values[entries], self.row_ids[rows], self.width
        )

    def with_rows(self, rows: Tensor, matrix: csr_array[Any, Any] | NDArray[Any]) -> SparseFeatures:
        """Return the features with the entries of `matrix` [k, d_x] in the given rows [k]."""
        from scipy.sparse import csr_array

        device = self.values.device
        added = SparseFeatures.from_scipy(csr_array(matrix), self.dtype).to(device)
        joined = SparseFeatures(
            offsets=torch.cat([self.offsets, self.offsets[-1] + added.offsets[1:]]),
            columns=torch.cat([self.columns, added.columns]),
            values=torch.cat([self.values, added.values]),
            row_ids=torch.cat([self.row_ids, self.row_ids[rows.to(device)]]),
            width=self.width,
        )
        order = torch.arange(self.rows, device=device)
        order[rows.to(device)] = self.rows + torch.arange(added.rows, device=device)
        return joined.select(order)

    def to(self, device: torch.device | str) -> SparseFeatures:
        """Return the same features on `device`; itself if they are there already."""
        target = torch.device(device)
        if target == self.values.device:
            return self
        return SparseFeatures(
            offsets=self.offsets.to(target),
            columns=self.columns.to(target),
            values=self.values.to(target),
            row_ids=self.row_ids.to(target),
            width=self.width,
        )


@dataclass(frozen=True, eq=False)
class UsualNumbers:
    """Dense features X = 1 b^T + E, where few entries of E are not 0.

    Standardised bags of words are such: b is what a word that does not occur became.
    """

    numbers: Tensor  # b [d_x]
    exceptions: SparseFeatures  # E


@dataclass(frozen=True, eq=False)
class DenseFeatures:
    """X [n, d_x] with every entry stored, shared by all replicas.

    The values may be of a shorter type than the model's weights, which are what is computed in.
    """

    values: Tensor  # [n, d_x]
    row_ids: Tensor  # [n] int64, the rows' labels in the whole graph

    @property
    def rows(self) -> int:
        """The number of rows held."""
        return self.values.shape[0]

    @property
    def width(self) -> int:
        """d_x, the number of features."""
        return self.values.shape[1]

    @property
    def dtype(self) -> torch.dtype:
        """The type that is computed in."""
        return torch.float64 if self.values.dtype == torch.float64 else torch.float32

    @cached_property
    def usual(self) -> UsualNumbers | None:
        """The usual number of every column and the exceptions; None where these are many."""
        values = self.values.to(self.dtype)
        step = max(1, self.rows // _SAMPLED_ROWS)
        # What most entries of a column are, is their median. A wrong guess costs time, no more.
        numbers = values[::step].median(0).values if self.rows else values.new_zeros(self.width)
        is_exception = values != numbers
        counts = is_exception.sum(1)
        if int(counts.sum()) > _FEW_EXCEPTIONS * values.numel() or not bool(numbers.any()):
            return None
        rows, columns = is_exception.nonzero(as_tuple=True)
        exceptions = SparseFeatures(
            offsets=torch.cat([counts.new_zeros(1), counts.cumsum(0)]),
            columns=columns.to(torch.int32),
            values=(values - numbers)[rows, columns],
            row_ids=self.row_ids,
            width=self.width,
        )
        return UsualNumbers(numbers, exceptions)

    def select(self, rows: Tensor) -> DenseFeatures:
        """Return the given rows, in the given order."""
        return DenseFeatures(self.values[rows], self.row_ids[rows])

    def with_rows(self, rows: Tensor, matrix: csr_array[Any, Any] | NDArray[Any]) -> DenseFeatures:
        """Return the features with the entries of `matrix` [k, d_x] in the given rows [k]."""
        dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        values = self.values.clone()
        values[rows.to(values.device)] = torch.from_numpy(dense).to(values)
        return DenseFeatures(values, self.row_ids)

    def sparse(self) -> SparseFeatures:
        """Return the same features with every entry listed."""
        rows, width = self.values.shape
        device = self.values.device
        return SparseFeatures(
            offsets=torch.arange(rows + 1, device=device) * width,
            columns=torch.arange(width, dtype=torch.int32, device=device).repeat(rows),
            values=self.values.to(self.dtype).reshape(-1),
            row_ids=self.row_ids,
            width=width,
        )

    def to(self, device: torch.device | str) -> DenseFeatures:
        """Return the same features on `device`; itself if they are there already."""
        target = torch.device(device)
        if target == self.values.device:
            return self
        return DenseFeatures(self.values.to(target), self.row_ids.to(target))


Features = SparseFeatures | DenseFeatures


def features_of(
    matrix: csr_array[Any, Any] | csr_matrix[Any] | NDArray[Any],
    dtype: torch.dtype = torch.float32,
) -> Features:
    """Return the features of all nodes, dense if many entries are stored, else sparse."""
    rows, columns = matrix.shape
    if isinstance(matrix, np.ndarray):
        return DenseFeatures(torch.from_numpy(matrix).to(dtype), torch.arange(rows))
    if matrix.nnz < _DENSE * rows * columns:
        return SparseFeatures.from_scipy(matrix, dtype)
    return DenseFeatures(_dense(matrix, dtype), torch.arange(rows))


def _dense(matrix: csr_array[Any, Any] | csr_matrix[Any], dtype: torch.dtype) -> Tensor:
    """Return all entries of a matrix [n, d_x]; not to be written to.

    A large matrix that stores every entry in order already lies in memory row by row: it is read
    there, in place of a copy.
    """
    rows, columns = matrix.shape
    is_full = matrix.nnz == rows * columns and bool(matrix.has_canonical_format)
    if matrix.nnz < _WORTH_SHARING or not is_full:
        return torch.from_numpy(matrix.toarray()).to(dtype)
    with warnings.catch_warnings():
        # Checked data is read-only, and torch has no read-only tensors.
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        return torch.from_numpy(matrix.data.reshape(rows, columns)).to(dtype)
