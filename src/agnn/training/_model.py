"""What training asks of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

from agnn.graph import View
from agnn.kernels import Dropout


class TrainableModel(nn.Module, ABC):
    """Replicas that are trained at once; every parameter and buffer is [R, ...]."""

    replicas: int  # R
    hops: int  # how far from a node it reads
    backend: str  # of the kernels

    @property
    def betas(self) -> Tensor | None:
        """The scalar of every attention layer, [R, l]; None for a model without."""
        return None

    @abstractmethod
    def forward(self, view: View, dropout: Dropout | None = None) -> Tensor:
        """Return logits [R, targets, c]; `dropout` is given in training steps only."""
