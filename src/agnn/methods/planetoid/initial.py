"""Random starts of the weights."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def glorot(fan_in: int, fan_out: int, source: np.random.Generator) -> NDArray[np.float32]:
    """Weights [fan_in, fan_out], uniform within +-sqrt(6 / (fan_in + fan_out))."""
    bound = math.sqrt(6.0 / (fan_in + fan_out))
    return source.uniform(-bound, bound, size=(fan_in, fan_out)).astype(np.float32)
