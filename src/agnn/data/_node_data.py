"""NodeData: the one form in which a graph with features and labels enters the package."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from agnn.data.edges import RawCounts, simple_edges
from agnn.data.features import checked_features, rows_summing_to_one
from agnn.data.labels import checked_ids, checked_labels, distinct_names
from agnn.data.scaling import scaled_features
from agnn.errors import InputError, unknown_name

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from agnn.data.features import SparseRows
    from agnn.data.preprocessing import Preprocessing
    from agnn.data.reading import Reading
    from agnn.data.report import DataReport
    from agnn.data.scaling import Scaling
    from agnn.data.splits import Split


@dataclass(frozen=True, eq=False)
class NodeData:
    """A graph with node features and labels, checked once and never changed.

    Make one with `NodeData.build`, which checks; the bare constructor does not.
    """

    name: str
    features: SparseRows = field(repr=False)
    """[n, d_x] float32 CSR, as in the source: rows are not normalised."""

    labels: NDArray[np.int64] = field(repr=False)
    """[n] class of each node; -1 where there is none."""

    edges: NDArray[np.int64] = field(repr=False)
    """[2, m/2] each undirected edge once, first < second, sorted; no self-loops."""

    class_names: tuple[str, ...]
    """[c]"""

    node_ids: tuple[Hashable, ...] = field(repr=False)
    """[n] the source's own names of the nodes: text, numbers, anything hashable."""

    splits: Mapping[str, Split] = field(repr=False)
    facts: RawCounts

    row_normalised: bool = True
    """Part of the fingerprint of data stored by older versions; methods have a `scaling`."""

    preprocessing: Preprocessing | None = field(default=None, repr=False)
    """How the features were made from a table's columns; it makes those of new nodes, too."""

    reading: Reading | None = field(default=None, repr=False)
    """What was taken as what where the data was read from somebody's files or objects."""

    @classmethod
    def build(
        cls,
        *,
        name: str,
        features: ArrayLike | Any,
        labels: ArrayLike,
        edges: ArrayLike,
        class_names: Sequence[str],
        node_ids: Sequence[Hashable] | None = None,
        splits: Mapping[str, Split] | None = None,
        facts: RawCounts | None = None,
        row_normalised: bool = True,
        preprocessing: Preprocessing | None = None,
        reading: Reading | None = None,
    ) -> Self:
        """The checked data; everything given is copied.

        `features` [n, d_x] is dense or SciPy sparse. `edges` [2, k] may be directed, repeat
        itself and hold self-loops; `facts` says what the source held where `edges` has been made
        simple before. `node_ids` are the indices as text unless given.
        """
        matrix = checked_features(features)
        nodes = matrix.shape[0]
        simple, counted = simple_edges(edges, nodes)
        simple.setflags(write=False)
        classes = distinct_names("class_names", class_names)
        data = cls(
            name=name,
            features=matrix,
            labels=checked_labels(labels, nodes, len(classes)),
            edges=simple,
            class_names=classes,
            node_ids=checked_ids(node_ids, nodes),
            splits=MappingProxyType(dict(splits or {})),
            facts=facts or counted,
            row_normalised=row_normalised,
            preprocessing=preprocessing,
            reading=reading,
        )
        for split in data.splits.values():
            split.check(data)
        return data

    @property
    def nodes(self) -> int:
        """Number of nodes n."""
        return self.features.shape[0]

    @property
    def feature_count(self) -> int:
        """Number of features d_x."""
        return self.features.shape[1]

    @property
    def classes(self) -> int:
        """Number of classes c."""
        return len(self.class_names)

    @cached_property
    def labelled(self) -> NDArray[np.int64]:
        """Indices of the nodes that have a label, ascending."""
        nodes = np.flatnonzero(self.labels >= 0)
        nodes.setflags(write=False)
        return nodes

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of what a result depends on: features, labels, edges, splits and c.

        Names are left out: the same numbers under other names give the same results.
        """
        x = self.features
        # SciPy picks the index type; the fingerprint must not depend on it.
        integers = (x.shape, x.indptr, x.indices, self.labels, self.edges)
        arrays: list[NDArray[Any]] = [np.asarray(part, dtype=np.int64) for part in integers]
        arrays.append(x.data)
        digest = hashlib.sha256(f"{self.classes} classes".encode())
        if not self.row_normalised:
            digest.update(b"features as they are")
        for key in sorted(self.splits):
            digest.update(key.encode())
            arrays += self.splits[key].parts.values()
        for array in arrays:
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(array.tobytes())
        return digest.hexdigest()

    @cached_property
    def names_fingerprint(self) -> str:
        """SHA-256 of what `fingerprint` leaves out: the node ids and the class names."""
        digest = hashlib.sha256(repr(self.class_names).encode())
        for each in self.node_ids:
            plain = each.item() if isinstance(each, np.generic) else each
            digest.update(f"\0{plain!r}".encode())
        return digest.hexdigest()

    @cached_property
    def report(self) -> DataReport:
        """What is in the data and what is odd about it."""
        from agnn.data.report import data_report

        return data_report(self)

    def scaled_features(
        self, scaling: Scaling, fitted_on: NodeData | None = None
    ) -> SparseRows | NDArray[np.float32]:
        """The features under a scaling: "sum", "length", "standard" or "none".

        `fitted_on` is the data that a model was trained on, where this is other data.
        """
        return scaled_features(self, scaling, fitted_on)

    def normalised_features(self) -> SparseRows:
        """The features with rows that sum to 1, as in the paper; zero rows stay zero.

        As they are where the data was read so (`row_normalised`).
        """
        return rows_summing_to_one(self.features) if self.row_normalised else self.features

    def split(self, name: str) -> Split:
        """The split that came with the data under this name."""
        if not self.splits:
            raise InputError(f"'{self.name}' came without splits; draw one, such as 'uniform'.")
        if name not in self.splits:
            raise unknown_name("split", name, self.splits)
        return self.splits[name]

    def with_split(self, split: Split) -> Self:
        """The same data with one more split, under the split's own name."""
        split.check(self)
        return replace(self, splits=MappingProxyType({**self.splits, split.name: split}))

    def __reduce__(self) -> tuple[Any, ...]:
        # Arrays come out of a pickle or a copy writable, and a mapping proxy does not go in.
        names = self.__dataclass_fields__
        fields = {key: getattr(self, key) for key in names} | {"splits": dict(self.splits)}
        return partial(type(self).build, **fields), ()
