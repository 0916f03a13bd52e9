"""NodeData: a graph with features and labels, the form in which all data enters the package."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agnn.data._edges import (
    RawCounts,
    checked_weights,
    mean_weights,
    merged_edges,
    simple_edges,
)
from agnn.data._features import checked_features
from agnn.data._labels import (
    checked_ids,
    checked_labels,
    class_values,
    distinct_names,
    id_text,
)
from agnn.data.scaling import (
    DENSE,
    Scaling,
    SparseRows,
    column_statistics,
    frozen_csr,
    scaled_features,
)
from agnn.errors import DataError, InputError, unknown_name

if TYPE_CHECKING:
    from agnn.data._report import DataReport, Reading
    from agnn.data._splits._split import Split
    from agnn.data.preprocessing import Preprocessing

KINDS: Final = ("title", "url", "description")
_SCHEMES: Final = ("http://", "https://")
_SHOWN_CLASSES: Final = 20  # in a notebook


def checked_texts(texts: Mapping[str, Sequence[str]], nodes: int) -> Mapping[str, tuple[str, ...]]:
    """Return the texts by kind, one per node; an address must be one of the web."""
    checked = {}
    for kind, values in texts.items():
        if kind not in KINDS:
            raise DataError(f"`texts` may have {', '.join(KINDS)}; got '{kind}'.")
        cells = tuple(str(cell).strip() for cell in values)
        if len(cells) != nodes:
            raise DataError(f"`texts`: {len(cells)} of kind '{kind}' for {nodes} nodes.")
        checked[kind] = cells
    # A page links to them: any other scheme, such as javascript:, could run a program.
    for row, address in enumerate(checked.get("url", ())):
        if address and not address.lower().startswith(_SCHEMES):
            raise DataError(
                f"the address of node {row + 1} must begin with http:// or https://; got "
                f"'{address[:60]}'."
            )
    return MappingProxyType(checked)


_IDS_AT_ONCE: Final = 65_536  # hashed in one piece of text


@dataclass(frozen=True, eq=False, repr=False)
class NodeData:
    """A graph with node features and labels, checked once and never changed.

    Make one with `NodeData.build`, which checks; the bare constructor does not.

    >>> data = NodeData.build(
    ...     name="two", features=[[1, 0], [0, 1]], labels=[0, -1], edges=[[0], [1]],
    ...     class_names=("a", "b"),
    ... )
    >>> data.nodes, data.classes, data.labelled.tolist()
    (2, 2, [0])
    """

    name: str
    features: SparseRows
    """[n, d_x] float32 CSR, as in the source: rows are not normalised."""

    labels: NDArray[np.int64]
    """[n] class of each node; -1 where there is none."""

    edges: NDArray[np.int64]
    """[2, m/2] each undirected edge once, first < second, sorted; no self-loops."""

    class_names: tuple[str, ...]
    """[c]"""

    node_ids: tuple[Hashable, ...]
    """[n] the source's own ids of the nodes: text, numbers, anything hashable."""

    splits: Mapping[str, Split]
    facts: RawCounts

    preprocessing: Preprocessing | None = None
    """How the features were made from a table's columns; it also makes those of new nodes."""

    reading: Reading | None = None
    """How the data was read from files or objects; None if it was built or is bundled."""

    edge_weights: NDArray[np.float32] | None = None
    """[m/2] above 0, in the order of `edges`; None where every edge counts alike."""

    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """[n] each: "title", "url" and "description" of the nodes, for people; "" where there is none.

    No model reads them, and they are no part of the fingerprint.
    """

    dataset: str | None = None
    """The bundled dataset that this is, where features and edges are in parts on disk."""

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
        preprocessing: Preprocessing | None = None,
        reading: Reading | None = None,
        edge_weights: ArrayLike | None = None,
        texts: Mapping[str, Sequence[str]] | None = None,
        dataset: str | None = None,
    ) -> Self:
        """Return the checked data; everything given is copied.

        `features` [n, d_x] is dense or SciPy sparse. `edges` [2, k] may be directed, hold
        repetitions and self-loops; edges that are sorted and simple already are not sorted again,
        and `facts` says what their source held. `node_ids` are the indices as text by default.

        `edge_weights` [k] are numbers above 0. An edge that is given several times, or in both
        directions, has the mean of its weights. Weights that are all 1 are the same as none.
        """
        matrix = checked_features(features)
        nodes = matrix.shape[0]
        simple, counted = simple_edges(edges, nodes)
        simple.setflags(write=False)
        weights = None if edge_weights is None else _weights(edges, edge_weights, simple, nodes)
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
            preprocessing=preprocessing,
            reading=reading,
            edge_weights=weights,
            texts=checked_texts(texts or {}, nodes),
            dataset=dataset,
        )
        for split in data.splits.values():
            split.check(data)
        return data

    def __repr__(self) -> str:
        return f"NodeData({self.name}: {', '.join(self._facts)})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the size of the graph and the labels of each class."""
        counts = np.bincount(self.labels[self.labelled], minlength=self.classes)
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{count:,}</td></tr>"
            for name, count in zip(self.class_names[:_SHOWN_CLASSES], counts.tolist(), strict=False)
        )
        hidden_classes = self.classes - _SHOWN_CLASSES
        if hidden_classes > 0:
            rows += f"<tr><td>{hidden_classes:,} further classes</td><td></td></tr>"
        return (
            f"<p><strong>{escape(self.name)}</strong>: {', '.join(self._facts)}</p>"
            f"<table><thead><tr><th>class</th><th>labelled nodes</th></tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )

    @property
    def _facts(self) -> list[str]:
        """The size of the graph in words."""
        weighted = "weighted " if self.is_weighted else ""
        return [
            f"{self.nodes:,} nodes",
            f"{self.edge_count:,} {weighted}edges",
            f"{self.feature_count:,} features",
            f"{self.classes:,} classes",
            f"{self.labelled.size:,} labelled",
        ]

    def name_of(self, node: int) -> str:
        """Return the title of a node, given by its index, or else its id."""
        return self.text_of(node, "title") or str(self.node_ids[node])

    def text_of(self, node: int, kind: str) -> str:
        """Return the "title", "url" or "description" of a node; empty where there is none."""
        return self.texts[kind][node] if kind in self.texts else ""

    @property
    def nodes(self) -> int:
        """Number of nodes n."""
        return self.features.shape[0]

    @property
    def edge_count(self) -> int:
        """Number of undirected edges m/2."""
        return int(self.edges.shape[1])

    @property
    def feature_count(self) -> int:
        """Number of features d_x."""
        return self.features.shape[1]

    def feature_rows(self, nodes: NDArray[np.int64]) -> SparseRows:
        """Return the features of some nodes [k], given by index; [k, d_x]."""
        return self.features[nodes]

    @property
    def has_dense_features(self) -> bool:
        """Whether features are a table, of whose entries many are stored, not a bag of words."""
        x = self.features
        return x.nnz >= DENSE * x.shape[0] * x.shape[1]

    @property
    def has_negative_features(self) -> bool:
        """Whether a feature is below 0."""
        return bool(self.features.nnz and self.features.data.min() < 0)

    @property
    def column_statistics(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """[d_x] each: the means of the features, and the inverse of their deviations."""
        return column_statistics(self.features)

    @property
    def rows_on_disk(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None] | None:
        """The graph by rows where it is in memory-mapped files: offsets, columns and weights.

        Then `feature_rows`, `index_of` and items of `node_ids` read from disk what they return.
        """
        return None

    @property
    def classes(self) -> int:
        """Number of classes c."""
        return len(self.class_names)

    @property
    def class_values(self) -> NDArray[Any]:
        """[c] The classes as the source had them: true and false, numbers or text."""
        return class_values(self.class_names, self.reading.label_kind if self.reading else "text")

    @cached_property
    def labelled(self) -> NDArray[np.int64]:
        """Indices of the nodes that have a label, ascending."""
        nodes = np.flatnonzero(self.labels >= 0)
        nodes.setflags(write=False)
        return nodes

    @property
    def edge_labels(self) -> NDArray[np.int64]:
        """The labels of both ends of the edges between labelled nodes; [2, k]."""
        labels: NDArray[np.int64] = self.labels[self.edges]
        return labels[:, (labels >= 0).all(axis=0)]

    @property
    def is_weighted(self) -> bool:
        """Whether edges have weights."""
        return self.edge_weights is not None

    @property
    def id_name(self) -> str:
        """What the column of ids is called in the table of nodes."""
        columns = () if self.reading is None else self.reading.columns
        return next(
            (column.name for column in columns if (column.table, column.use) == ("nodes", "id")),
            "id",
        )

    @cached_property
    def unweighted(self) -> Self:
        """The same data in which every edge counts alike; itself if it has no edge weights."""
        return replace(self, edge_weights=None) if self.is_weighted else self

    def check_learnable(self) -> None:
        """Raise if no method can learn anything from the data: no labels, or only one class."""
        if self.report.obstacle is not None:
            raise DataError(self.report.obstacle)

    def check_features(self, method: str) -> None:
        """Raise unless the nodes have features, from which a method learns."""
        if self.feature_count == 0:
            raise InputError(f"'{self.name}' has no features, and {method} learns from them.")

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of what a result depends on: features, labels, edges, weights, splits and c.

        Names are left out: the same numbers under other names give the same results.
        """
        x = self.features
        # SciPy picks the index type; the fingerprint must not depend on it.
        integers = (x.shape, x.indptr, x.indices, self.labels, self.edges)
        arrays: list[NDArray[Any]] = [np.asarray(part, dtype=np.int64) for part in integers]
        arrays.append(x.data)
        digest = hashlib.sha256(f"{self.classes} classes".encode())
        if self.edge_weights is not None:
            digest.update(b"edge weights")
            arrays.append(self.edge_weights)
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
        for start in range(0, len(self.node_ids), _IDS_AT_ONCE):
            ids = self.node_ids[start : start + _IDS_AT_ONCE]
            plain = (
                node_id.item() if isinstance(node_id, np.generic) else node_id for node_id in ids
            )
            digest.update("".join(f"\0{node_id!r}" for node_id in plain).encode())
        return digest.hexdigest()

    def index_of(self, node_id: Hashable) -> int | None:
        """Return the index of the node with this id; None if there is none.

        A number and its text are the same id, 7 and "7", unless two nodes have the same text.
        """
        try:
            index = self._indices.get(node_id)
        except TypeError:  # not hashable, so no id
            return None
        return self._indices_by_text.get(id_text(node_id)) if index is None else index

    def index_of_text(self, text: str) -> int | None:
        """Return the index of a node whose id is no text but is written like this.

        For people, who type text: also where another node has this text as its id.
        """
        return self._indices_of_others.get(text)

    @cached_property
    def _indices_of_others(self) -> dict[str, int]:
        ids = enumerate(self.node_ids)
        return {str(node_id): k for k, node_id in ids if type(node_id) is not str}

    @cached_property
    def _indices(self) -> dict[Hashable, int]:
        return {node: k for k, node in enumerate(self.node_ids)}

    @cached_property
    def _indices_by_text(self) -> dict[str, int]:
        """The index of each id by its text; nothing if two ids have the same text."""
        indices = {id_text(node): k for k, node in enumerate(self.node_ids)}
        return indices if len(indices) == self.nodes else {}

    @cached_property
    def report(self) -> DataReport:
        """What is in the data and what is unusual about it."""
        from agnn.data._report import data_report

        return data_report(self)

    def scaled_features(
        self, scaling: Scaling, fitted_on: NodeData | None = None
    ) -> SparseRows | NDArray[np.float32]:
        """Return the features under a scaling: "sum", "length", "standard" or "none".

        `fitted_on` is the data that a model was trained on, where this is other data.
        """
        return scaled_features(self, scaling, fitted_on)

    def split(self, name: str) -> Split:
        """Return the split that came with the data under this name."""
        if not self.splits:
            raise InputError(f"'{self.name}' came without splits; draw one, such as 'uniform'.")
        if name not in self.splits:
            raise unknown_name("split", name, self.splits)
        return self.splits[name]

    def with_split(self, split: Split) -> Self:
        """Return the same data with one more split, under the split's own name."""
        return self.with_splits({split.name: split})

    def with_splits(self, splits: Mapping[str, Split]) -> Self:
        """Return the same data with these splits, by name, beside its own."""
        for split in splits.values():
            split.check(self)
        return replace(self, splits=MappingProxyType({**self.splits, **splits}))

    def with_new_nodes(
        self,
        features: SparseRows,
        edges: NDArray[np.int64],
        node_ids: Sequence[Hashable],
        *,
        reading: Reading | None = None,
        edge_weights: ArrayLike | None = None,
    ) -> Self:
        """Return the same data followed by unlabelled nodes; splits stay as they are.

        `features` [k, d_x] and `node_ids` [k] are those of the new nodes; if `features` has rows
        for all n + k nodes, they replace the old ones too. `edges` [2, e] are entries that name
        old and new nodes by index. Old edges are not sorted again: what this costs beyond the
        copies follows from the new nodes alone. Where the data has edge weights, the new edges
        have `edge_weights` [e]; an edge that is there already keeps its own.
        """
        from scipy import sparse

        total = self.nodes + len(node_ids)
        more, counted = simple_edges(edges, total)
        for node_id in node_ids:
            if self.index_of(node_id) is not None:
                raise DataError(f"the id {node_id!r} is in '{self.name}' already.")
        rows = checked_features(features)
        if rows.shape[0] != total:
            rows = frozen_csr(sparse.csr_array(sparse.vstack([self.features, rows], format="csr")))
        merged, weights = self._with_more_edges(edges, edge_weights, more, total)
        labels = np.concatenate([self.labels, np.full(len(node_ids), -1)])
        for array in (merged, labels, *(() if weights is None else (weights,))):
            array.setflags(write=False)
        return replace(
            self,
            features=rows,
            labels=labels,
            edges=merged,
            node_ids=(*self.node_ids, *checked_ids(node_ids, len(node_ids))),
            facts=RawCounts(
                self.edges.shape[1] + counted.raw_edge_entries,
                self.edges.shape[1] + more.shape[1] - merged.shape[1] + counted.duplicate_entries,
                counted.self_loops,
            ),
            reading=reading or self.reading,
            edge_weights=weights,
            texts={key: (*values, *[""] * len(node_ids)) for key, values in self.texts.items()},
        )

    def _with_more_edges(
        self,
        entries: NDArray[np.int64],
        weights: ArrayLike | None,
        more: NDArray[np.int64],
        nodes: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32] | None]:
        """Return edges and weights with those of `entries` [2, e], which are `more` when simple."""
        if (weights is None) != (self.edge_weights is None):
            state = "has no" if self.edge_weights is None else "has"
            raise InputError(f"'{self.name}' {state} edge weights; new edges must be alike.")
        new = None
        if weights is not None:
            new = mean_weights(more, entries, checked_weights(weights, entries), nodes)
        return merged_edges(self.edges, more, nodes, self.edge_weights, new)

    def __reduce__(self) -> tuple[Any, ...]:
        # Arrays come out of a pickle or a copy writable, and a mapping proxy does not go in.
        names = self.__dataclass_fields__
        fields = {key: getattr(self, key) for key in names} | {
            "splits": dict(self.splits),
            "texts": dict(self.texts),
        }
        return partial(type(self).build, **fields), ()


def _weights(
    entries: ArrayLike, weights: ArrayLike, edges: NDArray[np.int64], nodes: int
) -> NDArray[np.float32] | None:
    """Return the weights [m] of the simple edges of `entries` [2, k]; None if all are 1."""
    pairs = np.asarray(entries, dtype=np.int64)
    means = mean_weights(edges, pairs, checked_weights(weights, pairs), nodes)
    means.setflags(write=False)
    return None if (means == 1).all() else means
