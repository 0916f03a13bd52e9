"""The report on a dataset: how it was read, its figures, what is unusual about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from agnn.data._wording import quantity
from agnn.files import plain_id

if TYPE_CHECKING:
    from agnn.data._node_data import NodeData

Line = tuple[str, str]
"""A name and a text."""

_SHOWN: Final = 5  # examples of something unusual
_COLUMNS: Final = 3  # names of columns with the same use
_CLASSES: Final = 10
_LINES: Final = 12  # on columns with the same use
_NOTES: Final = 20
_FEW_LABELS: Final = 10  # of a class: few to learn from, and too few to measure an accuracy


@dataclass(frozen=True)
class ColumnUse:
    """What one column or attribute of the user's was used for."""

    table: str
    """"nodes" or "edges"."""

    name: str
    use: str
    """id, label, number, count, category, text, split, source, target, weight or left out."""

    detail: str = ""


@dataclass(frozen=True)
class Reading:
    """How data was read: the use of each column, and what was left out."""

    source: str
    """The files or objects."""

    columns: tuple[ColumnUse, ...] = ()
    notes: tuple[str, ...] = ()
    """What a user should know before trusting a result, one sentence each."""

    dropped_edges: int = 0
    """Edges left out because they name an id that no node has."""

    leaks: tuple[str, ...] = ()
    """Features that may give the answer away, one sentence each with how to leave them out."""

    unlabelled_as: Mapping[str, int] | None = None
    """How often each way of writing "no label" occurs."""

    label_kind: str = "text"
    """What the labels were, which class names are as text: "bool", "int", "float" or "text"."""

    def to_dict(self) -> dict[str, Any]:
        """Return the reading in terms of JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Oddity:
    """Something that may be intended or a mistake, with some nodes to look at."""

    what: str
    count: int
    examples: tuple[Hashable, ...]
    """Ids of the first few; of classes their names."""


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
    oddities: tuple[Oddity, ...]
    obstacle: str | None
    """Why no method can learn from this data; None where one can."""

    reading: Reading | None
    edge_weights: tuple[float, float, float] | None = None
    """The smallest, the median and the largest; None where the edges have no weights."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report in terms of JSON."""
        values = asdict(self)
        for oddity in values["oddities"]:
            oddity["examples"] = [plain_id(example) for example in oddity["examples"]]
        return values

    def count_lines(self) -> Iterator[Line]:
        """Return nodes, edges, features, labels and splits in figures."""
        yield "nodes", f"{self.nodes:,}, all ids different"
        dropped = self.dropped_edges
        entries = self.raw_edge_entries + dropped
        unknown = f", {dropped:,} to unknown ids" if dropped else ""
        yield (
            "edges",
            f"{self.edges:,} undirected, from {entries:,} entries ({self.duplicate_edges:,} "
            f"repeated, self-loops at {quantity(self.self_loops, 'node')}{unknown})",
        )
        if self.edge_weights is not None:
            least, middle, most = self.edge_weights
            yield "edge weights", f"{least:g} to {most:g}, median {middle:g}"
        yield "features", f"{self.features:,}"
        labelled = self.nodes - self.unlabelled
        share = 100 * self.unlabelled / max(self.nodes, 1)
        yield "labelled", f"{labelled:,} nodes; {self.unlabelled:,} ({share:.0f} %) unlabelled"
        if self.homophily is not None:
            yield (
                "homophily",
                f"{100 * self.homophily:.0f} % of the edges between labelled nodes join the same "
                f"class",
            )
        for sizes, group in groupby(self.splits, key=lambda name: self.splits[name]):
            names = list(group)  # equal sizes in a row, as numbered splits have them
            parts = ", ".join(f"{part} {size:,}" for part, size in sizes.items())
            if len(names) == 1:
                yield f"split '{names[0]}'", parts
            else:
                yield f"{len(names)} splits", f"'{names[0]}' to '{names[-1]}', each {parts}"

    def class_line(self) -> Line:
        """Return the classes with the most labelled nodes."""
        classes = sorted(self.classes.items(), key=lambda entry: -entry[1])
        largest = ", ".join(f"{name} {count:,}" for name, count in classes[:_CLASSES])
        more = f" and {len(classes) - _CLASSES} more" if len(classes) > _CLASSES else ""
        return "classes", largest + more or "none"

    def column_lines(self) -> Iterator[Line]:
        """Yield the use of the columns; nothing for data that was not read from columns.

        Of many columns with one use, but different details, the first ones are shown. Columns
        that are left out are among the warnings.
        """
        yield from self._use_lines(are_used=True)

    def _use_lines(self, *, are_used: bool) -> Iterator[Line]:
        columns: Sequence[ColumnUse] = self.reading.columns if self.reading else ()
        uses = [column for column in columns if (column.use != "left out") == are_used]
        lines = Counter[str]()
        hidden = Counter[str]()
        for (table, use, detail), group in groupby(
            uses, key=lambda column: (column.table, column.use, column.detail)
        ):
            names = [column.name for column in group]
            lines[f"{table}: {use}"] += 1
            if lines[f"{table}: {use}"] > _LINES:
                hidden[f"{table}: {use}"] += len(names)
                continue
            shown_names = ", ".join(repr(name) for name in names[:_COLUMNS])
            more = f" and {len(names) - _COLUMNS:,} more" if len(names) > _COLUMNS else ""
            yield f"{table}: {use}", shown_names + more + (f": {detail}" if detail else "")
        for name, count in hidden.items():
            yield name, f"and {quantity(count, 'more column')}; `agnn inspect --json` lists all"

    def warning_lines(self) -> Iterator[Line]:
        """Yield what may be a mistake, the worst first.

        Why nothing can be learned, features that may give the answer away, columns that are left
        out, what is unusual, and notes from reading.
        """
        if self.obstacle is not None:
            yield "cannot train", self.obstacle
        for leak in self.reading.leaks if self.reading else ():
            yield "leak?", leak
        yield from self._use_lines(are_used=False)
        for oddity in self.oddities:
            examples = ", ".join(str(example) for example in oddity.examples)
            more = ", ..." if oddity.count > len(oddity.examples) else ""
            yield "look at", f"{oddity.what}: {oddity.count:,} ({examples}{more})"
        notes: Sequence[str] = self.reading.notes if self.reading else ()
        for note in notes[:_NOTES]:
            yield "note", note
        if len(notes) > _NOTES:
            more = quantity(len(notes) - _NOTES, "more note")
            yield "note", f"and {more}; `agnn inspect --json` lists all"


