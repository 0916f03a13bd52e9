"""Training a folder of parts, and its run: the graph is whole only where somebody asks for it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData, RawCounts, Split
from agnn.data.preprocessing import Preprocessing
from agnn.distributed import Manifest, PartsFolder
from agnn.methods import Method, NetworkMethod
from agnn.runs._part_results import PredictionFiles, renumber
from agnn.runs._predictor import KnownResults
from agnn.runs._run import Run

_PARTS = ("train", "validation", "test")


def parts_data(path: Path | str) -> NodeData:
    """Return what a training must know of a folder of parts before it starts: labels and splits.

    Nodes are in the order of the parts. There are no edges, and no features are stored.
    """
    folder = PartsFolder(path)
    manifest = folder.manifest
    splits = {}
    if set(_PARTS) <= set(manifest.masks):
        masks = folder.masks()
        train, validation, test = (np.flatnonzero(masks[name]) for name in _PARTS)
        splits["fixed"] = Split("fixed", train, validation, test)
    return replace(
        _without_graph(manifest.name, np.array(folder.labels()), manifest.class_names),
        features=_no_features(manifest.nodes, manifest.feature_count),
        splits=MappingProxyType(splits),
        facts=RawCounts(manifest.entries, 0, manifest.self_loops),
        dataset=manifest.dataset,
    )


class PartsData(NodeData):
    """The data of a run on parts: features, edges and ids are read where they are asked for.

    Nodes are in the order of the parts. The fingerprint is the name of the partition. What concerns
    some nodes is read from memory-mapped files; `features` and `edges` hold the whole graph.
    """

    path: Path
    manifest: Manifest

    def __new__(cls, **fields: Any) -> NodeData:  # type: ignore[misc]
        """Return a changed copy, which has everything in memory."""
        return NodeData(**fields)

    @classmethod
    def of(cls, path: Path | str, known: NodeData | None = None) -> PartsData:
        """Return the data in a folder of parts, of which labels and splits may be `known`."""
        known = parts_data(path) if known is None else known
        manifest = PartsFolder(path).manifest
        data: PartsData = object.__new__(cls)
        names = vars(known).keys() - {"features", "edges", "node_ids", "edge_weights", "unweighted"}
        vars(data).update({name: vars(known)[name] for name in names})
        values = manifest.preprocessing
        vars(data).update(
            path=Path(path).absolute(),
            manifest=manifest,
            facts=_facts(manifest),
            preprocessing=None if values is None else Preprocessing.from_dict(dict(values)),
            # Partitions differ wherever features, labels, edges, splits, ids or names do.
            fingerprint=manifest.partition,
            names_fingerprint=manifest.partition,
        )
        return data

    def __reduce__(self) -> Any:
        return PartsData.of, (self.path,)

    @property
    def nodes(self) -> int:
        """Number of nodes n."""
        return self.manifest.nodes

    @property
    def edge_count(self) -> int:
        """Number of undirected edges m/2."""
        return self.manifest.edges

    @property
    def feature_count(self) -> int:
        """Number of features d_x."""
        return self.manifest.feature_count

    @cached_property
    def _folder(self) -> PartsFolder:
        return PartsFolder(self.path)

    @property
    def node_ids(self) -> Any:
        """[n] the ids of the nodes, on disk."""
        return self._folder.ids

    def index_of(self, node_id: Hashable) -> int | None:
        """Return the index of the node with this id; None if there is none."""
        return self._folder.ids.position_of(node_id)

    def index_of_text(self, text: str) -> int | None:
        """Return the same: ids in parts are all numbers or all text."""
        return self.index_of(text)

    def feature_rows(self, nodes: NDArray[np.int64]) -> Any:
        """Return the features of some nodes [k], given by index; [k, d_x]."""
        return self._folder.feature_rows(nodes)

    @property
    def has_dense_features(self) -> bool:
        """Whether features are a table, of whose entries many are stored."""
        return self.manifest.is_dense

    @property
    def has_negative_features(self) -> bool:
        """Whether a feature is below 0."""
        return self.manifest.is_signed

    @property
    def column_statistics(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """[d_x] each: the means of the features, and the inverse of their deviations."""
        return np.array(self.manifest.column_means), np.array(self.manifest.column_scales)

    @property
    def rows_on_disk(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
        """The graph by rows, in memory-mapped files: offsets, columns and weights."""
        offsets, columns, weights = self._folder.rows
        return offsets, columns, weights if self.is_weighted else None

    @cached_property
    def features(self) -> Any:
        """[n, d_x] float32 CSR."""
        return self._whole.features

    @cached_property
    def edges(self) -> NDArray[np.int64]:
        """[2, m/2] each undirected edge once."""
        return self._whole.edges

    @property
    def is_weighted(self) -> bool:
        """Whether edges have weights."""
        return self.manifest.is_weighted

    @cached_property
    def edge_weights(self) -> NDArray[np.float32] | None:
        """[m/2] the weights of the edges; None where all count alike."""
        return self._whole.edge_weights if self.is_weighted else None

    @cached_property
    def unweighted(self) -> Any:
        """The same data in which every edge counts alike; itself if it has no edge weights."""
        if not self.is_weighted:
            return self
        data = PartsData.of(self.path, self)
        vars(data)["manifest"] = replace(self.manifest, is_weighted=False)
        return data

    @cached_property
    def _whole(self) -> NodeData:
        offsets, columns, weights = self._folder.rows
        receivers = np.repeat(np.arange(self.nodes), np.diff(offsets))
        is_first = receivers < columns
        return NodeData.build(
            name=self.name,
            features=self.feature_rows(np.arange(self.nodes)),
            labels=self.labels,
            edges=np.stack([receivers[is_first], columns[is_first]]),
            class_names=self.class_names,
            node_ids=range(self.nodes),
            edge_weights=None if weights is None else weights[is_first],
        )


def parts_method(method: Method, path: Path | str, *, is_scaling_given: bool) -> Method:
    """Return the method with the feature scaling that suits the parts.

    Not if one was asked for, nor on parts of a bundled dataset, which has presets.
    """
    manifest = PartsFolder(path).manifest
    is_preset = manifest.dataset != "*"
    is_network = isinstance(method, NetworkMethod) and method.scaling != "none"
    if is_scaling_given or is_preset or not is_network:
        return method
    if not manifest.is_dense and not manifest.is_signed:
        return method.with_fields(scaling="length")
    return method.with_fields(scaling="standard" if manifest.preprocessing is None else "none")


def at_labelled(data: NodeData, splits: tuple[Split, ...]) -> tuple[NodeData, tuple[Split, ...]]:
    """Return the labelled nodes alone, without features and edges, and the splits of them."""
    nodes = data.labelled
    return (
        _without_graph(data.name, data.labels[nodes], data.class_names),
        renumber(splits, nodes),
    )


def parts_run(
    labelled: Run, data: PartsData, splits: tuple[Split, ...], predictions: PredictionFiles
) -> Run:
    """Return the run on parts whose result at the labelled nodes is known."""
    known_results = KnownResults(
        temperature=labelled.known.temperature, labelled=labelled, predictions=predictions
    )
    return replace(labelled, data=data, splits=splits, known=known_results)


def _without_graph(name: str, labels: NDArray[np.int64], class_names: tuple[str, ...]) -> NodeData:
    """Return nodes that have labels and nothing else."""
    return NodeData(
        name=name,
        features=_no_features(labels.size, 0),
        labels=labels,
        edges=np.empty((2, 0), np.int64),
        class_names=class_names,
        node_ids=cast(Any, range(labels.size)),
        splits=MappingProxyType({}),
        facts=RawCounts(0, 0, 0),
    )


def _no_features(nodes: int, width: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array((nodes, width), dtype=np.float32)


def _facts(manifest: Manifest) -> RawCounts:
    kept_entries = manifest.edges + manifest.self_loops + manifest.dropped
    return RawCounts(manifest.entries, max(0, manifest.entries - kept_entries), manifest.self_loops)
