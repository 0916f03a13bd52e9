"""Hold attention and gates as they are, so that a network can be taken apart.

Inside `holding()` an operation whose weights depend on its input applies them as constants, and a
gate is the constant factor by which it scales each unit. The output is that of the ordinary pass.
It is affine in the output of the first layer, Z = X W0 + b0, so its gradient G at Z says how
much of every unit arrives: node j adds <G_j, Z_j>, and what is left is the constant.

>>> import torch
>>> z = torch.tensor([-1.0, 2.0], requires_grad=True)
>>> with holding():
...     hold_gate(z, torch.nn.functional.elu(z)).sum().backward()
>>> z.grad.tolist()  # ELU(z) / z, which is not ELU's slope
[0.6321205496788025, 1.0]
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor


class Attention(NamedTuple):
    """P^(t) of some receivers: the weights of their neighbours and of themselves."""

    edges: Tensor  # [R, m'] P[i, j] for the stored edges of the receivers, in stored order
    loops: Tensor  # [R, rows] P[i, i]


class FirstStates(NamedTuple):
    """A map of the features: Z = X W + b, a leaf of torch's graph."""

    states: Tensor  # Z [R, n, d]
    weight: Tensor  # W [R, d_x, d]
    bias: Tensor | None  # b [R, d]


@dataclass(frozen=True, eq=False)
class HeldPass:
    """What a forward pass with held attention and gates left behind."""

    first: list[FirstStates] = field(default_factory=list)
    hops: list[Attention] = field(default_factory=list)  # of the links over edges, in order


_current: ContextVar[HeldPass | None] = ContextVar("agnn_held_pass", default=None)


def held_pass() -> HeldPass | None:
    """Return the pass that is going on, or None outside of `holding()`."""
    return _current.get()


@contextmanager
def holding() -> Iterator[HeldPass]:
    """Hold attention and gates in all operations of the block."""
    started = HeldPass()
    token = _current.set(started)
    try:
        yield started
    finally:
        _current.reset(token)


def is_holding() -> bool:
    """Return whether attention and gates are held."""
    return _current.get() is not None


def hold_gate(before: Tensor, after: Tensor) -> Tensor:
    """Return `after`; inside `holding()` as `before` times constants.

    Where `before` is 0 the factor is 1: the product is 0 whatever it is.
    """
    if _current.get() is None:
        return after
    factors = torch.where(before == 0, 1.0, after / before)
    return before * factors.detach()
