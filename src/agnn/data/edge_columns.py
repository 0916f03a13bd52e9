"""The columns of an edge table: from the user's ids to node positions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from agnn.data.edge_weights import EdgeWeights
from agnn.data.encoded_text import plain_text
from agnn.data.node_index import is_missing
from agnn.data.read_options import check_columns
from agnn.data.reading import ColumnUse
from agnn.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.data.node_index import NodeIndex
    from agnn.data.read_options import ReadOptions
    from agnn.data.table_source import TableSource

_ENDS: Final = (
    ("source", "target"), ("src", "dst"), ("from", "to"), ("sender", "receiver"), ("u", "v"),
)  # fmt: skip


@dataclass
class EdgeEntries:
    """Edges as positions, and what was left out on the way."""

    entries: NDArray[np.int64]  # [2, k]
    rows: NDArray[np.int64]  # [k] the row of the table that each came from
    uses: list[ColumnUse] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    dropped: int = 0


def edge_entries(edges: TableSource, index: NodeIndex, options: ReadOptions) -> EdgeEntries:
    """The edges of a table whose ends are named by the ids in `index`."""
    source, target = _ends(edges, options)
    parts = _Parts(edges.place, (source, target), index)
    weights = EdgeWeights([name for name in edges.columns if name not in (source, target)])
    for frame in edges.batches([source, target, *weights.columns]):
        parts.add(frame)
        weights.look_at(frame)
    if not parts.rows and not edges.may_be_empty:
        raise DataError(f"{edges.place} has no rows.")
    found = EdgeEntries(parts.entries(), parts.kept_rows())
    found.uses += [ColumnUse("edges", source, "source"), ColumnUse("edges", target, "target")]
    if parts.unknown:
        if not options.drop_unknown:
            raise DataError(parts.complaint())
        found.dropped = parts.unknown
        found.notes.append(parts.remark())
    uses, notes = weights.settle(edges.place, ignore=options.ignore_weights)
    found.uses += uses
    found.notes += notes
    return found


def _ends(edges: TableSource, options: ReadOptions) -> tuple[str, str]:
    check_columns(edges.place, edges.columns, [options.source, options.target])
    lower = {name.lower(): name for name in edges.columns}
    given = [end for end in (options.source, options.target) if end is not None]
    if len(given) < 2:
        usual = next((pair for pair in _ENDS if set(pair) <= set(lower)), None)
        pair = [lower[end] for end in usual] if usual else [name for name in edges.columns if name]
        free = [name for name in pair if name not in given]
        wanted = [options.source, options.target]
        if len(free) < wanted.count(None):
            raise DataError(f"{edges.place} must have two columns of ids; it has {len(pair)}.")
        ends = [end or free.pop(0) for end in wanted]
    else:
        ends = given
    if ends[0] == ends[1]:
        raise DataError(f"{edges.place}: source and target are the same column, '{ends[0]}'.")
    return ends[0], ends[1]


class _Parts:
    """Positions batch by batch, and the first few rows that name nobody."""

    def __init__(self, place: str, ends: tuple[str, str], index: NodeIndex) -> None:
        self.place, self.ends, self.index = place, ends, index
        self.found: list[NDArray[np.int64]] = []
        self.dropped: list[NDArray[np.int64]] = []
        self.rows = self.unknown = 0
        self.examples: list[str] = []

    def add(self, frame: Any) -> None:
        both = self.index.positions_of_both(*(frame[end] for end in self.ends))
        bad = np.flatnonzero((both < 0).any(axis=0))
        if bad.size:
            self._check_gaps(frame)
            self.unknown += bad.size
            for row in bad[: 3 - len(self.examples)]:
                end = self.ends[0] if both[0, row] < 0 else self.ends[1]
                (value,) = frame[end].iloc[[row]].tolist()  # Python's own, not NumPy's
                self.examples.append(f"row {self.rows + row + 1} {value!r} in column '{end}'")
            self.dropped.append(bad + self.rows)
            both = np.delete(both, bad, axis=1)
        self.rows += len(frame)
        self.found.append(both)

    def entries(self) -> NDArray[np.int64]:
        return np.concatenate([np.empty((2, 0), dtype=np.int64), *self.found], axis=1)

    def kept_rows(self) -> NDArray[np.int64]:
        gone = np.concatenate([np.empty(0, dtype=np.int64), *self.dropped])
        return np.delete(np.arange(self.rows), gone)

    def _check_gaps(self, frame: Any) -> None:
        for end in self.ends:
            gaps = np.flatnonzero(is_missing(plain_text(frame[end])))
            if gaps.size:
                row = self.rows + int(gaps[0]) + 1
                raise DataError(f"{self.place}, column '{end}', row {row}: the id is missing.")

    def complaint(self) -> str:
        kinds = ""
        if self.unknown == self.rows:
            kinds = " None is known: are these the right columns, text in both or numbers in both?"
        return (
            f"{self.place}: {self.unknown:,} of {self.rows:,} edges name an id that is not in "
            f"{self.index.where}: {', '.join(self.examples)}.{kinds} Add the nodes, or leave such "
            f"edges out with --drop-unknown (drop_unknown=True)."
        )

    def remark(self) -> str:
        return (
            f"{self.place}: {self.unknown:,} of {self.rows:,} edges name an id that no node has "
            f"and are left out: {', '.join(self.examples)}."
        )
