"""What training keeps of every replica: its weights and what was measured in each epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor, nn

from agnn.errors import DivergedError

if TYPE_CHECKING:
    from agnn.training._loop import TrainingRun


_CURVES: Final = ("training_loss", "watched_accuracy", "watched_loss", "betas")  # [epochs, R, ...]
_OF_ALL: Final = ("number", "dropout.epoch")  # without a replica axis


@dataclass(frozen=True, eq=False)
class History:
    """What was measured in every epoch; each [epochs run, R] unless it says otherwise.

    In an epoch without an evaluation the values of the last one stand at the watched nodes.
    A replica that has stopped may leave the batch before the others: NaN from there on.
    """

    training_loss: Tensor
    watched_accuracy: Tensor  # or the rule's other metric; empty where it watches nothing
    watched_loss: Tensor
    selected_epochs: Tensor  # [R], counted from 1; 0 where no epoch had finite weights
    # [R], counted from 1: the first epoch with an infinite or NaN loss or weight; 0 where there is
    # none
    diverged_epochs: Tensor
    betas: Tensor | None = None  # [epochs run, R, l] after each epoch, where the model has some

    def check_usable(self) -> None:
        """Raise `DivergedError` if no replica of the training can be used."""
        if bool(self.unusable.all()):
            epoch = int(self.diverged_epochs.max())
            raise DivergedError(
                f"training diverged: the loss of every replica was infinite or NaN by epoch "
                f"{epoch}, and no earlier epoch can be kept. Use a lower learning rate or weight "
                f"decay, and check the scale of the features."
            )

    @property
    def diverged(self) -> Tensor:
        """Replicas whose loss or weights became infinite or NaN; bool [R]."""
        return self.diverged_epochs > 0

    @property
    def unusable(self) -> Tensor:
        """Diverged replicas without a single epoch of finite weights to keep; bool [R].

        Their weights are untrained; ensembles and mean accuracies leave them out.
        """
        return self.diverged & (self.selected_epochs == 0)

    @property
    def members(self) -> Tensor:
        """The replicas that form the ensemble: those that did not diverge, by index; [k].

        If all diverged, those with an epoch of finite weights to keep.
        """
        return (~(self.unusable if self.diverged.all() else self.diverged)).nonzero()[:, 0]


class Record:
    """The state of a training for all replicas, those included that have left the batch."""

    def __init__(self, run: TrainingRun) -> None:
        self.replicas = run.model.replicas
        self.first_new = 1
        self.state = {name: value.clone() for name, value in run.batch_state().items()}
        for name in self._curves():
            self.state[name].fill_(torch.nan)

    @torch.no_grad()
    def take(self, run: TrainingRun, epoch: int) -> None:
        """Take over what a batch has measured since the last time, and its state now."""
        rows = slice(self.first_new, epoch + 1)
        members = run.members
        for name, value in run.batch_state().items():
            stored = self.state[name]
            if name in _CURVES:
                stored[rows, members] = value[rows]
            elif name in _OF_ALL:
                stored.copy_(value)
            elif name.startswith("tracker."):
                stored[..., members] = value
            else:
                stored[members] = value
        self.first_new = epoch + 1

    def give_back(self, run: TrainingRun) -> None:
        """Make the run one of all replicas again, with what is known of each."""
        run.model.replicas = self.replicas
        run.weights.widen({name: self.state[f"kept.{name}"] for name in run.weights.kept})
        for name in (*self._curves(), "selected", "diverged_at"):
            setattr(run, name, self.state[name])

    def _curves(self) -> tuple[str, ...]:
        return tuple(name for name in _CURVES if name in self.state)


class KeptWeights:
    """Copies of the parameters of each replica's selected epoch; of the initial ones until then.

    Buffers are kept with them: the running statistics of a normalisation belong to the weights.
    """

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.live = _tensors(model)
        # Copies: the live tensors change in place at every step, and views would follow them.
        self.kept = {name: p.detach().clone() for name, p in self.live.items()}

    @torch.no_grad()
    def keep(self, chosen: Tensor) -> None:
        """Copy the current weights of the replicas in `chosen`, bool [R]."""
        if chosen.device.type == "cpu":
            # Reading the flags costs nothing here and saves copying what did not change.
            replicas = chosen.nonzero().squeeze(1)
            if replicas.numel():
                for name, parameter in self.live.items():
                    self.kept[name][replicas] = parameter[replicas]
            return
        for name, parameter in self.live.items():
            flags = chosen.view(-1, *[1] * (parameter.ndim - 1))
            torch.where(flags, parameter, self.kept[name], out=self.kept[name])

    def narrow(self, replicas: Tensor) -> None:
        """Leave the model and the copies with these replicas."""
        self.kept = {name: tensor[replicas] for name, tensor in self.kept.items()}
        self._replace({name: tensor.detach()[replicas] for name, tensor in self.live.items()})

    def widen(self, tensors: dict[str, Tensor]) -> None:
        """Keep these weights of all replicas, and give the model tensors of their shape."""
        self.kept = tensors
        self._replace({name: torch.empty_like(tensor) for name, tensor in tensors.items()})

    def _replace(self, tensors: dict[str, Tensor]) -> None:
        """Give the model other parameters and buffers: torch remembers the shape of a parameter."""
        for name, tensor in tensors.items():
            owner, _, own_name = name.rpartition(".")
            old = self.live[name]
            is_parameter = isinstance(old, nn.Parameter)
            new = nn.Parameter(tensor, requires_grad=old.requires_grad) if is_parameter else tensor
            setattr(self.model.get_submodule(owner), own_name, new)
        self.live = _tensors(self.model)

    @torch.no_grad()
    def sums(self) -> Tensor:
        """Return the sum of all current weights per replica: infinite or NaN if one of them is."""
        return torch.stack([p.view(len(p), -1).sum(1) for p in self.live.values()]).sum(0)

    @torch.no_grad()
    def restore(self) -> Tensor:
        """Put the kept weights into the model; zeros, and True in the returned [R], if infinite."""
        for name, parameter in self.live.items():
            parameter.copy_(self.kept[name])
        is_bad = ~self.sums().isfinite()
        for parameter in self.live.values():
            parameter.masked_fill_(is_bad.view(-1, *[1] * (parameter.ndim - 1)), 0.0)
        return is_bad


def _tensors(model: nn.Module) -> dict[str, Tensor]:
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}
