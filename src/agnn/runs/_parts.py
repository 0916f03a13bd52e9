"""Training a folder of parts: the graph is never whole until its run is saved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from agnn.data import NodeData, Preprocessing, RawCounts, Split
from agnn.distributed import (
    Manifest,
    open_labels,
    open_masks,
    open_part,
    open_positions,
    read_ids,
    read_manifest,
)
from agnn.methods import Method, NetworkMethod
from agnn.runs._run import Run

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PARTS = ("train", "validation", "test")


def parts_data(folder: Path | str) -> NodeData:
    """What a training must know of a folder of parts before it starts: labels and splits.

    Nodes are in the order of the parts. There are no edges, and no features are stored.
    """
    from scipy.sparse import csr_array

    manifest = read_manifest(folder)
    labels = np.array(open_labels(folder))
    splits = {}
    if set(_PARTS) <= set(manifest.masks):
        masks = open_masks(folder)
        train, validation, test = (np.flatnonzero(masks[name]) for name in _PARTS)
        splits["fixed"] = Split("fixed", train, validation, test)
    return NodeData(
        name=manifest.name,
        features=cast(Any, csr_array((manifest.nodes, manifest.feature_count), dtype=np.float32)),
        labels=labels,
        edges=np.empty((2, 0), np.int64),
        class_names=manifest.class_names,
        node_ids=cast(Any, range(manifest.nodes)),
        splits=MappingProxyType(splits),
        facts=RawCounts(manifest.entries, 0, manifest.self_loops),
    )


def parts_method(method: Method, folder: Path | str, *, is_scaling_given: bool) -> Method:
    """The method with the feature scaling that suits the parts, unless one was asked for."""
    if is_scaling_given or not isinstance(method, NetworkMethod) or method.scaling == "none":
        return method
    manifest = read_manifest(folder)
    if not manifest.is_dense and not manifest.is_signed:
        return method.with_fields(scaling="length")
    return method.with_fields(scaling="standard" if manifest.preprocessing is None else "none")


def whole_run(run: Run, folder: Path | str) -> Run:
    """The run with the whole graph as its data, nodes in the order in which they were given."""
    manifest, rows = read_manifest(folder), np.asarray(open_positions(folder))
    part = open_part(folder, 0, 1)
    receivers = np.repeat(np.arange(manifest.nodes), np.diff(part.offsets))
    kept = receivers < part.columns
    edges = np.stack([rows[receivers[kept]], rows[np.asarray(part.columns)[kept]]])
    place = np.empty_like(rows)
    place[rows] = np.arange(rows.size)
    made = manifest.preprocessing
    data = NodeData.build(
        name=manifest.name,
        features=cast(Any, part.features)[place],
        labels=np.asarray(part.labels)[place],
        edges=edges,
        class_names=manifest.class_names,
        node_ids=read_ids(folder),
        splits={name: _moved(split, rows) for name, split in run.data.splits.items()},
        facts=_facts(manifest),
        preprocessing=None if made is None else Preprocessing.from_dict(dict(made)),
    )
    moved = {id(split): _moved(split, rows) for split in run.splits}
    return replace(
        run,
        data=data,
        splits=tuple(moved[id(split)] for split in run.splits),
        known_scores=run.scores[:, place.copy()],
    )


def _facts(manifest: Manifest) -> RawCounts:
    kept = manifest.edges + manifest.self_loops + manifest.dropped
    return RawCounts(manifest.entries, max(0, manifest.entries - kept), manifest.self_loops)


def _moved(split: Split, rows: NDArray[np.int64]) -> Split:
    """A split by positions as one by rows of the node table."""
    train, validation, test = (np.sort(rows[split.parts[name]]) for name in _PARTS)
    return Split(split.name, train, validation, test, split.seed)
