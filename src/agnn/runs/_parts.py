"""Training a folder of parts: the graph is never whole until its run is saved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from agnn.data import NodeData, Preprocessing, RawCounts, Split
from agnn.distributed import Manifest, PartsFolder
from agnn.methods import Method, NetworkMethod
from agnn.runs._run import KnownResults, Run

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PARTS = ("train", "validation", "test")


def parts_data(path: Path | str) -> NodeData:
    """Return what a training must know of a folder of parts before it starts: labels and splits.

    Nodes are in the order of the parts. There are no edges, and no features are stored.
    """
    from scipy.sparse import csr_array

    folder = PartsFolder(path)
    manifest = folder.manifest
    splits = {}
    if set(_PARTS) <= set(manifest.masks):
        masks = folder.masks()
        train, validation, test = (np.flatnonzero(masks[name]) for name in _PARTS)
        splits["fixed"] = Split("fixed", train, validation, test)
    return NodeData(
        name=manifest.name,
        features=cast(Any, csr_array((manifest.nodes, manifest.feature_count), dtype=np.float32)),
        labels=np.array(folder.labels()),
        edges=np.empty((2, 0), np.int64),
        class_names=manifest.class_names,
        node_ids=cast(Any, range(manifest.nodes)),
        splits=MappingProxyType(splits),
        facts=RawCounts(manifest.entries, 0, manifest.self_loops),
        dataset=manifest.dataset,
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


def whole_run(run: Run, path: Path | str) -> Run:
    """Return the run with the whole graph as its data, nodes in the order given."""
    folder = PartsFolder(path)
    manifest = folder.manifest
    rows = np.asarray(folder.positions())
    part = folder.part(0, 1)
    receivers = np.repeat(np.arange(manifest.nodes), np.diff(part.offsets))
    kept = receivers < part.columns
    edges = np.stack([rows[receivers[kept]], rows[np.asarray(part.columns)[kept]]])
    position = np.empty_like(rows)  # of each row of the node table
    position[rows] = np.arange(rows.size)
    made = manifest.preprocessing
    data = NodeData.build(
        name=manifest.name,
        features=cast(Any, part.features)[position],
        labels=np.asarray(part.labels)[position],
        edges=edges,
        class_names=manifest.class_names,
        node_ids=folder.ids(),
        splits={name: _in_given_order(split, rows) for name, split in run.data.splits.items()},
        facts=_facts(manifest),
        preprocessing=None if made is None else Preprocessing.from_dict(dict(made)),
    )
    # Replicas that have one split share it as before.
    splits = {id(split): _in_given_order(split, rows) for split in run.splits}
    return replace(
        run,
        data=data,
        splits=tuple(splits[id(split)] for split in run.splits),
        known=KnownResults(run.scores[:, position], run.known.temperature),
    )


def _facts(manifest: Manifest) -> RawCounts:
    kept = manifest.edges + manifest.self_loops + manifest.dropped
    return RawCounts(manifest.entries, max(0, manifest.entries - kept), manifest.self_loops)


def _in_given_order(split: Split, rows: NDArray[np.int64]) -> Split:
    """Return a split by positions as one by rows of the node table."""
    train, validation, test = (np.sort(rows[split.parts[name]]) for name in _PARTS)
    return Split(split.name, train, validation, test, split.seed)
