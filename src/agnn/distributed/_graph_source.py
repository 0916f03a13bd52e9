"""Graphs as they are read to be divided: data in memory, tables larger than it, random ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from agnn.data import NodeData
from agnn.data.store import preset_name
from agnn.distributed._external_csr import Entries
from agnn.distributed._ids import TextIds
from agnn.errors import InputError

if TYPE_CHECKING:
    from agnn.data.tables import LargeTables

_ENTRIES: Final = 4_000_000  # edges or features at once

Rows = Any  # [k, d_x] a SciPy CSR matrix or a float32 array


@dataclass(frozen=True, eq=False)
class GraphSource:
    """A graph as it is read to be divided: nodes as given, edges and features in pieces."""

    name: str
    nodes: int
    edges: Callable[[], Iterable[Entries]]
    features: Callable[[], Iterable[Rows]]  # all rows, in the order given
    labels: NDArray[np.int64]  # [n]
    class_names: Sequence[str]
    dataset: str = "*"  # the bundled dataset that it is, if any
    ids: NDArray[np.int64] | TextIds | None = None  # None: the nodes' numbers
    masks: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    preprocessing: Mapping[str, Any] | None = None
    notes: Callable[[], Sequence[str]] = tuple  # known when everything has been read
    dropped: Callable[[], int] = int

    @classmethod
    def of_data(cls, data: NodeData) -> GraphSource:
        """Return data in memory; the masks are those of its split "fixed", or of its only one."""
        split = data.splits.get("fixed") or next(iter(data.splits.values()), None)
        masks = {}
        for name, nodes in {} if split is None else split.parts.items():
            masks[name] = np.isin(np.arange(data.nodes), nodes)
        preprocessing = data.preprocessing
        return cls(
            name=data.name,
            nodes=data.nodes,
            edges=lambda: [(data.edges, data.edge_weights)],
            features=lambda: [data.features],
            labels=data.labels,
            class_names=data.class_names,
            dataset=preset_name(data),
            ids=TextIds.of(map(str, data.node_ids)),
            masks=masks,
            preprocessing=None if preprocessing is None else preprocessing.to_dict(),
        )

    @classmethod
    def of_tables(cls, tables: LargeTables, name: str) -> GraphSource:
        """Return tables that are larger than memory."""
        ids: Any = tables.ids
        return cls(
            name=name,
            nodes=tables.nodes,
            edges=tables.edges,
            features=tables.features,
            labels=tables.labels.codes,
            class_names=tables.labels.class_names,
            ids=ids if isinstance(ids, np.ndarray) else TextIds(*_arrow_text(ids)),
            masks=tables.masks,
            preprocessing=tables.preprocessing.to_dict(),
            notes=lambda: tables.notes,
            dropped=lambda: tables.dropped,
        )

    @classmethod
    def synthetic(cls, nodes: int, edges: int, features: int = 32, seed: int = 0) -> GraphSource:
        """Return a graph for trials: communities whose nodes have one class and similar features.

        Four in five edges stay inside a community of about 100 nodes, which are spread over the
        order given.
        """
        if nodes < 100 or edges < 1 or features < 1:
            raise InputError("a synthetic graph needs 100 nodes, 1 edge and 1 feature at least.")
        communities = nodes // 100
        classes = min(16, communities)
        draw = np.random.default_rng(seed)
        home = draw.permutation(nodes) % communities  # [n]
        members = np.argsort(home, kind="stable")
        sizes = np.bincount(home, minlength=communities)
        starts = np.cumsum(sizes) - sizes
        centres = draw.standard_normal((classes, features), dtype=np.float32)

        def draw_edges() -> Iterator[Entries]:
            source = np.random.default_rng((seed, 1))
            for start in range(0, edges, _ENTRIES):
                node = source.integers(nodes, size=min(_ENTRIES, edges - start))
                group = home[node]
                member = (source.random(node.size) * sizes[group]).astype(int)
                near = members[starts[group] + member]
                far = source.integers(nodes, size=node.size)
                yield np.stack([node, np.where(source.random(node.size) < 0.8, near, far)]), None

        def draw_features() -> Iterator[NDArray[np.float32]]:
            source = np.random.default_rng((seed, 2))
            step = max(1, _ENTRIES // features)
            for start in range(0, nodes, step):
                kind = home[start : start + step] % classes
                noise = source.standard_normal((kind.size, features), dtype=np.float32)
                yield centres[kind] + 4.0 * noise

        part = draw.integers(10, size=nodes)
        return cls(
            name=f"synthetic-{nodes}-{edges}",
            nodes=nodes,
            edges=draw_edges,
            features=draw_features,
            labels=home % classes,
            class_names=tuple(f"class {k}" for k in range(classes)),
            masks={"train": part == 0, "validation": part == 1, "test": part > 1},
        )


def _arrow_text(ids: Any) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return where each text of a pyarrow array ends, and the bytes of all; without a copy."""
    _, ends, content = ids.buffers()
    offsets = np.frombuffer(ends, np.int64)[ids.offset : ids.offset + len(ids) + 1]
    return offsets[1:], np.frombuffer(content or b"", np.uint8)[: offsets[-1]]
