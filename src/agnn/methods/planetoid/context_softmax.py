"""The loss that makes an embedding predict its contexts: a softmax over all nodes."""

from __future__ import annotations

import torch
from torch import Tensor

from agnn.methods.planetoid.batches import Pairs

# Of one embedding in one batch. A hub stands on many walks of it, and the loss is their sum: its
# step would throw it about, and in the end out of what a float32 holds. On Cora one row in 2000
# is held back.
_LONGEST_MOVE = 1.0


class ContextSoftmax:
    """-sum over pairs of log softmax(h_i V + v)[context], minimised by plain gradient descent.

    The sum, not the mean: the rates of the authors' program belong to it. The work of a step is
    (different nodes in the batch) x (contexts) x width, and the memory the first two.
    """

    def __init__(self, weight: Tensor) -> None:
        # V [R, d, n], each context's column contiguous: a CPU is twice as fast so.
        self.weight = weight.mT.contiguous().mT
        self.bias = weight.new_zeros(weight.shape[0], weight.shape[2])  # v [R, n]

    def step(self, h: Tensor, pairs: Pairs, rate: float) -> Tensor:
        """Move V and v; gives back the move of the embeddings `h` [R, u, d], to be subtracted.

        That is `rate` times the loss's gradient at them, no longer than `_LONGEST_MOVE`.
        """
        slopes = self.slopes(h, pairs)
        move = (slopes @ self.weight.mT).mul_(rate)
        self.weight.mT.baddbmm_(slopes.mT, h, alpha=-rate)
        self.bias.sub_(slopes.sum(1), alpha=rate)
        return move.mul_((_LONGEST_MOVE / move.norm(dim=2, keepdim=True)).clamp_max(1.0))

    def slopes(self, h: Tensor, pairs: Pairs) -> Tensor:
        """The gradient at the logits: (pairs of the row) softmax - (pairs with the context)."""
        found = torch.baddbmm(self.bias[:, None], h, self.weight).softmax(2)
        counts = h.new_zeros(h.shape[:2]).scatter_add_(1, pairs.rows, pairs.weights)
        found *= counts[..., None]
        places = pairs.rows * found.shape[2] + pairs.contexts
        # Whole numbers are added, at any place all equal or 0: no order of theirs changes a bit.
        found.view(found.shape[0], -1).scatter_add_(1, places, -pairs.weights)
        return found
