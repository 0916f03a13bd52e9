"""Neighbourhoods as lists of (receiver, sender) pairs, for models that compute edge weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from agnn.graph import View


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """The edges into the first `rows` rows of a view, followed by their self-loops."""

    receivers: Tensor  # [m' + rows] int64, rows of the view
    senders: Tensor  # [m' + rows] int64
    edges: int  # m'
    rows: int

    @classmethod
    def of(cls, view: View, rows: int) -> Neighbourhoods:
        """Return those of the first `rows` rows."""
        graph = view.field.graph
        edges = graph.edges_of(rows)
        nodes = torch.arange(rows, device=graph.device)
        return cls(
            torch.cat([graph.receivers[:edges], nodes]),
            torch.cat([graph.senders[:edges], nodes]),
            edges,
            rows,
        )

    def parts(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Return the weights of edges and of self-loops, as `weighted_sum` reads them."""
        return weights[:, : self.edges], weights[:, self.edges :]


def at_nodes(states: Tensor, nodes: Tensor) -> Tensor:
    """`states[:, nodes]`, whose gradient has the same bits for any number of threads.

    On several threads of a CPU torch adds up the gradient of an indexed tensor by atomic additions,
    in any order; on a GPU it sorts.
    """
    if states.device.type != "cpu":
        return states[:, nodes]
    states_at_nodes: Tensor = _AtNodes.apply(states, nodes)  # type: ignore[no-untyped-call]
    return states_at_nodes


class _AtNodes(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, nodes: Tensor) -> Tensor:
        ctx.save_for_backward(nodes)
        ctx.count = states.shape[1]
        return states[:, nodes]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (nodes,) = ctx.saved_tensors
        (gradient,) = gradients
        lines = gradient.movedim(1, 0)[torch.argsort(nodes, stable=True)]
        counts = torch.bincount(nodes, minlength=ctx.count)
        sums = torch.segment_reduce(lines.flatten(1), "sum", lengths=counts, unsafe=True)
        return sums.view(ctx.count, *lines.shape[1:]).movedim(0, 1), None


def sizes(view: View) -> Tensor:
    """Return |N(i)| + 1 in the full graph for the nodes of a view; [n'] int64."""
    return view.degrees + 1
