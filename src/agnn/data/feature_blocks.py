"""The ways columns become features: each fitted once, saved as JSON, applied to new nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol

import numpy as np

from agnn.data.reading import shown_rows
from agnn.data.structure import structure_columns
from agnn.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.data.features import SparseRows
    from agnn.data.node_table import NodeTable


# In training nothing stands farther than the root of n from the mean; a new node that does is a
# mistake, or a number in another unit.
FARTHEST: Final = 1e6


class Source(NamedTuple):
    """What features are made of."""

    table: NodeTable | None  # None: there are no columns
    edges: NDArray[np.int64]  # [2, k] each undirected edge once
    nodes: int

    def column(self, name: str) -> NodeTable:
        """The table, which has a column of this name."""
        if self.table is None or name not in self.table.frame.columns:
            place = "the graph" if self.table is None else self.table.place
            raise DataError(f"{place} has no column '{name}', and the model needs it.")
        return self.table


class Block(Protocol):
    """Some features; the fields of an implementation are what was fitted."""

    kind: ClassVar[str]
    is_signed: ClassVar[bool]  # values may be negative: rows cannot be made to sum to 1

    @property
    def names(self) -> tuple[str, ...]:
        """[d] What each feature is, for people."""
        ...

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that it is made from."""
        ...

    def rows(self, source: Source) -> SparseRows:
        """[n, d] The features of these nodes."""
        ...


@dataclass(frozen=True)
class Numbers:
    """(x - mean) / scale by column; a gap becomes the mean, and 1 in a column of its own."""

    kind: ClassVar[str] = "numbers"
    is_signed: ClassVar[bool] = True

    columns: tuple[str, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    with_gaps: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, then those that say where a value was missing."""
        return (*self.columns, *(f"{column} is missing" for column in self.with_gaps))

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns."""
        return self.columns

    def rows(self, source: Source) -> SparseRows:
        """Standardised columns."""
        dense = np.empty((source.nodes, len(self.names)), dtype=np.float32)
        gaps = iter(range(len(self.columns), len(self.names)))
        for k, column in enumerate(self.columns):
            values = (source.column(column).numbers(column) - self.means[k]) / self.scales[k]
            _check_near(source.column(column), column, values)
            dense[:, k] = np.nan_to_num(values, nan=0.0)
            if column in self.with_gaps:
                dense[:, next(gaps)] = np.isnan(values)
        return rows_of(dense)


def _check_near(table: NodeTable, column: str, values: NDArray[np.float64]) -> None:
    """Raise for numbers, counted in deviations, that are far from all that was learned from."""
    far = np.flatnonzero(np.abs(values) > FARTHEST)
    if far.size:
        raise DataError(
            f"{table.where(column)}, {shown_rows(far)}: the number is {abs(values[far[0]]):.0e} "
            f"deviations from the mean of the column that the model learned from."
        )


@dataclass(frozen=True)
class Counts:
    """Columns of counts, mostly zero, as they are: a bag of words."""

    kind: ClassVar[str] = "counts"
    is_signed: ClassVar[bool] = False

    columns: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self.columns

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns."""
        return self.columns

    def rows(self, source: Source) -> SparseRows:
        """The counts; a gap is none."""
        from scipy import sparse

        parts = []
        for column in self.columns:
            values = np.nan_to_num(source.column(column).numbers(column), nan=0.0)
            parts.append(sparse.csc_array(values[:, None].astype(np.float32)))
        return sparse.csr_array(sparse.hstack(parts, format="csr"))


@dataclass(frozen=True)
class Category:
    """One feature for each value of a column: 1 where the node has it."""

    kind: ClassVar[str] = "category"
    is_signed: ClassVar[bool] = False

    column: str
    values: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The column with each of its values."""
        return tuple(f"{self.column} = {value}" for value in self.values)

    @property
    def reads(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column,)

    def rows(self, source: Source) -> SparseRows:
        """One-hot rows; a value that was not there when this was fitted has none."""
        from scipy import sparse

        from agnn.data.packages import tables_package

        names = source.column(self.column).names(self.column)
        index = tables_package("pandas").Index(self.values)
        codes = index.get_indexer(names)
        known = np.flatnonzero(codes >= 0)
        ones = np.ones(known.size, dtype=np.float32)
        shape = (source.nodes, len(self.values))
        return sparse.csr_array((ones, (known, codes[known])), shape=shape)


@dataclass(frozen=True)
class Words:
    """TF-IDF of a column of sentences: scikit-learn's, with a logarithm over the counts."""

    kind: ClassVar[str] = "words"
    is_signed: ClassVar[bool] = False

    column: str
    vocabulary: tuple[str, ...]
    idf: tuple[float, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The column with each word."""
        return tuple(f"{self.column}: {word}" for word in self.vocabulary)

    @property
    def reads(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column,)

    def rows(self, source: Source) -> SparseRows:
        """Rows of length 1; words that were not there when this was fitted are skipped."""
        from scipy import sparse

        texts = source.column(self.column).texts(self.column)
        weigher = word_weigher(vocabulary=list(self.vocabulary))
        weigher.idf_ = np.array(self.idf)
        return sparse.csr_array(weigher.transform(texts))


@dataclass(frozen=True)
class Structure:
    """Where a node stands in the graph, standardised; for graphs without any features."""

    kind: ClassVar[str] = "structure"
    is_signed: ClassVar[bool] = True

    means: tuple[float, ...]
    scales: tuple[float, ...]

    @classmethod
    def fitted(cls, edges: NDArray[np.int64], nodes: int) -> Structure:
        """Means and scales of this graph's measures."""
        raw = structure_columns(edges, nodes)
        scales = np.where(raw.std(axis=0) > 0, raw.std(axis=0), 1.0)
        return cls(tuple(raw.mean(axis=0).tolist()), tuple(scales.tolist()))

    @property
    def names(self) -> tuple[str, ...]:
        """The three measures."""
        return ("log degree", "log mean degree of the neighbours", "log core number")

    @property
    def reads(self) -> tuple[str, ...]:
        """None: the graph is enough."""
        return ()

    def rows(self, source: Source) -> SparseRows:
        """Standardised measures of this graph."""
        raw = structure_columns(source.edges, source.nodes)
        return rows_of((raw - np.array(self.means)) / np.array(self.scales))


def word_weigher(**options: Any) -> Any:
    """scikit-learn's TF-IDF with the settings of every `Words`."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(dtype=np.float32, sublinear_tf=True, **options)


def rows_of(dense: NDArray[Any]) -> SparseRows:
    """A dense matrix as CSR, every entry stored: no detour over its coordinates."""
    from scipy import sparse

    n, d = dense.shape
    index = np.int32 if n * d < 2**31 else np.int64
    columns = np.tile(np.arange(d, dtype=index), n)
    ends = np.arange(n + 1, dtype=index) * d
    return sparse.csr_array((dense.astype(np.float32, copy=False).ravel(), columns, ends), (n, d))
