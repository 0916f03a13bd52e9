"""Checks that several operations share."""

from __future__ import annotations

import torch
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import Graph

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


# Heads that share a vector of 16 lanes evenly.
HEADS = (1, 2, 4, 8, 16)


def check_heads(h: Tensor, heads: int) -> None:
    """Whether the columns of `h` [R, n, d K] can belong to K = `heads` heads."""
    if heads not in HEADS:
        raise InputError(f"`heads` must be one of {', '.join(map(str, HEADS))}; got {heads}.")
    if h.shape[-1] % heads:
        raise InputError(f"`h` has {h.shape[-1]} columns, which {heads} heads cannot share.")
