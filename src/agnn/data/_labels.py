"""Missing values, class labels, and the names of nodes and classes.

This is the one definition of a missing value and the one encoder of labels; tables, arrays and
the estimator all use them.

- A value is missing if it is None or NaN, or text that is empty or one of na, n/a, nan, null,
  <na> and ?, in upper or lower case.
- A label is also missing if it is -1, as a number or as text. Any other value is a class, other
  negative numbers included.
- The numbers 3 and 3.0 are the class "3". Classes sort by value where all are numbers, also where
  they are written as text, and else in alphabetical order.
- An id is missing only if its cell is empty: "NA" and "null" are ids.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agnn.data._wording import row_list
from agnn.errors import DataError, InputError, unknown_name

_FEW: Final = 20  # classes; more are compared with the number of labelled nodes
_SEPARATORS: Final = re.compile(r"\s*[|;,]\s*")  # between several labels in one cell
_PANDAS_GAPS: Final = ("NAType", "NaTType")  # by name: pandas need not be installed
MISSING: Final = frozenset({"", "na", "n/a", "nan", "null", "<na>", "?"})
"""How a missing value is written, in lower case."""

_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "bool": {"False": False, "True": True}.__getitem__,
    "int": int,
    "float": float,
}


class Labels(NamedTuple):
    """Labels as class numbers."""

    codes: NDArray[np.int64]  # [n], -1 where there is no label
    class_names: tuple[str, ...]
    examples: NDArray[np.int64]  # [c] a position that has the class; -1 where none has
    unlabelled_as: Mapping[str, int]  # how often each way of writing "no label" occurs
    kind: str = "text"  # what the labels were: "bool", "int", "float", or "text" for all else


@cache
def missing_spellings() -> list[str]:
    """Return every mixture of upper and lower case in which a missing value may be written."""
    cases = (product(*({letter, letter.upper()} for letter in word)) for word in MISSING)
    return sorted("".join(letters) for spellings in cases for letters in spellings)


def is_missing(value: object) -> bool:
    """Return whether one value is missing, by the rule above."""
    if isinstance(value, str):
        return value.strip().lower() in MISSING
    if isinstance(value, float | np.floating):
        return bool(np.isnan(value))
    return value is None or type(value).__name__ in _PANDAS_GAPS


def encoded_labels(
    values: ArrayLike, where: str = "`labels`", known: Sequence[str] | None = None
) -> Labels:
    """Return the labels [n] as class numbers; `known` fixes the classes and their order."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"{where} must have shape [n]; got {list(array.shape)}.")
    if array.dtype.kind in "biuf":
        distinct, codes = np.unique(array, return_inverse=True)
        return labels_of(distinct.tolist(), codes, where, known)
    items = array.tolist()
    try:
        index_of = {value: k for k, value in enumerate(dict.fromkeys(items))}
    except TypeError as error:
        raise DataError(f"{where}: a label must be text or a number; {error}.") from error
    return labels_of(
        [*index_of], np.array([index_of[item] for item in items], np.int64), where, known
    )


def labels_of(
    distinct: Sequence[Any],
    places: NDArray[np.int64],
    where: str,
    known: Sequence[str] | None = None,
) -> Labels:
    """Return `encoded_labels` of `distinct[places]`; a place of -1 is a missing value."""
    names = _without_points([_class_name(value, where) for value in distinct])
    present = {name for name in names if name is not None}
    classes = tuple(sorted(present, key=_order(present))) if known is None else tuple(known)
    number: dict[str | None, int] = {name: k for k, name in enumerate(classes)}
    number[None] = -1
    foreign = [k for k, name in enumerate(names) if name not in number]
    if foreign:
        rows = np.flatnonzero(np.isin(places, foreign))
        problem = unknown_name("class", str(names[places[rows[0]]]), classes)
        raise DataError(f"{where}, {row_list(rows)}: {problem}")
    codes = np.array([*(number[name] for name in names), -1], dtype=np.int64)[places]
    examples = np.full(len(classes), -1, dtype=np.int64)
    labelled = np.flatnonzero(codes >= 0)[::-1]
    examples[codes[labelled]] = labelled  # the last write is the first row
    counts = np.bincount(places[codes < 0] % (len(distinct) + 1), minlength=len(distinct) + 1)
    unlabelled: dict[str, int] = {}
    for value, count in zip([*distinct, None], counts.tolist(), strict=True):
        if count:
            is_gap = not isinstance(value, str) and is_missing(value)
            word = "" if is_gap else id_text(value).strip()
            unlabelled[word or "empty"] = unlabelled.get(word or "empty", 0) + count
    labels = [value for value, name in zip(distinct, names, strict=True) if name is not None]
    return Labels(codes, classes, examples, unlabelled, _kind(labels) if known is None else "text")


def _kind(labels: Iterable[object]) -> str:
    """Return what all of the labels are: "bool", "int" or "float", else "text"."""
    types = {type(label.item() if isinstance(label, np.generic) else label) for label in labels}
    return types.pop().__name__ if len(types) == 1 and types <= {bool, int, float} else "text"


def class_values(class_names: Sequence[str], kind: str) -> NDArray[Any]:
    """Return the classes as the labels were given: values of the `kind` in `Labels`, or text; [c].

    >>> class_values(("False", "True"), "bool")
    array([False,  True])
    """
    names = np.array(class_names, dtype=object)
    if kind not in _READERS:
        return names
    try:
        return np.array([_READERS[kind](name) for name in class_names])
    except (KeyError, ValueError):  # other classes took the place of the labels
        return names


