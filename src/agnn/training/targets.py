"""The nodes whose labels a run looks at: one set for each replica, over one view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.graph import Features, Graph, View
from agnn.kernels import cross_entropy


@dataclass(frozen=True, eq=False)
class Targets:
    """Some nodes of each replica, their labels, and the view that computes them all."""

    view: View
    rows: Tensor | None  # [R, k] rows of the view's targets; None: all of them, in order
    labels: Tensor  # [R, k] int64
    weights: Tensor  # [R, k]: sum to 1; equal without class weights; 0 where a set is filled up
    counts: Tensor  # [R] int64: the numbers of nodes

    @classmethod
    def build(
        cls,
        features: Features,
        graph: Graph,
        labels: NDArray[np.int64],
        sets: Sequence[NDArray[np.int64]],
        hops: int,
        class_weights: NDArray[np.float64] | None = None,
    ) -> Targets:
        """The given nodes of each replica, on the view around all of them.

        With `class_weights` [R, c], all above 0, the losses are means weighted by the label.
        """
        ordered = [np.sort(nodes) for nodes in sets]
        longest = max(nodes.size for nodes in ordered)
        # A set is filled up with its own first node, at weight zero.
        filled = np.stack([np.pad(nodes, (0, longest - nodes.size), "wrap") for nodes in ordered])
        counts = np.array([nodes.size for nodes in ordered])
        weights = (np.arange(longest) < counts[:, None]) / counts[:, None]
        if class_weights is not None:
            weights *= np.take_along_axis(class_weights, np.asarray(labels)[filled], axis=1)
            weights /= weights.sum(1, keepdims=True)
        device = graph.device
        nodes = torch.from_numpy(filled).to(device)
        view = View.around(features, graph, torch.unique(nodes), hops)
        rows = view.field.rows_of(nodes)
        every = torch.arange(view.field.sizes[0], device=device)
        is_all = rows.shape[1] == every.numel() and bool((rows == every).all())
        return cls(
            view,
            None if is_all else rows,
            torch.from_numpy(np.asarray(labels)[filled]).to(device),
            torch.from_numpy(weights).to(device, features.dtype),
            torch.from_numpy(counts).to(device),
        )

    def pick(self, outputs: Tensor) -> Tensor:
        """The replicas' own rows of outputs [R, targets, c]; [R, k, c]."""
        if self.rows is None:
            return outputs
        return outputs.gather(1, self.rows[..., None].expand(-1, -1, outputs.shape[2]))

    def losses(self, picked: Tensor, backend: str, weights: Tensor | None = None) -> Tensor:
        """Mean cross-entropy of each replica, or the sum by other `weights` [R, k]; [R]."""
        # Paper: Eq. (2) sums over the labelled nodes; the mean is what its figures need, since
        # the sum makes the L2 term weaker by the number of labels.
        chosen = self.weights if weights is None else weights
        return cross_entropy(picked, self.labels, chosen, backend=backend)

    def accuracies(self, picked: Tensor) -> Tensor:
        """Share of right answers of each replica; [R]."""
        # Counted, not summed in fractions: equal counts must compare as equal.
        right = (picked.argmax(-1) == self.labels) & (self.weights > 0)
        return right.sum(1) / self.counts
