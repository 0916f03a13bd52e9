"""The protocol of methods, the registry, and checks that several methods share."""

from __future__ import annotations

import hashlib
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    Self,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.data import NodeData, Split
from agnn.errors import InputError, unknown_name
from agnn.metrics import MEASURES
from agnn.networks._model import NodeModel
from agnn.training import (
    Callback,
    Checkpoints,
    CrossFitted,
    History,
    Part,
    Progress,
)


@dataclass(frozen=True, eq=False)
class Task:
    """What a method is run on: replica r has `splits[r]` and `seeds[r]`."""

    data: NodeData
    splits: tuple[Split, ...]
    seeds: tuple[int, ...]
    device: str = "cpu"
    backend: str = "auto"
    progress: Progress | None = None
    # [R, c], all above 0: the weight of a training node by its label; None for equal weights
    class_weights: NDArray[np.float64] | None = None
    # by which epochs and settings are chosen on validation nodes; None: the method's own rule
    metric: str | None = None
    # [R] or (): replicas with the same number divide the labels into folds among themselves, and
    # the folds of the others choose a replica's epoch and its settings
    passes: tuple[int, ...] = ()
    checkpoints: Checkpoints | None = None
    callbacks: tuple[Callback, ...] = ()

    def __post_init__(self) -> None:
        if not self.seeds:
            raise InputError("`replicas` must be at least 1; got 0.")
        if len(self.splits) != len(self.seeds):
            raise InputError(f"{len(self.splits)} splits for {len(self.seeds)} seeds.")
        for split in {id(split): split for split in self.splits}.values():
            split.check(self.data)

    @property
    def splits_digest(self) -> str:
        """A hash of the nodes in the parts of every replica's split."""
        digest = hashlib.sha256()
        for split in self.splits:
            for part in split.parts.values():
                digest.update(f"{part.size} ".encode() + part.tobytes())
        return digest.hexdigest()

    @property
    def held_out(self) -> Part:
        """The part of every split at which candidates are scored, and none is trained on."""
        return CrossFitted.on if self.passes else "validation"

    def require_held_out(self, purpose: str) -> None:
        """Raise unless every split has nodes to choose by; `purpose` ends the error, "to ..."."""
        for split in self.splits:
            if not split.parts[self.held_out].size:
                raise InputError(
                    f"the split '{split.name}' has no {self.held_out} nodes {purpose}."
                )

    def values_to_choose_by(self, scores: Sequence[float]) -> list[float]:
        """Return what decides whether each replica takes a candidate with these scores; both [R].

        A score is that of a replica at its held-out nodes, and decides for that replica. If the
        replicas are cross-fitted, the mean of the others of its pass does.
        """
        if not self.passes:
            return list(scores)
        values = torch.tensor(scores, dtype=torch.float64)
        return CrossFitted.mean_of_others(values, torch.tensor(self.passes)).tolist()

    def first(self, replicas: int) -> Task:
        """Return the task of the first replicas alone, without progress, checkpoints, callbacks."""
        weights = None if self.class_weights is None else self.class_weights[:replicas]
        return replace(
            self,
            splits=self.splits[:replicas],
            seeds=self.seeds[:replicas],
            passes=self.passes[:replicas],
            progress=None,
            class_weights=weights,
            checkpoints=None,
            callbacks=(),
        )


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of running a method."""

    scores: Tensor  # [R, n, c] class probabilities of every node
    model: NodeModel | None = None  # where the method has one
    history: History | None = None  # where it trains by gradient
    # the hyper-parameters of each replica, where they were chosen on validation nodes
    chosen: tuple[Mapping[str, Any], ...] | None = None


_LARGEST: Final = 2**31 - 1  # of a whole number: what torch and the kernels count with

# The type of a field says which numbers it may hold, in the words of the message for any other.
Count: TypeAlias = Annotated[int, "at least 1"]
WholeNumber: TypeAlias = Annotated[int, "at least 0"]
Positive: TypeAlias = Annotated[float, "above 0"]
NotNegative: TypeAlias = Annotated[float, "at least 0"]
Rate: TypeAlias = Annotated[float, "at least 0 and below 1"]
Share: TypeAlias = Annotated[float, "at least 0 and at most 1"]
_RELATIONS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "at least": operator.ge,
    "above": operator.gt,
    "below": operator.lt,
    "at most": operator.le,
}

# (setting, dataset) -> the fields that differ from the defaults there
Presets: TypeAlias = Mapping[tuple[str, str], Mapping[str, Any]]


@dataclass(frozen=True)
class Method(ABC):
    """A way to classify nodes. The fields of a subclass are its hyper-parameters."""

    name: ClassVar[str]  # as on the command line
    title: ClassVar[str]  # as in the tables
    cites: ClassVar[str]
    presets: ClassVar[Presets] = {}
    # field -> the values that tuning tries on validation nodes
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    # whether a GPU trains many replicas in about the time of one
    fills_a_gpu: ClassVar[bool] = False
    # whether training takes weights per class
    takes_class_weights: ClassVar[bool] = False
    # whether two seeds on the same split may differ
    is_random: ClassVar[bool] = True
    # whether its training can be stopped and continued
    has_checkpoints: ClassVar[bool] = False
    # the fields that leave out what reads every node in every step; {} where nothing does
    reduction: ClassVar[Mapping[str, Any]] = {}
    # whether edge weights change anything; a method that has no use for them gets a graph without
    uses_edge_weights: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name, hint in _field_types(type(self)).items():
            value = getattr(self, name)
            for part in (hint, *get_args(hint)) if value is not None else ():
                if get_origin(part) is Annotated and not _satisfies(value, part.__metadata__[0]):
                    raise InputError(f"`{name}` must be {part.__metadata__[0]}; got {value}.")
                if get_origin(part) is Literal and value not in get_args(part):
                    raise unknown_name(name, str(value), get_args(part))

    @property
    def configuration(self) -> str:
        """How the hyper-parameters were found: "published", or "tuned" on validation nodes."""
        return "published"

    @property
    def settings(self) -> dict[str, Any]:
        """The hyper-parameters by name."""
        return asdict(self)

    def usable(self, data: NodeData) -> NodeData:
        """Return the data without what the method has no use for: edge weights, in some."""
        return data if self.uses_edge_weights else data.unweighted

    def for_data(self, data: NodeData) -> Method:
        """Return the method for data that no setting was published for; itself by default."""
        return self

    def reduced(
        self,
        data: NodeData,
        replicas: int,
        device: str,
        *,
        by_rows: bool = False,
        given: Collection[str] = (),
    ) -> Method:
        """Return the method without what this training cannot afford or divide.

        `by_rows` says that processes divide the rows of the graph. `given` are the names of the
        fields that the caller asked for, which stay as they are. By default the method itself.
        """
        return self

    def is_slow(self, data: NodeData, replicas: int, device: str) -> bool:
        """Return whether a training step takes long; False where nobody has measured it."""
        return False

    def alternatives(self) -> Sequence[Method]:
        """Return the settings between which validation nodes choose before training; none here."""
        return ()

    def check(self) -> None:  # noqa: B027 (most methods take all values of their fields)
        """Raise for hyper-parameters that no training takes."""

    @abstractmethod
    def run(self, task: Task) -> Outcome:
        """Return the scores of every replica; labels outside `task.splits` are never read."""

    @classmethod
    def preset(cls, setting: str, dataset: str) -> Self:
        """Return the method as published for a setting and a dataset.

        The settings are "fixed", "random" and "cross-validation". A dataset without an entry has
        the defaults, with what its setting changes everywhere.
        """
        preset = cls.presets.get((setting, dataset), cls.presets.get((setting, "*"), {}))
        return cls(**preset)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Return the method with hyper-parameters as JSON has them, with lists for tuples."""
        return cls(
            **{
                name: tuple(value) if isinstance(value, list) else value
                for name, value in settings.items()
            }
        )

    def with_fields(self, **changes: Any) -> Self:
        """Return a copy with some hyper-parameters changed.

        None changes nothing; the text "none" is the value None, where a field may have it.
        """
        settings = {name: value for name, value in changes.items() if value is not None}
        names = [field.name for field in fields(self)]
        for name, value in settings.items():
            if name not in names:
                raise unknown_name(f"hyper-parameter of {self.name}", name, names)
            if value == "none" and self.may_be_none(name):
                settings[name] = None
            if isinstance(value, int) and abs(value) > _LARGEST:
                raise InputError(f"`{name}` must be at most {_LARGEST:,}; got {value}.")
        return replace(self, **settings)

    @property
    def simplified(self) -> Self:
        """The method with its `reduction`."""
        return self.with_fields(**self.reduction)

    def settings_text(self, names: Iterable[str]) -> str:
        """Return some hyper-parameters as messages give them: "strength=1.5, hidden=64"."""
        values = ((name, getattr(self, name)) for name in names)
        return ", ".join(
            f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
            for name, value in values
        )

    @classmethod
    def may_be_none(cls, name: str) -> bool:
        """Whether None is a value of this hyper-parameter."""
        return type(None) in get_args(get_type_hints(cls)[name])


