"""The separated block and GraphSAGE: methods for graphs whose edges join unlike nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, get_args

import torch

from agnn import nn
from agnn.data import NodeData, Scaling
from agnn.errors import InputError, unknown_name
from agnn.methods._network import HiddenNetwork
from agnn.methods._protocol import Method, Task, register
from agnn.training import BestScore, Footprint, Selection

_REPLICAS_FOR_CHOICE = 3  # replicas that every candidate is tried with


@register
@dataclass(frozen=True)
class Separated(HiddenNetwork):
    """Residual blocks that read a node's own state beside the mean of its neighbourhood.

    With two classes the epoch is chosen by the area under the ROC curve, otherwise by accuracy.
    By default three settings are tried on the validation nodes, and the best is trained: this one,
    one twice as deep, and a strongly regularised one for few nodes with many features. Changing
    any of the fields in which they differ switches that off.
    """

    name: ClassVar[str] = "separated"
    title: ClassVar[str] = "Separated"
    cites: ClassVar[str] = "Platonov, Kuznedelev, Diskin et al. 2023"
    uses_edge_weights: ClassVar[bool] = True
    model: ClassVar[type[nn.NodeModel]] = nn.Separated
    candidates: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {"layers": 5, "dropout": 0.2, "weight_decay": 0.0, "scaling": "standard"},
        {"layers": 10, "dropout": 0.2, "weight_decay": 0.0, "scaling": "standard"},
        {"layers": 5, "dropout": 0.5, "weight_decay": 5e-3, "scaling": "length"},
    )

    layers: int = 5  # propagation layers
    hidden: int = 64  # width of the hidden states
    learning_rate: float = 3e-3  # of Adam
    weight_decay: float = 0.0  # weight of the L2 penalty
    dropout: float = 0.2  # share of states that a step drops
    scaling: Scaling = "standard"
    epochs: int = 1000  # at most
    patience: int = 200  # epochs without progress that end the training
    weights: nn.Weights = "symmetric"  # of the edges
    normalisation: nn.Normalisation = "layer"  # before every layer
    tries_candidates: bool = True  # whether settings are chosen on validation nodes

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layers < 1:
            raise InputError(f"`layers` must be at least 1; got {self.layers}.")
        for name, allowed in (("weights", nn.Weights), ("normalisation", nn.Normalisation)):
            if getattr(self, name) not in get_args(allowed):
                raise unknown_name(name, str(getattr(self, name)), get_args(allowed))

    def with_fields(self, **changes: Any) -> Self:
        """A copy with some hyper-parameters changed; None changes nothing."""
        given = {name for name, value in changes.items() if value is not None}
        if given & set(self.candidates[0]):
            changes = {"tries_candidates": False} | changes
        return super().with_fields(**changes)

    def suited(self, data: NodeData) -> Method:
        """Itself: the candidates differ in how they scale features."""
        return self

    def settled(self, task: Task) -> Method:
        """The candidate with the best mean score at the validation nodes of the first replicas."""
        if not self.tries_candidates:
            return self
        made = [replace(self, tries_candidates=False, **fields) for fields in self.candidates]
        few = task.first(_REPLICAS_FOR_CHOICE)
        if (tell := task.progress) is not None:  # nothing of the training is done yet
            few = replace(few, progress=lambda _, total: tell(0, total))
        return max(made, key=lambda candidate: _selected_score(candidate, few))

    @property
    def propagation_steps(self) -> int:
        """One per layer."""
        return self.layers

    def footprint(self, classes: int) -> Footprint:
        """Return what a step holds per node and edge beyond AGNN with as many layers."""
        return Footprint(per_node=4 * self.layers * self.hidden)

    def selection(self) -> Selection:
        """The epoch with the best score."""
        return BestScore(self.patience, self.watched, "best")


def _selected_score(method: Method, task: Task) -> float:
    """The mean over replicas of the watched score at the selected epoch."""
    history = method.run(task).history
    assert history is not None  # noqa: S101 (a network has one)
    rows = (history.selected_epochs - 1).clamp(min=0)
    return float(history.watched_accuracy[rows, torch.arange(rows.numel())].mean())


@register
@dataclass(frozen=True)
class GraphSAGE(HiddenNetwork):
    """A node's own state and the mean over its neighbours, each through a map of its own.

    Adam's rate is that of its authors' program; width, dropout and weight decay, which they tune
    for other tasks, are those of the networks here.
    """

    name: ClassVar[str] = "graphsage"
    title: ClassVar[str] = "GraphSAGE"
    cites: ClassVar[str] = "Hamilton, Ying and Leskovec 2017"
    uses_edge_weights: ClassVar[bool] = True
    model: ClassVar[type[nn.NodeModel]] = nn.GraphSAGE

    layers: int = 2  # propagation layers
    hidden: int = 128  # width of the hidden states
    epochs: int = 1000  # at most
    patience: int = 100  # epochs without progress that end the training
    scaling: Scaling = "length"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layers < 1:
            raise InputError(f"`layers` must be at least 1; got {self.layers}.")

    @property
    def propagation_steps(self) -> int:
        """One per layer."""
        return self.layers

    def footprint(self, classes: int) -> Footprint:
        """Return what a step holds per node and edge beyond AGNN with as many layers."""
        return Footprint(per_node=2 * self.layers * self.hidden)

    def selection(self) -> Selection:
        """The epoch with the best score."""
        return BestScore(self.patience, self.watched, "best")
