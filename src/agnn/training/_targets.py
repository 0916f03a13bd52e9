"""The labelled nodes that a step or an evaluation reads, one set per replica, and their batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.errors import InputError
from agnn.graph import Features, Graph, View
from agnn.kernels import Dropout, DropoutAt, cross_entropy, random_words
from agnn.training._model import TrainableModel
from agnn.training._selection import Metric

# Where the random numbers of the batch order come from: beyond any place that a model drops at.
ORDER_PLACE = 2**20


@dataclass(frozen=True, eq=False)
class Targets:
    """Some nodes of each replica, their labels, and one view that computes all of them."""

    view: View
    rows: Tensor | None  # [R, k] rows of the view's targets; None for all of them, in order
    labels: Tensor  # [R, k] int64
    weights: Tensor  # [R, k] sum to 1; equal without class weights; 0 for padding
    counts: Tensor  # [R] int64, nodes per replica

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
        """Return the given nodes of each replica, on the view around all of them.

        With `class_weights` [R, c], all above 0, the losses are means weighted by the label.
        """
        return cls.in_view(
            lambda nodes: View.around(features, graph, nodes, hops, is_for_many_passes=True),
            labels,
            sets,
            features,
            class_weights,
        )

    @classmethod
    def in_view(
        cls,
        view_of: Callable[[Tensor], View],
        labels: NDArray[np.int64],
        sets: Sequence[NDArray[np.int64]],
        features: Features,
        class_weights: NDArray[np.float64] | None = None,
    ) -> Targets:
        """Return the given nodes of each replica, on `view_of` all of them, ascending."""
        ordered = [np.sort(nodes) for nodes in sets]
        longest = max(nodes.size for nodes in ordered)
        # A shorter set is padded with its own nodes, at weight zero.
        filled = np.stack([np.pad(nodes, (0, longest - nodes.size), "wrap") for nodes in ordered])
        counts = np.array([nodes.size for nodes in ordered])
        weights = (np.arange(longest) < counts[:, None]) / counts[:, None]
        if class_weights is not None:
            weights *= np.take_along_axis(class_weights, np.asarray(labels)[filled], axis=1)
            weights /= weights.sum(1, keepdims=True)
        device = features.row_ids.device
        nodes = torch.from_numpy(filled).to(device)
        view = view_of(torch.unique(nodes))
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

    @cached_property
    def nodes(self) -> Tensor:
        """The nodes themselves; [R, k] int64."""
        targets = self.view.field.targets
        return targets.repeat(len(self.labels), 1) if self.rows is None else targets[self.rows]

    def outputs(self, model: TrainableModel, dropout: Dropout | None = None) -> Tensor:
        """Return the model's outputs at each replica's own nodes; [R, k, c]."""
        return self.pick(model(self.view, dropout))

    def pick(self, outputs: Tensor) -> Tensor:
        """Return each replica's own rows of outputs [R, targets, c]; [R, k, c]."""
        if self.rows is None:
            return outputs
        return outputs.gather(1, self.rows[..., None].expand(-1, -1, outputs.shape[2]))

    def losses(self, picked: Tensor, backend: str, weights: Tensor | None = None) -> Tensor:
        """Return the mean cross-entropy per replica, or the sum by other `weights` [R, k]; [R]."""
        # Paper: Eq. (2) sums over the labelled nodes; the mean is what its figures need, since
        # the sum makes the L2 term weaker by the number of labels.
        chosen = self.weights if weights is None else weights
        return cross_entropy(picked, self.labels, chosen, backend=backend)

    def accuracies(self, picked: Tensor) -> Tensor:
        """Return the share of correct predictions per replica; [R]."""
        # Counted, not summed in fractions: equal counts must compare as equal.
        right = (picked.argmax(-1) == self.labels) & (self.weights > 0)
        return right.sum(1) / self.counts

    def scores(self, picked: Tensor, metric: Metric) -> Tensor:
        """Return the metric of each replica, as a share of 1; [R]. A log loss is a loss."""
        match metric:
            case "balanced_accuracy":
                return self.balanced_accuracies(picked)
            case "f1":
                return self.f1_scores(picked)
            case "auc":
                return self.aucs(picked)
            case "best" if picked.shape[2] == 2:
                return self.aucs(picked)
        return self.accuracies(picked)

    def balanced_accuracies(self, picked: Tensor) -> Tensor:
        """Return the mean over the classes that occur of their share of correct predictions."""
        counts, right, _ = self._class_counts(picked)
        shares = right / counts.clamp(min=1)
        return self._in_weights_dtype(shares.sum(1) / (counts > 0).sum(1))

    def f1_scores(self, picked: Tensor) -> Tensor:
        """Return the mean F1 over the classes that occur or are predicted; [R]."""
        counts, right, predicted = self._class_counts(picked)
        totals = counts + predicted
        shares = 2 * right / totals.clamp(min=1)
        return self._in_weights_dtype(shares.sum(1) / (totals > 0).sum(1))

    def _class_counts(self, picked: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the nodes of each class, those predicted correctly, and predictions; [R, c]."""
        answers = picked.argmax(-1)
        classes = torch.arange(picked.shape[2], device=picked.device)
        is_node = (self.weights > 0)[..., None]
        is_class = (self.labels[..., None] == classes) & is_node
        is_answer = (answers[..., None] == classes) & is_node
        all_flags = (is_class, is_class & is_answer, is_answer)
        counts, right, predicted = (flags.sum(1).to(torch.float64) for flags in all_flags)
        return counts, right, predicted

    def aucs(self, picked: Tensor) -> Tensor:
        """Return each replica's area under the ROC curve; [R].

        With two classes second against first; with more the mean of one class against the rest,
        over the classes that have both kinds of nodes. One half if there are none.
        """
        if picked.shape[2] == 2:
            areas, is_defined = self._areas(picked[..., 1] - picked[..., 0], self.labels == 1)
            return self._in_weights_dtype(torch.where(is_defined, areas, 0.5))
        probabilities = picked.softmax(-1)
        total, count = torch.zeros(2, len(picked), dtype=torch.float64, device=picked.device)
        for label in range(picked.shape[2]):
            areas, is_defined = self._areas(probabilities[..., label], self.labels == label)
            total += torch.where(is_defined, areas, 0.0)
            count += is_defined
        return self._in_weights_dtype(torch.where(count > 0, total / count.clamp(min=1), 0.5))

    def _areas(self, margin: Tensor, is_class: Tensor) -> tuple[Tensor, Tensor]:
        """Return the area under the ROC curve per replica, and whether it is defined; [R] each.

        The share of pairs, one node of the class and one other, in which the node of the class
        has the larger `margin` [R, k]; a tie counts one half.
        """
        margin = margin.contiguous()
        is_member = (self.weights > 0) & is_class
        is_other = (self.weights > 0) & ~is_class
        # Nodes of the class and padding are sorted behind all others: no pair has them.
        rivals = margin.masked_fill(~is_other, torch.inf).sort(dim=1).values
        below, ties = (torch.searchsorted(rivals, margin, side=side) for side in ("left", "right"))
        won = ((below + ties) * is_member).sum(1).to(torch.float64) / 2
        pairs = is_member.sum(1) * is_other.sum(1)
        return won / pairs.clamp(min=1), pairs > 0

    def _in_weights_dtype(self, values: Tensor) -> Tensor:
        return values.to(self.weights.dtype)


def check_batches(counts: Sequence[int], size: int | None) -> None:
    """Refuse replicas that would need different numbers of steps per epoch."""
    if size is None:
        return
    if size < 1:
        raise InputError(f"`batch` must be at least 1; got {size}.")
    steps = sorted({-(-count // size) for count in counts})
    if len(steps) > 1:
        raise InputError(
            f"training sets of {min(counts)} to {max(counts)} nodes make {steps[0]} to {steps[-1]} "
            f"batches of {size}; train replicas with different splits one at a time."
        )


def batch_weights(counts: Tensor, longest: int, size: int, draw: DropoutAt) -> Tensor:
    """Return the weight of each node in each step of an epoch; [steps, R, longest].

    Replica r has `counts[r]` nodes, the first of `longest`. A step averages over `size` of them,
    the last step over the remaining ones. The order is drawn anew in every epoch from the seed.
    """
    positions = torch.arange(longest, device=counts.device)
    random = random_words(draw, positions, torch.zeros_like(positions))  # [R, longest], below 2^32
    is_absent = positions >= counts[:, None]
    ranks = (random + (is_absent.to(torch.int64) << 33)).argsort(dim=1, stable=True).argsort(dim=1)
    steps = torch.arange(-(-longest // size), device=counts.device)[:, None, None]
    is_taken = (ranks // size == steps) & ~is_absent  # [steps, R, longest]
    return is_taken / is_taken.sum(-1, keepdim=True).clamp(min=1)
