"""What is in the data, what is odd about it, and what makes training on it hopeless."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from agnn.data.reading import Reading
from agnn.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.data._node_data import NodeData

_SHOWN: Final = 5


@dataclass(frozen=True)
class Oddity:
    """Something that may be as it should or a mistake, with the nodes to look at."""

    what: str
    count: int
    examples: tuple[Hashable, ...]
    """Ids of the first few."""


@dataclass(frozen=True)
class DataReport:
    """A dataset in figures and sentences."""

    name: str
    nodes: int
    edges: int
    """Undirected, each counted once."""

    features: int
    classes: dict[str, int]
    """Labelled nodes of each class."""

    unlabelled: int
    homophily: float | None
    """Share of edges with two labels whose labels agree; None where no edge has two."""

    raw_edge_entries: int
    duplicate_edges: int
    self_loops: int
    dropped_edges: int
    """Left out because they name an id that no node has."""

    splits: dict[str, dict[str, int]]
    row_normalised: bool
    oddities: tuple[Oddity, ...]
    obstacle: str | None
    """Why no method can learn from this data; None where one can."""

    reading: Reading | None

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it; ids that JSON does not know are text."""
        values = asdict(self)
        for oddity in values["oddities"]:
            oddity["examples"] = [_plain(each) for each in oddity["examples"]]
        return values


def data_report(data: NodeData) -> DataReport:
    """The report on `data`."""
    counts = np.bincount(data.labels[data.labelled], minlength=data.classes).tolist()
    return DataReport(
        name=data.name,
        nodes=data.nodes,
        edges=data.edges.shape[1],
        features=data.feature_count,
        classes=dict(zip(data.class_names, counts, strict=True)),
        unlabelled=data.nodes - data.labelled.size,
        homophily=homophily(data),
        raw_edge_entries=data.facts.raw_edge_entries,
        duplicate_edges=data.facts.duplicate_entries,
        self_loops=data.facts.self_loops,
        dropped_edges=data.reading.dropped_edges if data.reading else 0,
        splits={
            name: {part: int(nodes.size) for part, nodes in split.parts.items()}
            for name, split in data.splits.items()
        },
        row_normalised=data.row_normalised,
        oddities=tuple(_oddities(data, counts)),
        obstacle=_obstacle(data, counts),
        reading=data.reading,
    )


def check_learnable(data: NodeData) -> None:
    """Raise where no method could learn anything: no labels, or one class."""
    if data.report.obstacle is not None:
        raise DataError(data.report.obstacle)


def homophily(data: NodeData) -> float | None:
    """The share of edges whose ends have the same label, among those with two labels."""
    first, second = data.labels[data.edges]
    known = (first >= 0) & (second >= 0)
    return float((first == second)[known].mean()) if known.any() else None


def _oddities(data: NodeData, counts: Sequence[int]) -> list[Oddity]:
    degree = np.bincount(data.edges.ravel(), minlength=data.nodes)
    found = [
        _oddity(data, "nodes without an edge", degree == 0),
        _oddity(data, "nodes whose features are all zero", np.diff(data.features.indptr) == 0),
    ]
    found += [
        _oddity(data, f"labelled nodes of class '{name}', too few to learn", data.labels == label)
        for label, name in enumerate(data.class_names)
        if 0 < counts[label] < 3
    ]
    unseen = [name for name, count in zip(data.class_names, counts, strict=True) if count == 0]
    if unseen and data.labelled.size:
        found.append(Oddity("classes without a labelled node", len(unseen), tuple(unseen[:_SHOWN])))
    return [oddity for oddity in found if oddity.count]


def _oddity(data: NodeData, what: str, where: NDArray[np.bool_]) -> Oddity:
    nodes = np.flatnonzero(where)
    return Oddity(what, int(nodes.size), tuple(data.node_ids[i] for i in nodes[:_SHOWN].tolist()))


def _obstacle(data: NodeData, counts: Sequence[int]) -> str | None:
    present = [name for name, count in zip(data.class_names, counts, strict=True) if count]
    if not present:
        return f"'{data.name}' has no labels: name the column that holds them with --label."
    if len(present) == 1:
        return (
            f"'{data.name}' has one class, '{present[0]}', in all {data.labelled.size:,} labelled "
            f"nodes: there is nothing to tell apart."
        )
    return None


def _plain(value: Hashable) -> str | int | float | bool | None:
    return value if isinstance(value, str | int | float | bool | None) else str(value)
