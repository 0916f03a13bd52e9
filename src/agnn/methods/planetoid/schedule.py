"""The order of Planetoid's batches, all drawn before the first step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from agnn.methods.planetoid.batches import Batches
from agnn.methods.planetoid.contexts import Paths, label_paths, walk_paths, within

if TYPE_CHECKING:
    from agnn.data import NodeData, Split
    from agnn.graph import SparseMatrix
    from agnn.methods.planetoid.state import Start
    from agnn.methods.planetoid.variant import Variant


@dataclass(frozen=True, eq=False)
class Schedule:
    """The context batches of some replicas: by label, then by walk, then beside the classifier."""

    labels: Batches
    walks: Batches
    beside: Batches
    epochs: NDArray[np.int64]  # [batches beside]: the classifier's step that each comes before


def drawn_schedule(
    variant: Variant, data: NodeData, split: Split, graph: SparseMatrix, start: Start
) -> Schedule:
    """What the sources of `start` draw, each in the same order whatever the others do."""
    labels, walks, beside, has_walk = [], [], [], []
    nodes = variant.context_nodes(data, split)
    for source in start.sources:
        labels.append(
            label_paths(
                data.labels[split.train], split.train, variant.label_pairs, variant.label_batches,
                source,
            )
        )  # fmt: skip
        chosen = source.random(variant.epochs) < variant.walk_share
        count = variant.walk_batches + int(chosen.sum())
        paths = walk_paths(graph, nodes, variant.walks, count, variant.walk, source)
        walks.append(paths[: variant.walk_batches])
        beside.append(paths[variant.walk_batches :])
        has_walk.append(chosen if paths.size else np.zeros_like(chosen))
    epochs = np.flatnonzero(np.any(has_walk, axis=0))
    apart = [
        _spread(each, own[epochs], data.nodes) for each, own in zip(beside, has_walk, strict=True)
    ]
    pairs = within(variant.walk + 1, variant.window)
    return Schedule(
        Batches(labels, start.places, np.array([[0], [1]]), start.device),
        Batches(walks, start.places, pairs, start.device),
        Batches(apart, start.places, pairs, start.device),
        epochs,
    )


def _spread(paths: Paths, has_batch: NDArray[np.bool_], filler: int) -> Paths:
    """The batches at the places that have one, batches without a node at the others."""
    found = np.full((has_batch.size, *paths.shape[1:]), filler)
    found[has_batch] = paths
    return found
