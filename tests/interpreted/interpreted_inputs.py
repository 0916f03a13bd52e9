"""Inputs of interpreted programs, and the definitions they are judged by."""

from __future__ import annotations

from types import ModuleType

import torch
from torch import Tensor

from agnn.kernels import Dropout, DropoutAt
from agnn.kernels._backends import implementation
from zoo import ZOO

# The interpreter takes milliseconds for a program: the large animals are for tests/gpu.
SMALL = tuple(name for name in ZOO if name not in ("hub", "complete", "random"))


def reference(operation: str) -> ModuleType:
    return implementation(operation, "reference", "cpu")


def drawn(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensor:
    source = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=source, dtype=torch.float64).to(dtype)


def dropped(replicas: int, place: int = 0) -> DropoutAt:
    stream = Dropout(range(replicas), [0.5, 0.0, 0.8][:replicas])
    stream.epoch += 3
    return stream.at(place)
