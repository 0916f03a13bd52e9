"""The weights that a run will end with, replica by replica."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class KeptWeights:
    """Copies of the chosen epochs' parameters."""

    def __init__(self, model: nn.Module) -> None:
        self.live = dict(model.named_parameters())
        # Copies: the live tensors change in place at every step, and views would follow them.
        self.kept = {name: p.detach().clone() for name, p in self.live.items()}

    @torch.no_grad()
    def keep(self, chosen: Tensor) -> None:
        """Take over the present weights of the replicas in `chosen`, bool [R]."""
        if chosen.device.type == "cpu":
            # Looking at the flags costs nothing here and saves copying what did not change.
            replicas = chosen.nonzero().squeeze(1)
            if replicas.numel():
                for name, parameter in self.live.items():
                    self.kept[name][replicas] = parameter[replicas]
            return
        for name, parameter in self.live.items():
            flags = chosen.view(-1, *[1] * (parameter.ndim - 1))
            torch.where(flags, parameter, self.kept[name], out=self.kept[name])

    @torch.no_grad()
    def restore(self) -> None:
        """Put the kept weights into the model."""
        for name, parameter in self.live.items():
            parameter.copy_(self.kept[name])
