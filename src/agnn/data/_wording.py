"""Numbers of things and lists of rows as messages and reports write them."""

from __future__ import annotations

from typing import Any


def quantity(count: int, thing: str, things: str | None = None) -> str:
    """Return a number of things as text.

    >>> quantity(1, "row"), quantity(1200, "entry", "entries")
    ('1 row', '1,200 entries')
    """
    return f"{count:,} {thing if count == 1 else things or f'{thing}s'}"


def row_list(rows: Any) -> str:
    """Return the first rows as text, counted from 1 below the header.

    >>> row_list([2, 6, 11, 40, 41])
    'rows 3, 7, 12 and 2 more'
    """
    row_numbers = [int(row) + 1 for row in rows[:3]]
    word = "row" if len(rows) == 1 else "rows"
    more = f" and {len(rows) - len(row_numbers):,} more" if len(rows) > len(row_numbers) else ""
    return f"{word} {', '.join(map(str, row_numbers))}{more}"
