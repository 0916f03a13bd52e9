"""What had to go to make edges simple, in words, with rows to look at."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from agnn.data.reading import counted, shown_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.data.edge_columns import EdgeEntries
    from agnn.data.edges import RawCounts


def edge_notes(
    found: EdgeEntries,
    simple: NDArray[np.int64],
    facts: RawCounts,
    ids: Sequence[Hashable],
    place: str,
) -> list[str]:
    """Sentences about direction, repeated edges and self-loops among the edges found."""
    notes, entries = [], found.entries
    distinct = facts.raw_edge_entries - facts.duplicate_entries - facts.self_loops
    one_way = 2 * simple.shape[1] - distinct
    if one_way:
        notes.append(
            f"{place}: {one_way:,} of {counted(simple.shape[1], 'edge')} in one direction only; "
            f"all are taken as undirected."
        )
    if facts.duplicate_entries:
        places = repeated_places(entries, len(ids))
        i, j = entries[:, places[0]].tolist()
        notes.append(
            f"{place}: {counted(facts.duplicate_entries, 'repeated edge')} dropped, such as "
            f"{ids[i]!r} to {ids[j]!r} in {shown_rows(found.rows[places])}."
        )
    if facts.self_loops:
        places = np.flatnonzero(entries[0] == entries[1])
        loop = ids[entries[0, places[0]]]
        notes.append(
            f"{place}: {counted(places.size, 'self-loop')} dropped (every method adds its own), "
            f"such as {loop!r} in {shown_rows(found.rows[places])}."
        )
    return notes


def repeated_places(entries: NDArray[np.int64], nodes: int) -> NDArray[np.int64]:
    """Where the first entry (by its nodes) stands that is there more than once."""
    keys = entries[0] * nodes + entries[1]
    ordered = np.sort(keys)
    twin = ordered[1:][ordered[1:] == ordered[:-1]][0]
    return np.flatnonzero(keys == twin)
