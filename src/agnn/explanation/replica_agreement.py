"""Whether models that differ in their seed alone attend to the same neighbours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import torch

from agnn.errors import InputError
from agnn.explanation.flow import path_attention
from agnn.metrics import Summary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agnn.explanation.opened_run import OpenedRun


def attention_agreement(opened: OpenedRun, nodes: Iterable[int], *, fewest: int = 3) -> Summary:
    """Spearman's rank correlation of two replicas' path attention over a node's neighbours.

    The mean over all pairs of replicas, one value a node with at least `fewest` neighbours: 1 is
    the same order in all replicas, 0 is what chance gives.
    """
    if opened.replicas < 2:
        raise InputError(f"agreement needs 2 replicas or more; the run has {opened.replicas}.")
    values = []
    for node in nodes:
        reached, weights = path_attention(opened.trained, node)
        graph = opened.trained.graph
        beside = graph.senders[graph.offsets[node] : graph.offsets[node + 1]]
        if beside.numel() >= fewest:
            values.append(_mean_correlation(weights[:, torch.isin(reached, beside)].numpy()))
    if not values:
        raise InputError(f"none of the nodes has {fewest} neighbours or more.")
    return Summary(values)


def _mean_correlation(weights: NDArray[np.float64]) -> float:
    """The mean rank correlation of all pairs of rows [R, k]; rows without an order count as 0."""
    from scipy.stats import rankdata

    ranks = rankdata(weights, axis=1)
    ranks -= ranks.mean(1, keepdims=True)
    lengths = np.linalg.norm(ranks, axis=1, keepdims=True)
    units = np.divide(ranks, lengths, out=np.zeros_like(ranks), where=lengths > 0)
    among = (units @ units.T)[np.triu_indices(len(units), k=1)]
    return float(among.mean())
