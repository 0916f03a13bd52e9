"""Graphs made to a size, on the device where they are wanted."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from agnn.errors import InputError
from agnn.graph import Graph

_AT_ONCE = 1 << 26  # edges that are made in one go


def hashed_circulant(
    nodes: int, degree: int, seed: int = 0, device: torch.device | str = "cpu"
) -> Graph:
    """An undirected graph in which every node has `degree` neighbours, anywhere among the others.

    A circulant graph (node i beside i + s and i - s for some steps s) whose nodes are shuffled, so
    that neighbours lie nowhere near one another in memory. It is built a piece at a time: besides
    the graph there are two numbers a node.
    """
    if degree < 2 or degree % 2 or nodes <= 2 * degree:
        raise InputError(
            f"`degree` must be even, from 2 to below half the nodes; got {degree} for {nodes} "
            f"nodes."
        )
    source = Generator(device=device).manual_seed(seed)
    steps = _different_steps(degree // 2, (nodes - 1) // 2, seed).to(device)
    label = torch.randperm(nodes, generator=source, device=device, dtype=torch.int64)
    label = label.to(torch.int32)
    place = torch.empty_like(label)
    place[label.to(torch.int64)] = torch.arange(nodes, dtype=torch.int32, device=device)
    columns = torch.empty(nodes * degree, dtype=torch.int32, device=device)
    both = torch.cat([steps, -steps])
    for first in range(0, nodes, max(1, _AT_ONCE // degree)):
        rows = place[first : first + max(1, _AT_ONCE // degree)].to(torch.int64)
        beside = (rows[:, None] + both) % nodes
        columns[first * degree : (first + rows.numel()) * degree] = (
            label[beside].sort(dim=1).values.view(-1)
        )
    offsets = torch.arange(nodes + 1, dtype=torch.int64, device=device) * degree
    return Graph(offsets, columns)


def _different_steps(count: int, largest: int, seed: int) -> Tensor:
    """`count` different numbers from 1 to `largest`; [count] int64."""
    source = Generator().manual_seed(seed)
    found = torch.empty(0, dtype=torch.int64)
    while found.numel() < count:
        more = torch.randint(1, largest + 1, (2 * count,), generator=source)
        found = torch.unique(torch.cat([found, more]))
    return found[torch.randperm(found.numel(), generator=source)[:count]]


def power_law(
    nodes: int,
    edges: int,
    seed: int = 0,
    *,
    exponent: float = 2.5,
    device: torch.device | str = "cpu",
) -> Graph:
    """An undirected graph with hubs: the number of nodes of degree k falls about as k^-exponent.

    `edges` pairs are drawn, each end with a probability that falls with its rank; pairs that
    repeat and self-loops are left out, so there are somewhat fewer than 2 `edges` stored edges.
    """
    if nodes < 2 or edges < 1 or not exponent > 2.0:
        raise InputError(
            f"a power-law graph needs 2 nodes, 1 edge and an exponent above 2; got {nodes}, "
            f"{edges} and {exponent}."
        )
    source = Generator(device=device).manual_seed(seed)
    # Weights rank^-a with a = 1 / (exponent - 1): the inverse of their distribution function.
    power = 1.0 - 1.0 / (exponent - 1.0)
    uniform = torch.rand(2, edges, generator=source, device=device, dtype=torch.float64)
    rank = (uniform ** (1.0 / power) * nodes).to(torch.int64).clamp_(max=nodes - 1)
    label = torch.randperm(nodes, generator=source, device=device)
    return Graph.from_edges(label[rank], nodes)
