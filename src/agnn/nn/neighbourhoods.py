"""The neighbourhoods of a view's rows as lists of pairs: what weights by edge are computed from."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from agnn.graph import View


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """Who receives from whom in the first `rows` rows of a view, the nodes themselves last."""

    receivers: Tensor  # [m' + rows] int64, rows of the view
    senders: Tensor  # [m' + rows] int64
    edges: int  # m'
    rows: int

    @classmethod
    def of(cls, view: View, rows: int) -> Neighbourhoods:
        """Those of the first `rows` rows."""
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
        """The weights of the edges and those of the nodes themselves, as `weighted_sum` reads."""
        return weights[:, : self.edges], weights[:, self.edges :]


def sizes(view: View) -> Tensor:
    """|N(i)| + 1 in the whole graph, for the nodes of a view; [n'] int64."""
    return view.degrees + 1