def check_classes(labels: Labels, where: str, advice: str) -> None:
    """Raise for labels that are almost all different, or for measurements: they are not classes."""
    labelled = int((labels.codes >= 0).sum())
    classes = len(labels.class_names)
    most = labelled / 2
    if _are_numbers(set(labels.class_names)):
        # Measurements repeat more often than names do; those with a fraction are never classes.
        most = labelled / 5 if all(float(name) % 1 == 0 for name in labels.class_names) else 0
        advice = (
            f"agnn predicts classes: cut numbers into a few ranges, write codes as text (such as "
            f"'c{labels.class_names[0]}'), or {advice}"
        )
    if classes > max(_FEW, most):
        raise DataError(
            f"{where}: {classes:,} distinct values in {labelled:,} rows do not look like classes; "
            f"{advice}."
        )


def class_notes(class_names: Sequence[str], where: str) -> list[str]:
    """Return notes on classes that may be several labels in one cell, or one written in two ways.

    >>> class_notes(("a", "b", "a|b"), "`labels`")[0]
    "`labels`: the class 'a|b' looks like several labels in one cell; it is a class of its own."
    >>> class_notes(("01", "1", "2"), "`labels`")[0]
    "`labels`: the classes '01' and '1' differ only in spelling; write them alike if they are one."
    """
    parts_of = {name: _SEPARATORS.split(name) for name in class_names}
    uses = Counter(part for parts in parts_of.values() for part in set(parts))
    several = [
        name
        for name, parts in parts_of.items()
        if len(parts) > 1 and all(parts) and ("|" in name or all(uses[part] > 1 for part in parts))
    ]
    notes = []
    if several:
        more = f" and {len(several) - 1:,} others look" if len(several) > 1 else " looks"
        notes.append(
            f"{where}: the class '{several[0]}'{more} like several labels in one cell; "
            f"{'each' if len(several) > 1 else 'it'} is a class of its own."
        )
    alike = defaultdict(list)
    for name in class_names:
        alike[_spelling(name)].append(name)
    notes += [
        f"{where}: the classes {' and '.join(map(repr, names))} differ only in spelling; write "
        f"them alike if they are one."
        for names in alike.values()
        if len(names) > 1
    ]
    return notes


def _spelling(name: str) -> Hashable:
    """Return what is the same for two spellings of one class: the number, or the letters."""
    if _are_numbers({name}):
        return float(name)
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _class_name(value: Any, where: str) -> str | None:
    """Return the class that a value stands for; None where there is no label."""
    if is_missing(value):
        return None
    if isinstance(value, float | np.floating) and np.isinf(value):
        raise DataError(f"{where}: a label is infinite.")
    if isinstance(value, bytes | bytearray | list | tuple | dict | set | np.ndarray):
        kind = type(value).__name__
        raise DataError(f"{where}: a label must be text or a number; got {kind}, {value!r:.40}.")
    name = id_text(value).strip()
    return None if name in ("-1", "-1.0") else name


def _without_points(names: list[str | None]) -> list[str | None]:
    """Return the names; where all are numbers, "2" for "2.0"."""
    if not _are_numbers({name for name in names if name is not None}):
        return names
    return [name and re.sub(r"^(-?\d{1,15})\.0$", r"\1", name) for name in names]


def _are_numbers(names: set[str]) -> bool:
    try:
        return all(np.isfinite(float(name)) for name in names)
    except ValueError:
        return False


def _order(names: set[str]) -> Any:
    """Return the key to sort classes by: their value where all are numbers, else their letters."""
    return (lambda name: (float(name), name)) if _are_numbers(names) else None


def checked_labels(labels: ArrayLike, nodes: int, classes: int) -> NDArray[np.int64]:
    """Return the labels [n], each a class index or -1 for none, as a read-only copy."""
    array = np.asarray(labels)
    if array.shape != (nodes,):
        raise InputError(f"`labels` must have shape [{nodes}], as features; got {[*array.shape]}.")
    if array.size and array.dtype.kind not in "iu":
        raise InputError(f"`labels` must be integers, -1 for no label; got {array.dtype}.")
    bad = np.flatnonzero((array < -1) | (array >= classes))
    if bad.size:
        raise DataError(
            f"node {bad[0]} has label {array[bad[0]]}; with {classes} classes labels run "
            f"from 0 to {classes - 1}, or -1 for none."
        )
    checked = array.astype(np.int64)
    checked.setflags(write=False)
    return checked


def checked_ids(node_ids: Sequence[Hashable] | None, nodes: int) -> tuple[Hashable, ...]:
    """Return the ids of the n nodes, all different; the indices as text where none are given."""
    if node_ids is None:
        return tuple(map(str, range(nodes)))
    if len(node_ids) != nodes:
        raise InputError(f"`node_ids` must name all {nodes} nodes; got {len(node_ids)} names.")
    ids = tuple(node_ids)
    _check_distinct("node_ids", ids)
    return ids


def distinct_names(argument: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names, all text and all different."""
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"`{argument}` must be text; got {name!r}.")
    _check_distinct(argument, names)
    return tuple(map(str, names))


def id_text(node_id: Hashable) -> str:
    """Return an id as text: 7, 7.0 and "7" are the same."""
    is_whole = isinstance(node_id, float | np.floating) and node_id == node_id // 1
    return str(int(node_id)) if is_whole else str(node_id)  # type: ignore[call-overload]


def _check_distinct(argument: str, names: Sequence[Hashable]) -> None:
    try:
        if len(set(names)) == len(names):
            return
    except TypeError as error:
        raise InputError(f"`{argument}` must be hashable: {error}.") from error
    names_before: set[Hashable] = set()
    for name in names:
        if name in names_before:
            raise DataError(f"`{argument}` must differ; '{name}' is there twice.")
        names_before.add(name)
