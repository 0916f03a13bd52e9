"""The options of every reader: what each column is used for, and what is tolerated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from agnn.data.preprocessing import Preprocessing
from agnn.errors import InputError, unknown_name


class ReadKeywords(TypedDict, total=False):
    """The keywords of `read_tables` and the other readers; `ReadOptions` documents them."""

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
    """What each column is used for, and what is tolerated."""

    label: str | None = None
    """Column of the classes; without it no node has a label."""

    node_id: str | None = None
    """Column of the ids; else one called id, node or node_id; else the first."""

    source: str | None = None
    """Columns of the edges' two ends; else those called source and target; else the first two."""

    target: str | None = None

    text: Sequence[str] = ()
    """Columns of text, used word by word (TF-IDF)."""

    category: Sequence[str] = ()
    """Columns whose values are categories, even if they look like numbers."""

    number: Sequence[str] = ()
    """Columns of numbers that are kept as features even if they look like identifiers."""

    ignore: Sequence[str] = ()
    """Columns of the node table that are left out."""

    split_column: str | None = None
    """Column that holds train, validation or test."""

    drop_unknown: bool = False
    """Leave out edges that name an id which no node has."""

    ignore_weights: bool = False
    """Leave out edge weights, which are otherwise an error."""

    preprocessing: Preprocessing | None = None
    """A fitted preprocessing to apply, rather than to fit one to this table."""

    class_names: Sequence[str] | None = None
    """The classes in their order; a label that is not one of them is refused."""

    def __post_init__(self) -> None:
        for field in ("text", "category", "number", "ignore"):
            given = getattr(self, field)
            # A single name is also a sequence: of its letters.
            object.__setattr__(self, field, (given,) if isinstance(given, str) else tuple(given))
        named = [*self.text, *self.category, *self.number, *self.ignore]
        roles = [self.label, self.node_id, self.split_column]
        for name in [*named, *(role for role in roles if role is not None)]:
            if [*named, *roles].count(name) > 1:
                raise InputError(f"column '{name}' has two roles; give it one.")


def check_columns(place: str, columns: Sequence[str], wanted: Sequence[str | None]) -> None:
    """Raise, with the nearest name, for a wanted column that does not exist."""
    for name in wanted:
        if name is not None and name not in columns:
            raise unknown_name(f"column of {place}", name, columns)
