"""One layer's weights among some nodes, as far as they bear on a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from agnn.explanation.lookup import Lookup
from agnn.explanation.relevance import edge_relevance
from agnn.kernels import Attention

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from agnn.graph import ReceptiveField


@dataclass(frozen=True, eq=False)
class LayerInside:
    """Layer t among k nodes and e edges.

    A layer with s layers after it bears on the target through the rows within s hops of it.
    The weights of those rows are here; all others are NaN.
    """

    reach: NDArray[np.float64]  # [R, k] the target's row of P(l)...P(t): what arrives of H(t)
    attention: NDArray[np.float64]  # [R, e] P[i, j]
    loops: NDArray[np.float64]  # [R, k] P[i, i]
    relevance: NDArray[np.float64]  # [R, e] R(j -> i), Eq. (9)
    loop_relevance: NDArray[np.float64]  # [R, k]


def layers_inside(
    field: ReceptiveField,
    weights: Sequence[Attention],
    rows: Sequence[Tensor],
    nodes: Tensor,
    edge_ids: Tensor,
) -> tuple[LayerInside, ...]:
    """Every layer's weights at `nodes` [k] and at the edges `edge_ids` [e] of the whole graph.

    `weights` and `rows` are the layers' matrices and path rows in the field, first to last.
    """
    graph = field.graph.to("cpu")
    by_node, by_edge = Lookup(field.nodes.cpu()), Lookup(field.edge_ids.cpu())

    def at_nodes(values: Tensor, missing: float) -> NDArray[np.float64]:
        return by_node.values(values, nodes, missing).numpy()

    def at_edges(values: Tensor) -> NDArray[np.float64]:
        return by_edge.values(values, edge_ids, np.nan).numpy()

    found = []
    for weight, row in zip(weights, rows, strict=True):
        relevance = edge_relevance(graph, weight)
        found.append(
            LayerInside(
                reach=at_nodes(row, 0.0),
                attention=at_edges(weight.edges),
                loops=at_nodes(weight.loops, np.nan),
                relevance=at_edges(relevance.edges),
                loop_relevance=at_nodes(relevance.loops, np.nan),
            )
        )
    return tuple(found)
