"""Initial weights, drawn from one generator per replica.

A replica therefore starts with the same weights alone and in a batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Generator, Tensor

from agnn.errors import InputError


def generators(seeds: Sequence[int]) -> tuple[Generator, ...]:
    """Return one generator per seed."""
    if not seeds:
        raise InputError("a model needs at least one replica; got no seeds.")
    for seed in seeds:
        # torch's CPU generator reads 32 bits: a larger seed would repeat a smaller one.
        if not 0 <= seed < 2**32:
            raise InputError(f"a seed must be between 0 and 2^32 - 1; got {seed}.")
    return tuple(Generator().manual_seed(seed) for seed in seeds)


def glorot_uniform(
    sources: Sequence[Generator], fan_in: int, fan_out: int, heads: int = 1
) -> Tensor:
    """Return weights [R, fan_in, fan_out K], uniform within +-sqrt(6 / (fan_in + fan_out)).

    K = `heads` matrices of that size stand side by side, each drawn as if it were alone.
    """
    bound = math.sqrt(6.0 / (fan_in + fan_out))
    draws = [torch.rand(fan_in, fan_out * heads, generator=source) for source in sources]
    return torch.stack(draws).mul_(2 * bound).sub_(bound)


def normal(sources: Sequence[Generator], *shape: int, deviation: float) -> Tensor:
    """Return normally distributed numbers [R, *shape] with mean zero."""
    draws = [torch.randn(shape, generator=source) for source in sources]
    return torch.stack(draws).mul_(deviation)
