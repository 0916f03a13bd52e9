"""Chains that look back: a later link that reads what an earlier one gave out."""

from __future__ import annotations

import torch
from torch import Tensor

from agnn.kernels.chain import Link


class Anchor(Link):
    """Passes its input on and remembers it for the links that come back to it.

    Backward passes run from the end, so all of those have left their gradients here before the
    anchor's own turn comes.
    """

    def forward(self, x: Tensor) -> Tensor:
        """The input itself."""
        self.saved = (x,)  # read by the blends of the same forward pass
        self.shape = x.shape
        self.found: Tensor | None = None
        return x

    def leave(self, gradient: Tensor, share: float) -> None:
        """Add this share of a gradient [R, rows, d] at the first rows of the remembered state."""
        if self.found is None:
            self.found = gradient.new_zeros(self.shape)
        self.found[:, : gradient.shape[1]].add_(gradient, alpha=share)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradient of what follows, with what was left here; a second pass starts afresh."""
        found, self.found = self.found, None
        return gradient if found is None else gradient + found, ()


class Blend(Link):
    """share x + (1 - share) h for the state h of an anchor, at the rows of x."""

    def __init__(self, anchor: Anchor, share: float) -> None:
        self.anchor, self.share = anchor, share

    def forward(self, x: Tensor) -> Tensor:
        """The blend [R, rows, d]."""
        return torch.lerp(self.anchor.saved[0][:, : x.shape[1]], x, self.share)

    def backward(self, gradient: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Its share of the gradient; the rest goes to the anchor."""
        self.anchor.leave(gradient, 1.0 - self.share)
        return self.share * gradient, ()
