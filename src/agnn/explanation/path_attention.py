"""Attention multiplied over the layers: what reaches one node from everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from agnn.errors import InputError
from agnn.explanation.layer_weights import layer_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from agnn.explanation.trained_model import TrainedModel
    from agnn.graph import ReceptiveField
    from agnn.kernels import Attention


def path_rows(field: ReceptiveField, weights: Sequence[Attention]) -> list[Tensor]:
    """The row of the field's one target in P(l)...P(t), for every t from 1 to l.

    Entry t - 1 says how much of each state H(t) arrives at the target: [R, n_t] float64 over the
    first n_t nodes of the field, those within l - t + 1 hops. The row goes backwards through the
    layers, so no matrix is ever multiplied by a matrix.
    """
    if field.sizes[0] != 1:
        raise InputError(f"the field must have one target node; got {field.sizes[0]}.")
    if not weights or len(weights) != field.hops:
        raise InputError(
            f"the weights of {len(weights)} layers do not fit a field that is {field.hops} deep; "
            f"both must be the same, and at least 1."
        )
    receivers, senders = field.graph.receivers.cpu(), field.graph.senders.cpu()
    row = torch.ones(weights[0].loops.shape[0], 1, dtype=torch.float64)
    rows: list[Tensor] = []
    for weight, width in zip(reversed(weights), field.sizes[1:], strict=True):
        edges = weight.edges.shape[1]
        before = torch.zeros(row.shape[0], width, dtype=torch.float64)
        before[:, : row.shape[1]] = row * weight.loops
        row = before.index_add(1, senders[:edges], row[:, receivers[:edges]] * weight.edges)
        rows.insert(0, row)
    return rows


def path_attention(trained: TrainedModel, node: int) -> tuple[Tensor, Tensor]:
    """(P(l)...P(1)) at one target: how much of each input state H(1) reaches it.

    The nodes that reach it [k] int64, by hop, the target first, and their weights [R, k] float64.
    AGNN's sum to 1, and the target's state before the output layer is exactly their mean of
    H(1). For GCN and GLN it is the target's row of P^2, which does not sum to 1.
    """
    view = trained.view_of(node)
    rows = path_rows(view.field, layer_weights(trained.model, view))
    nodes = view.field.nodes.cpu()
    return nodes, rows[0]
