"""Arrays on their way to NodeData."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from agnn.data._node_data import NodeData
from agnn.data.array_labels import ArrayLabels, array_labels
from agnn.data.edge_columns import EdgeEntries
from agnn.data.edges import simple_edges
from agnn.data.feature_blocks import Source, Structure
from agnn.data.feature_columns import STRUCTURE_NOTE
from agnn.data.labels import checked_ids
from agnn.data.odd_edges import edge_notes
from agnn.data.preprocessing import Preprocessing
from agnn.data.reading import Reading

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from agnn.data.splits import Split


@dataclass(frozen=True, eq=False)
class ArrayGraph:
    """A graph in arrays, as its source has it."""

    name: str
    place: str
    entries: NDArray[Any]  # [2, k]
    nodes: int
    features: Any = None  # [n, d_x] dense or sparse; None: none
    node_ids: Sequence[Hashable] | None = None
    splits: Mapping[str, Split] | None = None
    notes: Sequence[str] = field(default_factory=list)

    def node_data(self, labels: ArrayLike | None, class_names: Sequence[str] | None) -> NodeData:
        """The checked data; degree and the like stand in for features that are not there."""
        simple, facts = simple_edges(self.entries, self.nodes)
        ids = checked_ids(self.node_ids, self.nodes)
        found = EdgeEntries(
            np.asarray(self.entries, dtype=np.int64), np.arange(self.entries.shape[1])
        )
        known = ArrayLabels(np.full(self.nodes, -1), tuple(class_names or ()))
        if labels is not None:
            known = array_labels(np.asarray(labels), class_names)
        notes = [*self.notes, *edge_notes(found, simple, facts, ids, self.place)]
        features, preprocessing = self.features, None
        if features is None:
            preprocessing = Preprocessing((Structure.fitted(simple, self.nodes),))
            features = preprocessing.features(Source(None, simple, self.nodes))
            notes.append(STRUCTURE_NOTE)
        is_signed = bool(features.size and features.min() < 0)
        if is_signed and self.features is not None:
            notes.append("Some features are negative, so all are used as they are.")
        return NodeData.build(
            name=self.name,
            features=features,
            labels=known.codes,
            edges=simple,
            class_names=known.class_names,
            node_ids=ids,
            splits=self.splits,
            facts=facts,
            row_normalised=not is_signed,
            preprocessing=preprocessing,
            reading=Reading(source=self.place, notes=tuple(notes)),
        )
