"""Neighbourhoods as lists of (receiver, sender) pairs, for models that compute edge weights."""

from __future__ import annotations

from dataclasses import dataclass

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
        own = torch.arange(rows, device=graph.device)
        return cls(
            torch.cat([graph.receivers[:edges], own]),
            torch.cat([graph.senders[:edges], own]),
            edges,
            rows,
        )

    def parts(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Return the weights of edges and of self-loops, as `weighted_sum` reads them."""
        return weights[:, : self.edges], weights[:, self.edges :]


def sizes(view: View) -> Tensor:
    """Return |N(i)| + 1 in the full graph for the nodes of a view; [n'] int64."""
    return view.degrees + 1
