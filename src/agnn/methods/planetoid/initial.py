"""Random starts of the weights: a source a replica, so that it starts the same in any company."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor


def glorot(
    fan_in: int, fan_out: int, sources: Sequence[np.random.Generator], device: str
) -> Tensor:
    """Weights [R, fan_in, fan_out], uniform within +-sqrt(6 / (fan_in + fan_out))."""
    bound = math.sqrt(6.0 / (fan_in + fan_out))
    drawn = [source.uniform(-bound, bound, size=(fan_in, fan_out)) for source in sources]
    return torch.from_numpy(np.stack(drawn)).to(device, torch.float32)
