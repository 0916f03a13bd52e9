"""The protocol of methods, the registry, and checks that several methods share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import Field, asdict, dataclass, field, fields, replace
from typing import Any, ClassVar, Final, Self, TypeVar, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from agnn.data import NodeData, Split
from agnn.errors import InputError, unknown_name
from agnn.metrics import MEASURES
from agnn.nn import NodeModel
from agnn.training import Callback, Checkpoints, History, Progress


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
    checkpoints: Checkpoints | None = None
    callbacks: tuple[Callback, ...] = ()

    def __post_init__(self) -> None:
        if not self.seeds:
            raise InputError("`replicas` must be at least 1; got 0.")
        if len(self.splits) != len(self.seeds):
            raise InputError(f"{len(self.splits)} splits for {len(self.seeds)} seeds.")
        for split in {id(split): split for split in self.splits}.values():
            split.check(self.data)

    def first(self, replicas: int) -> Task:
        """Return the task of the first replicas alone, without progress, checkpoints, callbacks."""
        weights = None if self.class_weights is None else self.class_weights[:replicas]
        return replace(
            self, splits=self.splits[:replicas], seeds=self.seeds[:replicas], progress=None,
            class_weights=weights, checkpoints=None, callbacks=(),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of running a method."""

    scores: Tensor  # [R, n, c] class probabilities of every node
    model: NodeModel | None = None  # where the method has one
    history: History | None = None  # where it trains by gradient
    # the hyper-parameters of each replica, where they were chosen on validation nodes
    chosen: tuple[Mapping[str, Any], ...] | None = None


_LARGEST: Final = 2**31 - 1  # of a whole number: what torch and the kernels count with
_ADDED: Final = "added"  # key of a field's metadata: not stated by results that have its default
_STORED: Final = "stored"  # key of a field's metadata: its name in older results


def renamed(default: Any, *, stored: str) -> Any:
    """Declare a hyper-parameter that stored results know under the older name `stored`."""
    return field(default=default, metadata={_STORED: stored})


def added(default: Any) -> Any:
    """Declare a hyper-parameter that older results do not have; `default` is what they did."""
    return field(default=default, metadata={_ADDED: True})


@dataclass(frozen=True)
class Method(ABC):
    """A way to classify nodes. The fields of a subclass are its hyper-parameters."""

    name: ClassVar[str]  # as on the command line
    title: ClassVar[str]  # as in the tables
    cites: ClassVar[str]
    # (setting, dataset) -> the fields that differ from the defaults there
    presets: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = {}
    # field -> the values that tuning tries on validation nodes
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    # hyper-parameters that older results do not state -> the value that those results had
    implied: ClassVar[Mapping[str, Any]] = {}
    # whether a GPU trains many replicas in about the time of one
    fills_a_gpu: ClassVar[bool] = False
    # whether training takes weights per class
    takes_class_weights: ClassVar[bool] = False
    # whether two seeds on the same split may differ
    is_random: ClassVar[bool] = True
    # whether its training can be stopped and continued
    has_checkpoints: ClassVar[bool] = False
    # whether edge weights change anything; a method that has no use for them gets a graph without
    uses_edge_weights: ClassVar[bool] = False

    @property
    def configuration(self) -> str:
        """How the hyper-parameters were found: "published", or "tuned" on validation nodes."""
        return "published"

    @property
    def settings(self) -> dict[str, Any]:
        """The hyper-parameters by name."""
        return asdict(self)

    @property
    def identity(self) -> dict[str, Any]:
        """The hyper-parameters by which stored results are found, under their stored names."""
        return {
            stored_name(self, each.name): getattr(self, each.name)
            for each in fields(self)
            if not self._is_implied(each)
        }

    def _is_implied(self, each: Field[Any]) -> bool:
        """Whether results say nothing about a field: it has the value that older ones had."""
        value = getattr(self, each.name)
        if each.metadata.get(_ADDED):
            return bool(value == each.default)
        return each.name in self.implied and bool(self.implied[each.name] == value)

    def usable(self, data: NodeData) -> NodeData:
        """Return the data without what the method has no use for: edge weights, in some."""
        return data if self.uses_edge_weights else data.unweighted

    def suited(self, data: NodeData) -> Method:
        """Return the method for data that no setting was published for; itself by default."""
        return self

    def affordable(self, data: NodeData, replicas: int, device: str) -> Method:
        """Return the method without what would take too long on this data; itself by default."""
        return self

    def settled(self, task: Task) -> Method:
        """Return the method with every choice made that it leaves to validation nodes."""
        return self

    @abstractmethod
    def run(self, task: Task) -> Outcome:
        """Return the scores of every replica; labels outside `task.splits` are never read."""

    @classmethod
    def preset(cls, setting: str, dataset: str) -> Self:
        """Return the method as published for a setting and a dataset.

        The settings are "fixed", "random" and "cross-validation". A dataset without an entry has
        the defaults, with what its setting changes everywhere.
        """
        known = cls.presets.get((setting, dataset), cls.presets.get((setting, "*"), {}))
        return cls(**known)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Return the method with stored hyper-parameters, under their present or older names."""
        present = {stored_name(cls, each.name): each.name for each in fields(cls)}
        return cls(**{present.get(name, name): value for name, value in settings.items()})

    def with_fields(self, **changes: Any) -> Self:
        """Return a copy with some hyper-parameters changed.

        None changes nothing; the text "none" is the value None, where a field may have it.
        """
        wanted = {name: value for name, value in changes.items() if value is not None}
        known = [each.name for each in fields(self)]
        for name, value in wanted.items():
            if name not in known:
                raise unknown_name(f"hyper-parameter of {self.name}", name, known)
            if value == "none" and self.may_be_none(name):
                wanted[name] = None
            if isinstance(value, int) and abs(value) > _LARGEST:
                raise InputError(f"`{name}` must be at most {_LARGEST:,}; got {value}.")
        return replace(self, **wanted)

    @classmethod
    def may_be_none(cls, name: str) -> bool:
        """Whether None is a value of this hyper-parameter."""
        return type(None) in get_args(get_type_hints(cls)[name])


def stored_name(method: Method | type[Method], name: str) -> str:
    """Return the name under which stored results know the hyper-parameter `name`."""
    by_name = {each.name: each for each in fields(method)}
    return str(by_name[name].metadata.get(_STORED, name))


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


def require_features(data: NodeData, method: str) -> None:
    """Raise unless the nodes of `data` have features."""
    if data.feature_count == 0:
        raise InputError(f"'{data.name}' has no features, and {method} learns from them.")


def require_validation(split: Split, purpose: str) -> None:
    """Raise unless `split` has validation nodes."""
    if not split.validation.size:
        raise InputError(f"the split '{split.name}' has no validation nodes {purpose}.")


def validation_scores(
    scores: Tensor,
    data: NodeData,
    splits: Sequence[Split],
    purpose: str,
    metric: str | None = None,
) -> list[float]:
    """Return a metric on each replica's validation nodes, such that higher is better; [R].

    `scores` are [R, n, c]. Without a metric it is the share of correct predictions. `purpose`
    ends the error for a split without validation nodes: "to tune on".
    """
    found = []
    for own, split in zip(scores.detach().cpu().numpy(), splits, strict=True):
        require_validation(split, purpose)
        labels, probabilities = data.labels[split.validation], own[split.validation]
        if metric is None:
            found.append(float(np.mean(probabilities.argmax(1) == labels)))
        else:
            found.append(MEASURES[metric].score(labels, probabilities))
    return found
