"""How columns become features: fitted once, saved as JSON, applied again to new nodes.

A `Preprocessing` is a sequence of blocks side by side: standardised `Numbers`, `Counts` (a bag of
words), one-hot `Category`, `Words` (TF-IDF) and, without any column, `Structure` and `Positions`.

>>> import agnn, pandas
>>> nodes = pandas.DataFrame({"id": ["a", "b", "c"], "age": [20, 30, 40], "sex": ["f", "m", "f"]})
>>> edges = pandas.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
>>> made = agnn.from_pandas(nodes, edges).preprocessing
>>> [type(block).__name__ for block in made.blocks], made.columns
(['Numbers', 'Category'], ('age', 'sex'))
>>> Preprocessing.from_dict(made.to_dict()) == made
True
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from agnn.data._features import POSITIONS, position_columns, structure_columns
from agnn.data.scaling import SparseRows
from agnn.errors import DataError

if TYPE_CHECKING:
    from agnn.data.tables import NodeTable

__all__ = [
    "FARTHEST",
    "Block",
    "Category",
    "Counts",
    "Numbers",
    "Positions",
    "Preprocessing",
    "Source",
    "Structure",
    "Words",
]

FARTHEST: Final = 1e6
"""Standard deviations from the mean beyond which a number is refused.

No training value is farther away than the root of n; a new value that is has another unit.
"""

GRAPH_NOTE: Final = (
    f"There is no column to learn from, so the features are made of the graph itself: degree, mean "
    f"degree of the neighbours, core number, and {POSITIONS} coordinates of a node's surroundings. "
    f"Compare with the methods `label_propagation` and `auto`."
)
_FORMAT: Final = "agnn-preprocessing-1"


class Source(NamedTuple):
    """What features are made of."""

    table: NodeTable | None  # None: there are no columns
    edges: NDArray[np.int64]  # [2, k] each undirected edge once
    nodes: int

    def column(self, name: str) -> NodeTable:
        """Return the table, which has a column of this name."""
        if self.table is None or name not in self.table.columns:
            origin = "the graph" if self.table is None else self.table.place
            raise DataError(f"{origin} has no column '{name}', and the model needs it.")
        return self.table


class Block(ABC):
    """A group of features; the fields of an implementation are what was fitted."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """[d] A readable name of each feature."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns it is made from."""
        return (self.column,) if hasattr(self, "column") else getattr(self, "columns", ())

    @abstractmethod
    def rows(self, source: Source) -> SparseRows:
        """Return the features of these nodes; [n, d]."""


