"""Split: the nodes to train on, those that choose the epoch, and those that are scored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from agnn.data._input_files import check_file
from agnn.errors import DataError, InputError
from agnn.files import json_text, write_file

if TYPE_CHECKING:
    from agnn.data._node_data import NodeData

_FORMAT: Final = "agnn-split-1"
_PARTS: Final = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class Split:
    """Three disjoint lists of node indices, checked, read-only, in the order given.

    `train` is never empty; `validation` and `test` may be. `seed` is the one it was drawn with, or
    None. Two splits are equal when all their fields are.

    >>> split = Split("mine", train=[0, 1], validation=[2], test=[4, 3])
    >>> {part: nodes.tolist() for part, nodes in split.parts.items()}
    {'train': [0, 1], 'validation': [2], 'test': [4, 3]}
    """

    name: str
    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]
    seed: int | None = None

    def __post_init__(self) -> None:
        for part in _PARTS:
            object.__setattr__(self, part, _node_list(part, getattr(self, part)))
        if not self.train.size:
            raise InputError(f"split '{self.name}': `train` must name at least one node.")
        for one, other in combinations(_PARTS, 2):
            lists = getattr(self, one), getattr(self, other)
            shared_nodes = np.intersect1d(*lists, assume_unique=True)  # they are, as just checked
            if shared_nodes.size:
                raise InputError(
                    f"split '{self.name}': node {shared_nodes[0]} is in both `{one}` and `{other}` "
                    f"({shared_nodes.size} in all); the parts must be disjoint."
                )

    @property
    def parts(self) -> dict[str, NDArray[np.int64]]:
        """The three lists by name: train, validation, test."""
        return {part: getattr(self, part) for part in _PARTS}

    def check(self, data: NodeData) -> None:
        """Raise unless every node named here is in `data` and has a label there."""
        for part, nodes in self.parts.items():
            outside = nodes[nodes >= data.nodes]
            if outside.size:
                raise InputError(
                    f"split '{self.name}': `{part}` names node {outside[0]}, which does not exist: "
                    f"'{data.name}' has {data.nodes} nodes, 0 to {data.nodes - 1}."
                )
            blank = nodes[data.labels[nodes] < 0]
            if blank.size:
                raise InputError(
                    f"split '{self.name}': `{part}` names node {blank[0]}, "
                    f"which has no label in '{data.name}'."
                )

    def to_dict(self) -> dict[str, Any]:
        """Return the split as plain JSON values."""
        parts = {part: nodes.tolist() for part, nodes in self.parts.items()}
        return {"format": _FORMAT, "name": self.name, "seed": self.seed, **parts}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Split:
        """Return the split that `to_dict` described."""
        if not isinstance(values, Mapping) or values.get("format") != _FORMAT:
            raise DataError(f"this is not a saved split: it must have 'format': '{_FORMAT}'.")
        fields = {key: value for key, value in values.items() if key != "format"}
        if set(fields) != {"name", "seed", *_PARTS}:
            raise DataError(f"a saved split has name, seed, {', '.join(_PARTS)}; got {[*fields]}.")
        lists = [fields[part] for part in _PARTS]
        # type(), because JSON's true would pass for node 1 and 2.0 for node 2.
        numbers = all(type(node) is int for nodes in lists for node in nodes)
        seed_fits = type(fields["seed"]) in (int, type(None))
        if not (numbers and seed_fits and isinstance(fields["name"], str)):
            raise DataError("a saved split has text as its name and whole numbers in its lists.")
        return cls(**fields)

    def save(self, path: str | Path) -> None:
        """Write the split as JSON; an existing file is never overwritten."""
        try:
            write_file(path, json_text(self.to_dict()))
        except OSError as error:
            raise InputError(f"cannot write split '{path}': {error.strerror}.") from error

    @classmethod
    def load(cls, path: str | Path) -> Split:
        """Return the split that `save` wrote; anything else is refused."""
        try:
            check_file(Path(path))
        except InputError as error:
            raise DataError(str(error)) from error
        try:
            return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))
        except (DataError, InputError) as error:
            raise DataError(f"'{path}': {error}") from error
        except (ValueError, TypeError, RecursionError, OverflowError) as error:
            raise DataError(f"'{path}' is damaged or is not a saved split: {error}.") from error

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Split):
            return NotImplemented
        is_alike = (self.name, self.seed) == (other.name, other.seed)
        return is_alike and all(map(np.array_equal, self.parts.values(), other.parts.values()))

    def __hash__(self) -> int:
        arrays = tuple(nodes.tobytes() for nodes in self.parts.values())
        return hash((self.name, self.seed, arrays))

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # Arrays come out of a pickle or a copy writable. What a split holds has been checked, and
        # checking it again takes five times its memory: every rank gets one of the whole graph.
        vars(self).update(state)
        for nodes in self.parts.values():
            nodes.setflags(write=False)


def _node_list(part: str, values: Any) -> NDArray[np.int64]:
    nodes = np.asarray(values)
    if nodes.ndim != 1:
        raise InputError(f"`{part}` must be a list of node indices; got shape {list(nodes.shape)}.")
    if nodes.size and nodes.dtype.kind not in "iu":
        raise InputError(f"`{part}` must hold node indices as integers; got {nodes.dtype}.")
    distinct, count = np.unique(nodes, return_counts=True)
    outside = distinct[(distinct < 0) | (distinct > np.iinfo(np.int64).max)]
    if outside.size:
        raise InputError(f"`{part}` names node {outside[0]}; node indices start at 0.")
    if (count > 1).any():
        raise InputError(f"`{part}` names node {distinct[count > 1][0]} more than once.")
    frozen = nodes.astype(np.int64)
    frozen.setflags(write=False)
    return frozen