def data_report(data: NodeData) -> DataReport:
    """Return the report on `data`."""
    counts = np.bincount(data.labels[data.labelled], minlength=data.classes).tolist()
    return DataReport(
        name=data.name,
        nodes=data.nodes,
        edges=data.edges.shape[1],
        features=data.feature_count,
        classes=dict(zip(data.class_names, counts, strict=True)),
        unlabelled=data.nodes - data.labelled.size,
        homophily=_homophily(data),
        raw_edge_entries=data.facts.raw_edge_entries,
        duplicate_edges=data.facts.duplicate_entries,
        self_loops=data.facts.self_loops,
        dropped_edges=data.reading.dropped_edges if data.reading else 0,
        splits={
            name: {part: int(nodes.size) for part, nodes in split.parts.items()}
            for name, split in data.splits.items()
        },
        oddities=tuple(_oddities(data, counts)),
        obstacle=_obstacle(data, counts),
        reading=data.reading,
        edge_weights=_weight_range(data),
    )


def _weight_range(data: NodeData) -> tuple[float, float, float] | None:
    if data.edge_weights is None or not data.edge_weights.size:
        return None
    low, middle, high = np.quantile(data.edge_weights.astype(np.float64), (0.0, 0.5, 1.0)).tolist()
    return low, middle, high


def _homophily(data: NodeData) -> float | None:
    """Return the share of edges whose ends have the same label, among those with two labels."""
    sender_labels, receiver_labels = data.edge_labels
    return float((sender_labels == receiver_labels).mean()) if sender_labels.size else None


def _oddities(data: NodeData, counts: Sequence[int]) -> list[Oddity]:
    degree = np.bincount(data.edges.ravel(), minlength=data.nodes)
    oddities = [
        _oddity(data, "nodes without an edge", degree == 0),
        _oddity(data, "nodes whose features are all zero", np.diff(data.features.indptr) == 0),
    ]
    by_count = sorted(zip(counts, data.class_names, strict=True))
    rare = [f"{name} {count}" for count, name in by_count if 0 < count < _FEW_LABELS]
    description = f"classes with fewer than {_FEW_LABELS} labelled nodes"
    oddities.append(Oddity(description, len(rare), tuple(rare[:_SHOWN])))
    unseen = [name for name, count in zip(data.class_names, counts, strict=True) if count == 0]
    if unseen and data.labelled.size:
        examples = tuple(unseen[:_SHOWN])
        oddities.append(Oddity("classes without a labelled node", len(unseen), examples))
    return [oddity for oddity in oddities if oddity.count]


def _oddity(data: NodeData, name: str, where: NDArray[np.bool_]) -> Oddity:
    nodes = np.flatnonzero(where)
    return Oddity(name, int(nodes.size), tuple(data.node_ids[i] for i in nodes[:_SHOWN].tolist()))


def _obstacle(data: NodeData, counts: Sequence[int]) -> str | None:
    present = [name for name, count in zip(data.class_names, counts, strict=True) if count]
    if not present:
        return f"'{data.name}' has no labels: name the column that holds them, `label` (--label)."
    if len(present) == 1:
        return (
            f"'{data.name}' has one class, '{present[0]}', in all {data.labelled.size:,} labelled "
            f"nodes: there is nothing to distinguish."
        )
    return None