@cache
def _field_types(method: type[Method]) -> dict[str, Any]:
    """Return the type of every field, with what it says about numbers."""
    hints = get_type_hints(method, include_extras=True)
    return {field.name: hints[field.name] for field in fields(method)}


def _satisfies(value: float, condition: str) -> bool:
    """Return whether a number is as a condition says, such as "at least 0 and below 1"."""
    bounds = (part.rpartition(" ") for part in condition.split(" and "))
    return all(_RELATIONS[relation](value, float(bound)) for relation, _, bound in bounds)


_METHODS: dict[str, type[Method]] = {}
M = TypeVar("M", bound=type[Method])


def register(method: M) -> M:
    """Class decorator: make the method known under its name."""
    if method.name in _METHODS:
        raise ValueError(f"two methods are called '{method.name}'")
    _METHODS[method.name] = method
    return method


def method_names() -> tuple[str, ...]:
    """Return the names of all methods in alphabetical order."""
    return tuple(sorted(_METHODS))


def get_method(name: str) -> type[Method]:
    """Return the method of this name."""
    if name.lower() not in _METHODS:
        raise unknown_name("method", name, _METHODS)
    return _METHODS[name.lower()]


def validation_scores(
    scores: Tensor,
    data: NodeData,
    splits: Sequence[Split],
    purpose: str,
    metric: str | None = None,
    part: Part = "validation",
) -> list[float]:
    """Return a metric on each replica's validation nodes, such that higher is better; [R].

    `scores` are [R, n, c]. Without a metric it is the share of correct predictions. `purpose`
    ends the error for a split without validation nodes: "to tune on". `part` is `Task.held_out`
    where replicas may be cross-fitted.
    """
    values = []
    for replica_scores, split in zip(scores.detach().cpu().numpy(), splits, strict=True):
        nodes = split.parts[part]
        if not nodes.size:
            raise InputError(f"the split '{split.name}' has no {part} nodes {purpose}.")
        labels = data.labels[nodes]
        probabilities = replica_scores[nodes]
        if metric is None:
            values.append(float(np.mean(probabilities.argmax(1) == labels)))
        else:
            values.append(MEASURES[metric].score(labels, probabilities))
    return values
