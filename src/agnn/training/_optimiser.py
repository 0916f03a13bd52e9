"""Adam over the parameters of all replicas, with rates per replica."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from agnn.kernels import adam_step
from agnn.training._recipe import Recipe


class ReplicaAdam:
    """Adam with coupled L2 and a learning rate and weight decay per replica.

    torch.optim.Adam has one rate for a whole parameter; here a parameter [R, ...] has R.
    """

    def __init__(self, model: nn.Module, replicas: int, recipe: Recipe, backend: str) -> None:
        self.backend = backend
        named = dict(model.named_parameters())
        self.parameters = list(named.values())
        self.first = [torch.zeros_like(p.detach()) for p in self.parameters]
        self.second = [torch.zeros_like(p.detach()) for p in self.parameters]
        like = self.parameters[0]
        self.rates = like.new_tensor(recipe.for_replicas("learning_rate", replicas))
        decay, other = (
            like.new_tensor(recipe.for_replicas(field, replicas))
            for field in ("weight_decay", "other_decay")
        )
        self.decays = torch.stack([decay if recipe.is_decayed(name) else other for name in named])
        # Read once here, so that no epoch waits for the device.
        self.has_penalty = self.decays.any(1).tolist()

    def step(self, number: Tensor) -> None:
        """Update every parameter and clear the gradients; step `number` [1] counts from 1."""
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.parameters]
        adam_step(
            self.parameters,
            gradients,
            self.first,
            self.second,
            number,
            self.rates,
            self.decays,
            backend=self.backend,
        )
        for parameter in self.parameters:
            parameter.grad = None

    def continue_from(self, larger: ReplicaAdam, replicas: Tensor) -> None:
        """Take over the moments of these replicas of a larger batch."""
        self.first = [moment[replicas] for moment in larger.first]
        self.second = [moment[replicas] for moment in larger.second]

    @torch.no_grad()
    def penalties(self) -> Tensor:
        """Return the L2 term of each replica's objective; [R]."""
        total = torch.zeros_like(self.rates)
        for parameter, decay, has_penalty in zip(
            self.parameters, self.decays, self.has_penalty, strict=True
        ):
            if has_penalty:
                total += decay / 2 * parameter.square().view(total.numel(), -1).sum(1)
        return total