@dataclass(frozen=True)
class Numbers(Block):
    """(x - mean) / scale per column; a missing value is the mean, and 1 in an extra column."""

    kind: ClassVar[str] = "numbers"

    columns: tuple[str, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    with_gaps: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, then those that mark missing values."""
        return (*self.columns, *(f"{column} is missing" for column in self.with_gaps))

    def rows(self, source: Source) -> SparseRows:
        """Return standardised columns."""
        dense = np.empty((source.nodes, len(self.names)), dtype=np.float32)
        gaps = iter(range(len(self.columns), len(self.names)))
        for k, column in enumerate(self.columns):
            values = (source.column(column).numbers(column) - self.means[k]) / self.scales[k]
            _check_near(source.column(column), column, values)
            dense[:, k] = np.nan_to_num(values, nan=0.0)
            if column in self.with_gaps:
                dense[:, next(gaps)] = np.isnan(values)
        return _rows_of(dense)


def _check_near(table: NodeTable, column: str, values: NDArray[np.float64]) -> None:
    """Raise for numbers, in standard deviations, that are far from all training values."""
    far = np.flatnonzero(np.abs(values) > FARTHEST)
    if far.size:
        raise DataError(
            f"{table.where(column)}, {table.rows(far)}: the number is {abs(values[far[0]]):.0e} "
            f"standard deviations from the mean of the column that the model was trained on."
        )


@dataclass(frozen=True)
class Counts(Block):
    """Columns of counts, mostly zero, as they are: a bag of words."""

    kind: ClassVar[str] = "counts"

    columns: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self.columns

    def rows(self, source: Source) -> SparseRows:
        """Return the counts; a missing value is 0."""
        from scipy import sparse

        parts = []
        for column in self.columns:
            values = np.nan_to_num(source.column(column).numbers(column), nan=0.0)
            parts.append(sparse.csc_array(values[:, None].astype(np.float32)))
        return sparse.csr_array(sparse.hstack(parts, format="csr"))


@dataclass(frozen=True)
class Category(Block):
    """One feature for each value of a column: 1 where the node has it."""

    kind: ClassVar[str] = "category"

    column: str
    values: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The column with each of its values."""
        return tuple(f"{self.column} = {value}" for value in self.values)

    def rows(self, source: Source) -> SparseRows:
        """Return one-hot rows; all zero for a value that was not present when this was fitted."""
        from scipy import sparse

        codes = source.column(self.column).codes(self.column, self.values)
        coded_rows = np.flatnonzero(codes >= 0)
        ones = np.ones(coded_rows.size, dtype=np.float32)
        shape = (source.nodes, len(self.values))
        return sparse.csr_array((ones, (coded_rows, codes[coded_rows])), shape=shape)


@dataclass(frozen=True)
class Words(Block):
    """TF-IDF of a column of text: scikit-learn's, with a logarithm of the counts."""

    kind: ClassVar[str] = "words"

    column: str
    vocabulary: tuple[str, ...]
    idf: tuple[float, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The column with each word."""
        return tuple(f"{self.column}: {word}" for word in self.vocabulary)

    def rows(self, source: Source) -> SparseRows:
        """Return rows of length 1; words that were not present when this was fitted are skipped."""
        from scipy import sparse

        texts = source.column(self.column).texts(self.column)
        weigher = word_weigher(vocabulary=list(self.vocabulary))
        weigher.idf_ = np.array(self.idf)
        return sparse.csr_array(weigher.transform(texts))


@dataclass(frozen=True)
class _OfGraph(Block):
    """Features that are made of the graph alone, for all nodes at once; standardised."""

    means: tuple[float, ...]
    scales: tuple[float, ...]

    @staticmethod
    @abstractmethod
    def measures(edges: NDArray[np.int64], nodes: int) -> NDArray[np.float64]:
        """Return what is standardised; [n, d]."""

    @classmethod
    def fit(cls, edges: NDArray[np.int64], nodes: int) -> Self:
        """Return means and scales of this graph's measures."""
        raw = cls.measures(edges, nodes)
        scales = np.where(raw.std(axis=0) > 0, raw.std(axis=0), 1.0)
        return cls(tuple(raw.mean(axis=0).tolist()), tuple(scales.tolist()))

    def rows(self, source: Source) -> SparseRows:
        """Return standardised measures of this graph."""
        raw = self.measures(source.edges, source.nodes)
        return _rows_of((raw - np.array(self.means)) / np.array(self.scales))


@dataclass(frozen=True)
class Structure(_OfGraph):
    """Degree, mean degree of the neighbours and core number."""

    kind: ClassVar[str] = "structure"
    measures = staticmethod(structure_columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The three measures."""
        return ("log degree", "log mean degree of the neighbours", "log core number")


@dataclass(frozen=True)
class Positions(_OfGraph):
    """Coordinates in which nodes with the same surroundings are near each other."""

    kind: ClassVar[str] = "positions"
    measures = staticmethod(position_columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The coordinates have no meaning of their own."""
        return tuple(f"position {k}" for k in range(1, len(self.means) + 1))


def graph_blocks(edges: NDArray[np.int64], nodes: int) -> list[Block]:
    """Return the features of a graph without any column; `GRAPH_NOTE` says so."""
    return [Structure.fit(edges, nodes), Positions.fit(edges, nodes)]


_BLOCKS: Final[Mapping[str, Any]] = {
    block.kind: block for block in (Numbers, Counts, Category, Words, Structure, Positions)
}


@dataclass(frozen=True)
class Preprocessing:
    """Fitted blocks of features, side by side.

    >>> made = Preprocessing((Counts(("red", "green")), Category("shape", ("oval", "round"))))
    >>> made.feature_names
    ('red', 'green', 'shape = oval', 'shape = round')
    >>> Preprocessing.from_dict(made.to_dict()) == made
    True
    """

    blocks: tuple[Block, ...]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """[d_x] A readable name of each feature."""
        return tuple(name for block in self.blocks for name in block.names)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a table must have."""
        return tuple(column for block in self.blocks for column in block.reads)

    @property
    def is_structural(self) -> bool:
        """Whether the features are made of the graph alone, for all nodes at once."""
        return all(isinstance(block, _OfGraph) for block in self.blocks)

    def features(self, source: Source) -> SparseRows:
        """Return the features of these nodes; [n, d_x]."""
        from scipy import sparse

        parts = [block.rows(source) for block in self.blocks]
        if len(parts) == 1:
            return parts[0]
        return sparse.csr_array(sparse.hstack(parts, format="csr"))

    def to_dict(self) -> dict[str, Any]:
        """Return the preprocessing in terms of JSON."""
        blocks = [{"kind": block.kind, **asdict(block)} for block in self.blocks]  # type: ignore[call-overload]
        return {"format": _FORMAT, "blocks": blocks}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Preprocessing:
        """Return the preprocessing that `to_dict` described; anything else is refused."""
        if not isinstance(values, Mapping) or values.get("format") != _FORMAT:
            raise DataError(f"not a saved preprocessing: it must have 'format': '{_FORMAT}'.")
        try:
            return cls(tuple(_block(block) for block in values["blocks"]))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"this saved preprocessing is damaged: {error!r}.") from error


def _block(values: Mapping[str, Any]) -> Block:
    fields = {
        name: tuple(value) if isinstance(value, list | tuple) else value
        for name, value in values.items()
        if name != "kind"
    }
    block: Block = _BLOCKS[values["kind"]](**fields)
    for name, value in fields.items():
        is_number = name in ("means", "scales", "idf")
        entries = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(entry, float | int if is_number else str) for entry in entries):
            raise ValueError(f"'{name}' must hold {'numbers' if is_number else 'text'}")
    lengths = {len(fields[name]) for name in ("columns", "means", "scales") if name in fields}
    vocabulary_sizes = {len(fields[name]) for name in ("vocabulary", "idf") if name in fields}
    if len(lengths) > 1 or len(vocabulary_sizes) > 1:
        raise ValueError("its lists differ in length")
    return block


def word_weigher(**options: Any) -> Any:
    """Return scikit-learn's TF-IDF with the settings of every `Words`.

    Words have one character or more; which of them count is for the vocabulary to say.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    settings = {"dtype": np.float32, "sublinear_tf": True, "token_pattern": r"(?u)\b\w+\b"}
    return TfidfVectorizer(**settings | options)


def _rows_of(dense: NDArray[Any]) -> SparseRows:
    """Return a dense matrix as CSR with every entry stored, without finding the non-zero ones."""
    from scipy import sparse

    n, d = dense.shape
    index = np.int32 if n * d < 2**31 else np.int64
    columns = np.tile(np.arange(d, dtype=index), n)
    ends = np.arange(n + 1, dtype=index) * d
    return sparse.csr_array((dense.astype(np.float32, copy=False).ravel(), columns, ends), (n, d))
