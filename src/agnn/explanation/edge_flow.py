"""How much of what reaches a node passes over each edge."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from agnn.explanation.flow import layer_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.explanation.trained_model import TrainedModel


class EdgeFlow(NamedTuple):
    """Undirected edges around a node, the most attended first."""

    pairs: NDArray[np.int64]  # [e, 2] indices in the data, the smaller first
    flow: NDArray[np.float64]  # [e] averaged over the replicas

    def at(self, node: int) -> EdgeFlow:
        """Those with this node at one end."""
        is_own = (self.pairs == node).any(1)
        return EdgeFlow(self.pairs[is_own], self.flow[is_own])


def edge_flow(trained: TrainedModel, node: int) -> EdgeFlow:
    """Attention by edge, over all layers: one number an edge, for one target i.

        flow(u - v) = sum over t of (P(l)...P(t+1))_iu P(t)_uv + (P(l)...P(t+1))_iv P(t)_vu

    A walk that starts at i and goes from receiver to sender by P(l), then P(l-1), down to P(1),
    takes the edge so many times on average. Equal edges stand by their ends.
    """
    view = trained.view_of(node)
    field, weights = view.field, layer_weights(trained.model, view)
    receivers, senders = field.graph.receivers.cpu(), field.graph.senders.cpu()
    flow = torch.zeros(receivers.numel(), dtype=torch.float64)
    row = torch.ones(weights[0].loops.shape[0], 1, dtype=torch.float64)  # [R, rows computed]
    for weight, width in zip(reversed(weights), field.sizes[1:], strict=True):
        edges = weight.edges.shape[1]
        passed = row[:, receivers[:edges]] * weight.edges
        flow[:edges] += passed.mean(0)
        before = torch.zeros(row.shape[0], width, dtype=torch.float64)
        before[:, : row.shape[1]] = row * weight.loops
        row = before.index_add(1, senders[:edges], passed)
    return _both_ways(field.nodes.cpu().numpy()[[receivers, senders]].T, flow.numpy())


def _both_ways(ends: NDArray[np.int64], flow: NDArray[np.float64]) -> EdgeFlow:
    """The flow of both directions of each edge together, the largest first."""
    pairs, place = np.unique(np.sort(ends, axis=1), axis=0, return_inverse=True)
    total = np.zeros(len(pairs))
    np.add.at(total, place.ravel(), flow)
    order = np.argsort(-total, kind="stable")
    return EdgeFlow(pairs[order], total[order])
