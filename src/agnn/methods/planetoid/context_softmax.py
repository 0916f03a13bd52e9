"""The loss that makes an embedding predict its contexts: a softmax over all nodes."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.methods.planetoid.initial import glorot


class ContextSoftmax:
    """-sum over pairs of log softmax(h_i V + v)[context], minimised by plain gradient descent.

    The sum, not the mean: the rates of the authors' program belong to it. The work of a step is
    (different nodes in the batch) x (contexts) x width, and the memory the first two.
    """

    def __init__(self, width: int, contexts: int, source: np.random.Generator) -> None:
        # torch's, because it multiplies and adds in place: at this size memory is what is slow.
        self.weight = torch.from_numpy(glorot(width, contexts, source))  # V
        self.bias = torch.zeros(contexts)  # v

    def step(
        self,
        h: NDArray[np.float32],
        rows: NDArray[np.int64],
        contexts: NDArray[np.int64],
        rate: float,
    ) -> NDArray[np.float32]:
        """Move V and v; gives back the loss's gradient at the embeddings `h` [u, d].

        Pair k is the embedding h[rows[k]] and the node contexts[k].
        """
        states = torch.from_numpy(h)
        slopes = self.slopes(states, torch.from_numpy(rows), torch.from_numpy(contexts))
        gradient = slopes @ self.weight.T
        self.weight.addmm_(states.T, slopes, alpha=-rate)
        self.bias.sub_(slopes.sum(0), alpha=rate)
        return gradient.numpy()

    def slopes(self, h: Tensor, rows: Tensor, contexts: Tensor) -> Tensor:
        """The gradient at the logits: (pairs of the row) softmax - (pairs with the context)."""
        found = torch.addmm(self.bias, h, self.weight).softmax(1)
        counts = torch.bincount(rows, minlength=h.shape[0])
        found *= counts[:, None]
        return found.index_put_((rows, contexts), found.new_tensor(-1.0), accumulate=True)
