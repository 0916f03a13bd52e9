"""What a user may say about their tables: which column is what, and what is forgiven."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from agnn.data.preprocessing import Preprocessing
from agnn.errors import InputError, unknown_name


class ReadKeywords(TypedDict, total=False):
    """The keywords of `read_tables` and its siblings; `ReadOptions` says what they mean."""

    label: str | None
    node_id: str | None
    source: str | None
    target: str | None
    text: Sequence[str]
    category: Sequence[str]
    number: Sequence[str]
    ignore: Sequence[str]
    split_column: str | None
    drop_unknown: bool
    ignore_weights: bool
    preprocessing: Preprocessing | None
    class_names: Sequence[str] | None


@dataclass(frozen=True)
class ReadOptions:
    """Which column is what, and what is forgiven."""

    label: str | None = None
    """Column of the classes; without one no node has a label."""

    node_id: str | None = None
    """Column of the ids; else one called id, node or node_id; else the first."""

    source: str | None = None
    """Columns of the edges' two ends; else those called source and target; else the first two."""

    target: str | None = None

    text: Sequence[str] = ()
    """Columns of sentences, taken word by word (TF-IDF)."""

    category: Sequence[str] = ()
    """Columns whose values are names, also where they look like numbers."""

    number: Sequence[str] = ()
    """Columns of numbers that are kept as features even if they look like identifiers."""

    ignore: Sequence[str] = ()
    """Columns of the node table that are not looked at."""

    split_column: str | None = None
    """Column that says train, validation or test."""

    drop_unknown: bool = False
    """Leave out edges that name an id which no node has."""

    ignore_weights: bool = False
    """Leave out numbers that stand at the edges."""

    preprocessing: Preprocessing | None = None
    """How features were made before: applied as it is, rather than fitted to this table."""

    class_names: Sequence[str] | None = None
    """The classes in the order they are known; a label that is not among them is refused."""

    def __post_init__(self) -> None:
        for field in ("text", "category", "number", "ignore"):
            given = getattr(self, field)
            # A single name is a sequence too: of its letters.
            object.__setattr__(self, field, (given,) if isinstance(given, str) else tuple(given))
        named = [*self.text, *self.category, *self.number, *self.ignore]
        roles = [self.label, self.node_id, self.split_column]
        for name in [*named, *(role for role in roles if role is not None)]:
            if [*named, *roles].count(name) > 1:
                raise InputError(f"column '{name}' is asked for as two things at once.")


def check_columns(place: str, columns: Sequence[str], wanted: Sequence[str | None]) -> None:
    """Raise, with the nearest name, for a wanted column that is not there."""
    for name in wanted:
        if name is not None and name not in columns:
            raise unknown_name(f"column of {place}", name, columns)
