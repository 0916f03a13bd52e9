"""The training loop: one epoch is a step on the training nodes and a look at the watched ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn.data import Split
from agnn.errors import InputError
from agnn.graph import Features, Graph, View
from agnn.kernels import Dropout
from agnn.nn import NodeModel
from agnn.training.batches import ORDER_PLACE, batch_weights, check_batches
from agnn.training.captured import repeated
from agnn.training.kept_weights import KeptWeights
from agnn.training.optimiser import ReplicaAdam
from agnn.training.recipe import Recipe
from agnn.training.targets import Targets

Progress = Callable[[int, int], None]  # (epochs done, epochs in all)
# A step's further term of every replica's objective [R], beside the cross-entropy; differentiable
# in the model's parameters. Replica r's term must not depend on the other replicas.
ExtraLoss = Callable[[Dropout], Tensor]

_ASK_EVERY = 10  # epochs between looks at whether all replicas have stopped


@dataclass(frozen=True, eq=False)
class History:
    """What was seen in every epoch; each [epochs run, R]."""

    training_loss: Tensor
    watched_accuracy: Tensor  # empty where the rule watches nothing
    watched_loss: Tensor
    selected_epochs: Tensor  # [R], counted from 1
    betas: Tensor | None = None  # [epochs run, R, l] after each epoch, where the model has some


def train(
    model: NodeModel,
    features: Features,
    graph: Graph,
    labels: NDArray[np.int64],
    splits: Sequence[Split],
    recipe: Recipe,
    seeds: Sequence[int],
    progress: Progress | None = None,
    *,
    extra_loss: ExtraLoss | None = None,
    class_weights: NDArray[np.float64] | None = None,
) -> History:
    """Train all replicas of `model` and leave it with the weights that the recipe selects.

    Replica r learns from the labels of `splits[r].train` and no others, draws its dropout from
    `seeds[r]`, and is watched on its own validation nodes (or test nodes, if the rule says so).
    `extra_loss` is asked once a step and added to the loss. `class_weights` [R, c] weight the
    training nodes by their label; what is watched stays unweighted.
    """
    if not len(splits) == len(seeds) == model.replicas:
        raise InputError(
            f"{model.replicas} replicas need as many splits and seeds; got {len(splits)} and "
            f"{len(seeds)}."
        )
    if recipe.batch is not None and class_weights is not None:
        raise InputError(
            "a recipe that takes its training nodes in batches takes no class weights."
        )
    run = _Run(model, features, graph, labels, splits, recipe, seeds, extra_loss, class_weights)
    next_epoch = repeated(run.epoch, graph.device)
    for epoch in range(1, recipe.epochs + 1):
        next_epoch()
        if progress is not None:
            progress(epoch, recipe.epochs)
        if epoch % _ASK_EVERY == 1 and run.tracker.is_finished():
            break
    run.weights.restore()
    return run.history(epoch)


class _Run:
    """The state of one training run; everything that changes lies in tensors."""

    def __init__(
        self,
        model: NodeModel,
        features: Features,
        graph: Graph,
        labels: NDArray[np.int64],
        splits: Sequence[Split],
        recipe: Recipe,
        seeds: Sequence[int],
        extra_loss: ExtraLoss | None = None,
        class_weights: NDArray[np.float64] | None = None,
    ) -> None:
        self.extra_loss = extra_loss
        self.model, replicas, device = model, model.replicas, graph.device
        self.training = Targets.build(
            features, graph, labels, [split.train for split in splits], model.hops, class_weights
        )
        self.watched: Targets | None = None
        if recipe.selection.watches:
            self.watched = Targets.build(
                features, graph, labels, _watched_nodes(splits, recipe), model.hops
            )
        self.dropout = Dropout(seeds, recipe.for_replicas("dropout", replicas), device)
        self.optimiser = ReplicaAdam(model, replicas, recipe, model.backend)
        self.batch = recipe.batch
        check_batches([split.train.size for split in splits], recipe.batch)
        self.is_penalised = recipe.selection.adds_penalty
        self.tracker = recipe.selection.tracker(replicas, device)
        self.weights = KeptWeights(model)
        # Row e is for epoch e, counted from 1.
        seen = torch.zeros(3, recipe.epochs + 1, replicas, device=device)
        self.training_loss, self.watched_accuracy, self.watched_loss = seen
        own = model.betas
        self.betas = None if own is None else own.new_zeros(recipe.epochs + 1, *own.shape)
        self.number = torch.zeros(1, dtype=torch.int64, device=device)  # of the epoch, from 1
        self.ones = torch.ones_like(self.training_loss[0])
        self.selected = torch.zeros(replicas, dtype=torch.int64, device=device)

    def epoch(self) -> None:
        """One epoch; its number, too, lies in a tensor, so that a recorded epoch sees it move."""
        self.number += 1
        training_loss = self.step() if self.batch is None else self.steps(self.batch)
        accuracy, loss = self.look()
        epoch = self.number
        self.training_loss.index_copy_(0, epoch, training_loss[None])
        self.watched_accuracy.index_copy_(0, epoch, accuracy[None])
        self.watched_loss.index_copy_(0, epoch, loss[None])
        own = self.model.betas
        if self.betas is not None and own is not None:
            self.betas.index_copy_(0, epoch, own[None])
        chosen = self.tracker.update(epoch, accuracy, loss)
        torch.where(chosen, epoch, self.selected, out=self.selected)
        self.weights.keep(chosen)

    def steps(self, size: int) -> Tensor:
        """One update a batch; the mean of the losses before each, [R]."""
        targets, draw = self.training, self.dropout.at(ORDER_PLACE)
        weights = batch_weights(targets.counts, targets.labels.shape[1], size, draw)
        found = [self.step(each.to(targets.weights.dtype)) for each in weights]
        return torch.stack(found).mean(0)

    def step(self, weights: Tensor | None = None) -> Tensor:
        """One update of all parameters; the loss before it, [R].

        `weights` [R, k] say how much each training node counts; by default all count the same.
        """
        self.dropout.epoch += 1
        outputs = self.model(self.training.view, self.dropout)
        picked = self.training.pick(outputs)
        losses = self.training.losses(picked, self.model.backend, weights)
        if self.extra_loss is not None:
            losses = losses + self.extra_loss(self.dropout)
        torch.autograd.backward(losses, self.ones)  # of their sum: replicas share nothing
        self.optimiser.step(self.dropout.epoch)
        return losses.detach()

    @torch.no_grad()
    def look(self) -> tuple[Tensor, Tensor]:
        """Accuracy and loss at the watched nodes; each [R]."""
        if self.watched is None:
            nothing = self.training_loss.new_zeros(self.model.replicas)
            return nothing, nothing
        picked = self.watched.pick(self.model(self.watched.view))
        losses = self.watched.losses(picked, self.model.backend)
        if self.is_penalised:
            losses += self.optimiser.penalties()
        return self.watched.accuracies(picked), losses

    def history(self, epochs: int) -> History:
        shown = epochs if self.watched is not None else 0
        return History(
            self.training_loss[1 : epochs + 1],
            self.watched_accuracy[1 : shown + 1],
            self.watched_loss[1 : shown + 1],
            self.selected,
            None if self.betas is None else self.betas[1 : epochs + 1],
        )


def _watched_nodes(splits: Sequence[Split], recipe: Recipe) -> list[NDArray[np.int64]]:
    part = recipe.selection.on
    for split in splits:
        if getattr(split, part).size == 0:
            raise InputError(
                f"the split '{split.name}' has no {part} nodes, and this method chooses its epoch "
                f"on them; use a split that has some."
            )
    return [getattr(split, part) for split in splits]


@torch.no_grad()
def probabilities(model: NodeModel, features: Features, graph: Graph) -> Tensor:
    """Every replica's class probabilities at every node, without dropout; [R, n, c]."""
    outputs: Tensor = model(View.whole(features, graph, model.hops))
    return outputs.softmax(-1)
