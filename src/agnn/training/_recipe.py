"""How a model is trained, apart from the model, the data and the seeds; and Adam, which does it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from typing import Any, Final

import torch
from torch import Tensor, nn

from agnn.errors import InputError
from agnn.kernels import adam_step
from agnn.training._selection import HighestAccuracy, Selection

PerReplica = float | tuple[float, ...]
_MOST_EPOCHS: Final = 10_000_000
_PER_REPLICA = ("learning_rate", "weight_decay", "other_decay", "dropout")


@dataclass(frozen=True)
class Recipe:
    """Adam with coupled L2, and the rule that chooses the epoch.

    A step uses all training nodes, or `batch` of them, in which case an epoch has several steps.
    With `fanout`, neighbours per hop from the batch outwards, such a step reads a sample of so
    many neighbours per node and not the whole neighbourhood.
    `learning_rate`, the decays and `dropout` are one number for all replicas or one per replica.
    Parameters whose names match a pattern in `decayed` have `weight_decay`, all others
    `other_decay`. The nodes that the rule watches are evaluated after epochs 1, 1 + k, 1 + 2 k, ...
    for k = `evaluate_every`; the rule chooses among these.
    """

    epochs: int = 1000
    learning_rate: PerReplica = 0.01
    weight_decay: PerReplica = 5e-4
    other_decay: PerReplica = 0.0
    dropout: PerReplica = 0.5
    decayed: tuple[str, ...] = ("*",)
    batch: int | None = None
    fanout: tuple[int, ...] = ()
    selection: Selection = field(default_factory=HighestAccuracy)
    evaluate_every: int = 1

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise InputError(f"`epochs` must be at least 1; got {self.epochs}.")
        if self.epochs > _MOST_EPOCHS:  # the curves of every epoch are kept
            raise InputError(f"`epochs` must be at most {_MOST_EPOCHS:,}; got {self.epochs}.")
        if self.evaluate_every < 1:
            raise InputError(f"`evaluate_every` must be at least 1; got {self.evaluate_every}.")
        if self.fanout and self.batch is None:
            raise InputError("`fanout` needs `batch`, the training nodes of a step.")
        if any(count < 1 for count in self.fanout):
            raise InputError(f"`fanout` must be at least 1 for every hop; got {min(self.fanout)}.")
        for name in _PER_REPLICA:
            values = getattr(self, name)
            for value in values if isinstance(values, tuple) else (values,):
                if not 0.0 <= value < math.inf:
                    raise InputError(f"`{name}` must be a number from 0 up; got {value}.")
                if name == "dropout" and value >= 1.0:
                    raise InputError(f"`dropout` must be at least 0 and below 1; got {value}.")

    def of_replicas(self, replicas: Sequence[int]) -> Recipe:
        """Return the recipe of these replicas alone."""
        per_replica: dict[str, Any] = {
            name: tuple(getattr(self, name)[r] for r in replicas)
            for name in _PER_REPLICA
            if isinstance(getattr(self, name), tuple)
        }
        return replace(self, **per_replica)

    def is_decayed(self, parameter: str) -> bool:
        """Whether the parameter of this name has `weight_decay`."""
        return any(fnmatch(parameter, pattern) for pattern in self.decayed)

    def for_replicas(self, name: str, replicas: int) -> list[float]:
        """Return the field `name` as one number per replica."""
        value = getattr(self, name)
        if not isinstance(value, Sequence):
            return [float(value)] * replicas
        if len(value) != replicas:
            raise InputError(f"`{name}` has {len(value)} values for {replicas} replicas.")
        return [float(number) for number in value]


class ReplicaAdam:
    """Adam with coupled L2 and a learning rate and weight decay per replica.

    torch.optim.Adam has one rate for a whole parameter; here a parameter [R, ...] has R.
    """

    def __init__(self, model: nn.Module, replicas: int, recipe: Recipe, backend: str) -> None:
        self.backend = backend
        named = dict(model.named_parameters())
        self.parameters = list(named.values())
        self.first = [torch.zeros_like(p.detach()) for p in self.parameters]
        self.second = [torch.zeros_like(p.detach()) for p in self.parameters]
        like = self.parameters[0]
        self.rates = like.new_tensor(recipe.for_replicas("learning_rate", replicas))
        decay, other_decay = (
            like.new_tensor(recipe.for_replicas(field, replicas))
            for field in ("weight_decay", "other_decay")
        )
        self.decays = torch.stack(
            [decay if recipe.is_decayed(name) else other_decay for name in named]
        )
        # Read once here, so that no epoch waits for the device.
        self.has_penalty = self.decays.any(1).tolist()

    def step(self, number: Tensor) -> None:
        """Update every parameter and clear the gradients; step `number` [1] counts from 1."""
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.parameters]
        adam_step(
            self.parameters,
            gradients,
            self.first,
            self.second,
            number,
            self.rates,
            self.decays,
            backend=self.backend,
        )
        for parameter in self.parameters:
            parameter.grad = None

    def continue_from(self, larger: ReplicaAdam, replicas: Tensor) -> None:
        """Take over the moments of these replicas of a larger batch."""
        self.first = [moment[replicas] for moment in larger.first]
        self.second = [moment[replicas] for moment in larger.second]

    @torch.no_grad()
    def penalties(self) -> Tensor:
        """Return the L2 term of each replica's objective; [R]."""
        total = torch.zeros_like(self.rates)
        for parameter, decay, has_penalty in zip(
            self.parameters, self.decays, self.has_penalty, strict=True
        ):
            if has_penalty:
                total += decay / 2 * parameter.square().view(total.numel(), -1).sum(1)
        return total
