"""Drawn paths as a device reads them: every batch of every replica in one shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.methods.planetoid.contexts import Paths


@dataclass(frozen=True, eq=False)
class Pairs:
    """One batch of R replicas. Pair k: the embedding of nodes[rows[k]], the context contexts[k].

    A pair that counts for nothing has the weight 0, the others 1. Nodes are filled up with n.
    """

    nodes: Tensor  # [R, u], each but n once
    rows: Tensor  # [R, k]
    contexts: Tensor  # [R, k], places among the contexts
    weights: Tensor  # [R, k]


class Batches:
    """The batches of R replicas, each with as many rows as the replicas' longest."""

    def __init__(
        self,
        paths: Sequence[Paths],
        places: NDArray[np.int64],
        pattern: NDArray[np.int64],
        device: str,
    ) -> None:
        """`paths` has an entry a replica, all of one shape; a node is n where there is none.

        `places` [n + 1] is where a node stands among the contexts, -1 for one that is in no pair.
        `pattern` [2, k] pairs places of a path.
        """
        drawn = np.stack(paths, axis=1)  # [B, R, count, length]
        drawn = np.where(places[drawn] < 0, places.size - 1, drawn)
        read = drawn[..., : pattern[0].max() + 1]
        nodes, rows = _distinct(
            read.reshape(*read.shape[:2], read.shape[2] * read.shape[3]), places.size - 1
        )
        self.count = drawn.shape[0]
        self.nodes = torch.from_numpy(nodes).to(device)
        self.rows = torch.from_numpy(rows.reshape(read.shape)).to(device)
        self.places = torch.from_numpy(places[drawn]).to(device)
        self.nodes_of, self.contexts_of = torch.from_numpy(pattern).to(device)

    def __getitem__(self, batch: int) -> Pairs:
        places, rows = self.places[batch], self.rows[batch]
        contexts = places[..., self.contexts_of].flatten(1)
        is_pair = (contexts >= 0) & (places[..., self.nodes_of].flatten(1) >= 0)
        return Pairs(
            self.nodes[batch], rows[..., self.nodes_of].flatten(1), contexts.clamp_min(0),
            is_pair.to(torch.float32),
        )  # fmt: skip


def _distinct(nodes: NDArray[np.int64], filler: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different entries along the last axis, ascending, and where each entry is among them."""
    if not nodes.size:
        return nodes[..., :0], nodes
    order = np.argsort(nodes, axis=-1, kind="stable")
    ascending = np.take_along_axis(nodes, order, -1)
    is_new = np.diff(ascending, axis=-1, prepend=-1) > 0
    rank = np.cumsum(is_new, axis=-1) - 1
    rows = np.empty_like(nodes)
    np.put_along_axis(rows, order, rank, -1)
    found = np.full((*nodes.shape[:-1], int(rank.max()) + 1), filler)
    np.put_along_axis(found, rank, ascending, -1)
    return found, rows
