"""How data was read: which column was taken as what, and what had to be said aloud."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class ColumnUse:
    """What became of one column, or one attribute, of the user's."""

    table: str
    """"nodes" or "edges"."""

    name: str
    use: str
    """id, label, number, count, category, text, split, source, target or left out."""

    detail: str = ""


@dataclass(frozen=True)
class Reading:
    """What was taken as what, and what was left out."""

    source: str
    """The files or objects, in words."""

    columns: tuple[ColumnUse, ...] = ()
    notes: tuple[str, ...] = ()
    """What a user should know before trusting a result, one sentence each."""

    dropped_edges: int = 0
    """Edges left out because they name an id that no node has."""

    unlabelled_as: Mapping[str, int] | None = None
    """How often each way of writing "no label" is there."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)


def shown_rows(rows: Any, total: int | None = None) -> str:
    """A few rows in words, counted from 1 below the header: "rows 3, 7, 12 and 40 more"."""
    first = [int(row) + 1 for row in rows[:3]]
    count = len(rows) if total is None else total
    word = "row" if count == 1 else "rows"
    more = f" and {count - len(first):,} more" if count > len(first) else ""
    return f"{word} {', '.join(map(str, first))}{more}"


def counted(count: int, thing: str) -> str:
    """A number of things in words: "1 row", "1,200 rows"."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
