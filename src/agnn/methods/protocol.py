"""What a method is: hyper-parameters, and one function from data, splits and seeds to scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from agnn.data import NodeData, Split
from agnn.errors import InputError, unknown_name
from agnn.nn import NodeModel
from agnn.training import History, Progress


@dataclass(frozen=True, eq=False)
class Task:
    """What a method is run on: replica r has `splits[r]` and `seeds[r]`."""

    data: NodeData
    splits: tuple[Split, ...]
    seeds: tuple[int, ...]
    device: str = "cpu"
    backend: str = "auto"
    progress: Progress | None = None
    # [R, c] all above 0: how much a training node counts, by its label; None: all alike
    class_weights: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        if not self.seeds:
            raise InputError("`replicas` must be at least 1; got 0.")
        if len(self.splits) != len(self.seeds):
            raise InputError(f"{len(self.splits)} splits for {len(self.seeds)} seeds.")
        for split in {id(split): split for split in self.splits}.values():
            split.check(self.data)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run of a method gives back."""

    scores: Tensor  # [R, n, c] class probabilities at every node
    model: NodeModel | None = None  # where the method has one
    history: History | None = None  # where it trains by gradient
    # each replica's hyper-parameters, where they were chosen on validation nodes
    chosen: tuple[Mapping[str, Any], ...] | None = None


@dataclass(frozen=True)
class Method(ABC):
    """A way to classify nodes. The fields of a subclass are its hyper-parameters."""

    name: ClassVar[str]  # as on the command line
    title: ClassVar[str]  # as in the tables
    cites: ClassVar[str]
    note: ClassVar[str] = ""  # what its sources leave open, and where ours differs
    # (setting, dataset) -> the fields that differ from the defaults there
    presets: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = {}
    # field -> the values that `tuned` tries, on validation nodes
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    # fields that came after results were stored -> what those results had: they do not state it
    implied: ClassVar[Mapping[str, Any]] = {}
    # whether a GPU trains many replicas in about the time of one
    fills_a_gpu: ClassVar[bool] = False

    @property
    def configuration(self) -> str:
        """How the hyper-parameters were found: "published", or "tuned" on validation nodes."""
        return "published"

    @property
    def settings(self) -> dict[str, Any]:
        """The hyper-parameters by name."""
        return asdict(self)

    @abstractmethod
    def run(self, task: Task) -> Outcome:
        """Scores of every replica; the labels outside `task.splits` are never read."""

    @classmethod
    def preset(cls, setting: str, dataset: str) -> Self:
        """The hyper-parameters for a setting ("fixed", "random", "cross-validation") and dataset.

        A dataset without an entry has the defaults, with what its setting changes everywhere.
        """
        known = cls.presets.get((setting, dataset), cls.presets.get((setting, "*"), {}))
        return cls(**known)

    def with_fields(self, **changes: Any) -> Self:
        """A copy with some hyper-parameters changed; None changes nothing."""
        wanted = {name: value for name, value in changes.items() if value is not None}
        known = [field.name for field in fields(self)]
        for name in wanted:
            if name not in known:
                raise unknown_name(f"hyper-parameter of {self.name}", name, known)
        return replace(self, **wanted)


def require_features(data: NodeData, method: str) -> None:
    """Raise unless the nodes of `data` have features."""
    if data.feature_count == 0:
        raise InputError(f"'{data.name}' has no features, and {method} learns from them.")
