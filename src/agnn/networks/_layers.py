"""The layers of the models, each with a leading replica axis, and their initial weights.

Weights are drawn from one generator per replica, so a replica starts with the same weights alone
and in a batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn

from agnn.errors import InputError
from agnn.graph import Features, Graph
from agnn.kernels import (
    CosineAttentionLink,
    DenseLinearLink,
    DropoutAt,
    FirstLayerLink,
    Link,
    for_versions,
    run_chain,
)


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


class _Maps(nn.Module):
    """The weight and the bias of a linear layer."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        sources: Sequence[Generator],
        *,
        has_bias: bool,
        heads: int = 1,  # K maps side by side: K times as many columns
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(glorot_uniform(sources, inputs, outputs, heads))
        self.bias = nn.Parameter(torch.zeros(len(sources), outputs * heads)) if has_bias else None

    def for_versions(self, versions: int) -> tuple[Tensor, Tensor | None]:
        """Return both for so many versions of each replica."""
        if versions == 1:
            return self.weight, self.bias
        bias = None if self.bias is None else for_versions(self.bias, versions)
        return for_versions(self.weight, versions), bias


class FeatureLinear(_Maps):
    """dropout(X) W + b for the features, which all replicas share; sparse or dense.

    Shapes: X [n, d_x], weight [R, d_x, d], bias [R, d] or none; output [R, n, d].
    """

    def link(
        self,
        x: Features,
        drop: DropoutAt | None,
        backend: str,
        *,
        has_bias: bool = True,
        versions: int = 1,
    ) -> Link:
        """Return the layer as the first link of a chain, with or without its bias."""
        weight, bias = self.for_versions(versions)
        chosen_bias = bias if has_bias else None
        return FirstLayerLink(x, weight, chosen_bias, drop, backend)

    def forward(self, x: Features, drop: DropoutAt | None, backend: str) -> Tensor:
        """Return states [R, n, d]."""
        return run_chain([self.link(x, drop, backend)], x.values)


class Linear(_Maps):
    """dropout(H) W + b for states, which differ between replicas.

    Shapes: H [R, n, d], weight [R, d, k], bias [R, k] or none; output [R, n, k].
    """

    def link(
        self, row_ids: Tensor, drop: DropoutAt | None, backend: str, *, versions: int = 1
    ) -> DenseLinearLink:
        """Return the layer as a link of a chain."""
        return DenseLinearLink(*self.for_versions(versions), row_ids, drop, backend)

    def forward(self, h: Tensor, row_ids: Tensor, drop: DropoutAt | None, backend: str) -> Tensor:
        """Return outputs [R, n, k]; `row_ids` [n] are the rows' indices in the full graph."""
        return run_chain([self.link(row_ids, drop, backend)], h)


@dataclass(frozen=True)
class Beta:
    """The initial value of an attention layer's scalar, and whether it is learned."""

    start: float = 1.0
    learned: bool = True


class CosineAttention(nn.Module):
    """H' = P H with P_i. = softmax over j in N(i) and i of beta cos(H_i, H_j), Eq. (5).

    Shapes: H [R, n, d], beta [R]; output [R, rows, d]. A fixed beta is a buffer: saved and moved
    with the model, but not a parameter.
    """

    beta: Tensor

    def __init__(self, beta: Beta, replicas: int) -> None:
        super().__init__()
        start = torch.full((replicas,), float(beta.start))
        if beta.learned:
            self.beta = nn.Parameter(start)
        else:
            self.register_buffer("beta", start)

    def link(self, graph: Graph, rows: int, backend: str) -> CosineAttentionLink:
        """Return the layer as a link of a chain."""
        return CosineAttentionLink(graph, self.beta, rows, backend)

    def forward(self, graph: Graph, h: Tensor, rows: int, backend: str) -> Tensor:
        """Return the new states of the first `rows` nodes."""
        return run_chain([self.link(graph, rows, backend)], h)
