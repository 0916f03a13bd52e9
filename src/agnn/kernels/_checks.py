"""Checks that several operations share."""

from __future__ import annotations

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import Graph
from agnn.kernels._dropout import DropoutAt

_STATES = (torch.float32, torch.float64, torch.bfloat16)


def parameter_type(dtype: torch.dtype) -> torch.dtype:
    """The type of what multiplies states of `dtype`: short states have single-precision ones."""
    return torch.float32 if dtype == torch.bfloat16 else dtype


def single(h: Tensor) -> Tensor:
    """States that are short on a CPU in single precision, which is computed in; others as given.

    The kernels of a GPU read short states as they are.
    """
    return h.float() if h.dtype == torch.bfloat16 and h.device.type == "cpu" else h


def check_rows(
    graph: Graph, h: Tensor, rows: int | None, *, takes_short_on_cpu: bool = False
) -> int:
    """The number of rows to compute, after a look at the states and the graph."""
    if h.ndim != 3:
        raise InputError(f"`h` must have shape [R, n, d]; got {list(h.shape)}.")
    if h.dtype not in _STATES:
        raise InputError(f"`h` must be float32, float64 or bfloat16; got {h.dtype}.")
    if h.dtype == torch.bfloat16 and h.device.type == "cpu" and not takes_short_on_cpu:
        raise InputError("`h` is bfloat16, which is for a GPU; use float32 on the CPU.")
    if h.device != graph.device:
        raise InputError(f"`h` is on {h.device}, the graph on {graph.device}.")
    n = h.shape[1]
    if n > graph.nodes:
        raise InputError(f"`h` has {n} rows, but the graph has {graph.nodes} nodes.")
    count = n if rows is None else rows
    if not 0 < count <= n:
        raise InputError(f"`rows` must be between 1 and {n}; got {count}.")
    # Reading a row that is not there would be silent in compiled code.
    if n < graph.nodes and graph.reach(count) > n:
        raise InputError(
            f"the first {count} rows have neighbours beyond the {n} rows of `h`; give `h` for "
            f"the whole neighbourhood."
        )
    return count


def check_first_layer(
    features: int, weight: Tensor, bias: Tensor | None, drop: DropoutAt | None
) -> None:
    """Raise unless the parameters of a first layer fit `features` features and one another."""
    if weight.ndim != 3 or weight.shape[1] != features:
        raise InputError(
            f"`weight` must have shape [R, {features}, d] for {features} features; got "
            f"{list(weight.shape)}."
        )
    if bias is not None and bias.shape != (weight.shape[0], weight.shape[2]):
        raise InputError(f"`bias` must have shape [R, d]; got {list(bias.shape)}.")
    if drop is not None and drop.keys.shape[0] != weight.shape[0]:
        raise InputError(f"{drop.keys.shape[0]} dropout streams for {weight.shape[0]} replicas.")


# Heads that share a vector of 16 lanes evenly.
HEADS = (1, 2, 4, 8, 16)


def check_heads(h: Tensor, heads: int) -> None:
    """Whether the columns of `h` [R, n, d K] can belong to K = `heads` heads."""
    if heads not in HEADS:
        raise InputError(f"`heads` must be one of {', '.join(map(str, HEADS))}; got {heads}.")
    if h.shape[-1] % heads:
        raise InputError(f"`h` has {h.shape[-1]} columns, which {heads} heads cannot share.")
