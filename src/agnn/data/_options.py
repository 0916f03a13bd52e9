"""The options of every reader: what each column is used for, and what is tolerated."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, TypedDict

from agnn.data.preprocessing import Preprocessing
from agnn.errors import InputError, unknown_name
from agnn.options import TABLES, Option, flag_of

_column = partial(Option, panel=TABLES)
_common = partial(_column, is_common=True)
_columns = partial(_column, kind=list[str] | None)


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
    title: str | None
    url: str | None
    describe: str | None
    split_column: str | None
    split_time: str | None
    split_group: str | None
    database: str | Path | None
    drop_unknown: bool
    edge_weight: str | None
    ignore_weights: bool
    preprocessing: Preprocessing | None
    class_names: Sequence[str] | None


@dataclass(frozen=True)
class ReadOptions:
    """What each column is used for, and what is tolerated.

    The text beside each type documents the option here and on the command line, whose options are
    made from these fields.
    """

    label: Annotated[
        str | None, _common("Column of the classes; without it no node has a label.")
    ] = None
    node_id: Annotated[
        str | None,
        _common(
            "Column of the ids; else one called id, node or node_id; else the first.",
            flag="--id",
            alias="--node-id",
        ),
    ] = None
    source: Annotated[
        str | None,
        _common("Column of one end of each edge; else the one called source; else the first."),
    ] = None
    target: Annotated[
        str | None, _common("Column of the other end; else the one called target; else the second.")
    ] = None
    text: Annotated[
        Sequence[str],
        _columns("Column of text, used word by word (TF-IDF); may be repeated.", is_common=True),
    ] = ()
    category: Annotated[
        Sequence[str],
        _columns(
            "Column whose values are categories, even if they look like numbers; may be repeated.",
            is_common=True,
        ),
    ] = ()
    number: Annotated[
        Sequence[str],
        _columns(
            "Column of numbers to keep as a feature even if it looks like an identifier; may be "
            "repeated."
        ),
    ] = ()
    ignore: Annotated[
        Sequence[str],
        _columns("Column of the node table to leave out; may be repeated.", is_common=True),
    ] = ()
    title: Annotated[
        str | None,
        _column("Column of names to show people; never a feature unless --text names it too."),
    ] = None
    url: Annotated[str | None, _column("Column of web addresses to link to; never a feature.")] = (
        None
    )
    describe: Annotated[
        str | None,
        _column("Column of descriptions to show people; a feature only if --text names it too."),
    ] = None
    split_column: Annotated[str | None, _common("Column that holds train, validation or test.")] = (
        None
    )
    split_time: Annotated[
        str | None, _common("Column of times to split by: train on the past, test on the latest.")
    ] = None
    split_group: Annotated[
        str | None, _column("Column of groups to split by: no group is both trained and tested on.")
    ] = None
    database: Annotated[
        str | Path | None,
        _column(
            "SQLite or DuckDB file; nodes and edges are then queries: SELECT ... FROM ...",
            kind=str | None,
        ),
    ] = None
    drop_unknown: Annotated[bool, _column("Leave out edges with an id that no node has.")] = False
    edge_weight: Annotated[
        str | None, _common("Column of the edge table that holds the weights, numbers above 0.")
    ] = None
    ignore_weights: Annotated[
        bool, _column("Ignore a column of edges that looks like weights; otherwise it is an error.")
    ] = False
    preprocessing: Preprocessing | None = None
    """A fitted preprocessing to apply, rather than to fit one to this table."""

    class_names: Sequence[str] | None = None
    """The classes in their order; a label that is not one of them is refused."""

    def __post_init__(self) -> None:
        if self.edge_weight is not None and self.ignore_weights:
            raise InputError(
                "`edge_weight` and `ignore_weights` exclude each other; leave one out."
            )
        for field in ("text", "category", "number", "ignore"):
            value = getattr(self, field)
            # A single name is also a sequence: of its letters.
            object.__setattr__(self, field, (value,) if isinstance(value, str) else tuple(value))
        named = [*self.text, *self.category, *self.number, *self.ignore]
        splits = (self.split_column, self.split_time, self.split_group)
        if sum(option is not None for option in splits) > 1:
            raise InputError(
                "split by one column: split_column, split_time or split_group (--split-column, "
                "--split-time, --split-group)."
            )
        roles = [self.label, self.node_id, *splits]
        for name in [*named, *(role for role in roles if role is not None)]:
            if [*named, *roles].count(name) > 1:
                raise InputError(f"column '{name}' has two roles; give it one.")
        shown_columns = [name for name in (self.title, self.url, self.describe) if name is not None]
        for name in shown_columns:
            if name in (self.label, *splits, *self.ignore):
                raise InputError(f"column '{name}' has two roles; give it one.")

    @property
    def shown_columns(self) -> dict[str, str]:
        """The columns that are shown to people, by what they hold."""
        named = {"title": self.title, "url": self.url, "description": self.describe}
        return {key: column for key, column in named.items() if column is not None}

    @property
    def split_by(self) -> str | None:
        """The column that the nodes are split by, of whatever kind."""
        return self.split_column or self.split_time or self.split_group


def option_for(field: str, column: str | None = None) -> str:
    """Return an option as messages suggest it: for Python, and for a shell ready to be pasted.

    >>> option_for("ignore", "last note")
    "`ignore` (--ignore 'last note')"
    """
    value = "" if column is None else f" {shlex.quote(column)}"
    return f"`{field}` ({flag_of(field, ReadOptions)}{value})"


def check_columns(place: str, columns: Sequence[str], wanted: Sequence[str | None]) -> None:
    """Raise, with the nearest name, for a wanted column that does not exist."""
    for name in wanted:
        if name is not None and name not in columns:
            raise unknown_name(f"column of {place}", name, columns)
