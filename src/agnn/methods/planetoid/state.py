"""The weights of some replicas in training, and the two steps that move them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.graph import FeatureMatrix
from agnn.methods.planetoid.batches import Pairs
from agnn.methods.planetoid.head import Head


@dataclass(frozen=True, eq=False)
class Start:
    """What weights are drawn for: replicas that share their data, their split and a device."""

    x: FeatureMatrix  # [n, d_x], on the device
    classes: int
    places: NDArray[np.int64]  # [n + 1] of a node among the contexts; -1: it is in none
    lonely: Tensor  # the nodes without neighbours
    sources: Sequence[np.random.Generator]  # one a replica
    device: str
    backend: str


class State(ABC):
    """Weights with a replica axis."""

    head: Head

    @property
    @abstractmethod
    def own(self) -> list[Tensor]:
        """What the embeddings are made of; [R, ...] each."""

    @abstractmethod
    def embeddings(self, nodes: Tensor, x: FeatureMatrix) -> Tensor:
        """What the classifier reads of nodes [k] with features x [k, d_x]; [R, k, d]."""

    @abstractmethod
    def learn_labels(self, nodes: Tensor, x: FeatureMatrix, labels: Tensor, rate: float) -> None:
        """A step of the classifier and of the embeddings that it reads."""

    @abstractmethod
    def learn_contexts(self, pairs: Pairs, rate: float) -> None:
        """A step on the context loss."""

    @property
    def answering(self) -> list[Tensor]:
        """All that the scores depend on; [R, ...] each."""
        return [*self.head.parameters, *self.own]

    @torch.no_grad()
    def scores(self, nodes: Tensor, x: FeatureMatrix) -> Tensor:
        """Class probabilities of nodes [k] with features x [k, d_x]; [R, k, c]."""
        return self.head.logits(x, self.embeddings(nodes, x))[2].softmax(2)


def descend(loss: Tensor, parameters: Sequence[Tensor], rate: float) -> None:
    """Move parameters, leaves of the loss, against its gradient."""
    slopes = torch.autograd.grad(loss, list(parameters))
    with torch.no_grad():
        for parameter, slope in zip(parameters, slopes, strict=True):
            parameter.sub_(slope, alpha=rate)
