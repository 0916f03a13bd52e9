"""The matrices a model propagates by, learned or fixed, in one form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agnn.errors import InputError
from agnn.kernels import Attention
from agnn.nn import AGNN, GCN, NodeModel

if TYPE_CHECKING:
    from agnn.graph import View


def layer_weights(model: NodeModel, view: View) -> list[Attention]:
    """P(1) to P(l) on the CPU, each for the rows that its layer computes in the view.

    AGNN's are its attention, Eq. (7). Those of GCN and GLN are the fixed matrix of Eq. (1), the
    same in every layer and replica; its rows do not sum to 1.
    """
    if isinstance(model, AGNN):
        return [Attention(each.edges.cpu(), each.loops.cpu()) for each in model.attentions(view)]
    if isinstance(model, GCN):
        return [_fixed(view, rows, model.replicas) for rows in view.field.sizes[-2::-1]]
    raise InputError(
        f"`model` must propagate by matrices that can be read, as AGNN, GCN and GLN do; got "
        f"{type(model).__name__}."
    )


def _fixed(view: View, rows: int, replicas: int) -> Attention:
    """The GCN weights of the first `rows` rows: one copy, seen by every replica."""
    fixed = view.symmetric_propagation
    edges = fixed.edge_weights[: int(view.field.graph.offsets[rows])]
    return Attention(
        edges.cpu().expand(replicas, -1), fixed.loop_weights[:rows].cpu().expand(replicas, -1)
    )
