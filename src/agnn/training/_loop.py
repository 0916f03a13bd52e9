"""The training loop: an epoch is a step on the training nodes and an evaluation of watched ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agnn._allocator import return_freed_memory
from agnn.data import Split
from agnn.errors import InputError
from agnn.graph import Features, Graph, View
from agnn.kernels import Dropout, recycled_memory
from agnn.training._callbacks import Callback, EpochReport
from agnn.training._captured import Captured
from agnn.training._checkpoint import Checkpoints
from agnn.training._model import TrainableModel
from agnn.training._recipe import Recipe, ReplicaAdam
from agnn.training._record import History, KeptWeights, Record
from agnn.training._sampling import SampledBatches, watched_view
from agnn.training._targets import ORDER_PLACE, Targets, batch_weights, check_batches

Progress = Callable[[int, int], None]  # (epochs done, epochs in all)
# A step's further term of every replica's objective [R], beside the cross-entropy; differentiable
# in the model's parameters. Replica r's term must not depend on the other replicas.
ExtraLoss = Callable[[Dropout], Tensor]
# A step's objective of every replica [R], differentiable in the model's parameters, for the
# training nodes of a run. Replica r's value must not depend on the other replicas.
Objective = Callable[[Targets, Dropout], Tensor]

_ASK_EVERY = 10  # epochs between checks whether all replicas have stopped
_ASK_DIVERGED_EVERY = 100  # the same for divergence, where a rule itself never waits for a device
_MANY_NODES = 50_000  # from here on an evaluation takes more memory than freed blocks hold
# The share of the replicas in a batch that must have stopped before they leave it: a smaller batch
# has to be recorded anew on a GPU.
_LEAVE_AT = {"cpu": 0.1, "cuda": 0.5}


@dataclass(frozen=True, eq=False)
class Problem:
    """What a model is trained on: a graph with features and labels; splits and seeds per replica.

    Replica r learns from the labels of `splits[r].train` and no others, and draws its dropout from
    `seeds[r]`. `class_weights` [R, c] weight the training nodes by their label; validation and
    test nodes are never weighted.
    """

    features: Features
    graph: Graph
    labels: NDArray[np.int64]  # [n]
    splits: Sequence[Split]
    seeds: Sequence[int]
    class_weights: NDArray[np.float64] | None = None

    def targets(
        self,
        part: str,
        hops: int,
        class_weights: NDArray[np.float64] | None = None,
        *,
        is_pruned: bool = True,
    ) -> Targets:
        """Return the nodes of one part ("train", "validation" or "test") of every split.

        Unless `is_pruned`, the graph is read as it stands where a copy would be nearly as large.
        """
        sets = [split.parts[part] for split in self.splits]
        if is_pruned:
            return Targets.build(self.features, self.graph, self.labels, sets, hops, class_weights)
        return Targets.in_view(
            lambda nodes: watched_view(self.features, self.graph, nodes, hops),
            self.labels,
            sets,
            self.features,
            class_weights,
        )

    def of_replicas(self, replicas: Sequence[int]) -> Problem:
        """Return the problem of these replicas alone."""
        weights = self.class_weights
        return replace(
            self,
            splits=[self.splits[r] for r in replicas],
            seeds=[self.seeds[r] for r in replicas],
            class_weights=None if weights is None else weights[list(replicas)],
        )


def train(
    model: TrainableModel,
    problem: Problem,
    recipe: Recipe,
    progress: Progress | None = None,
    *,
    extra_loss: ExtraLoss | None = None,
    objective: Objective | None = None,
    checkpoints: Checkpoints | None = None,
    callbacks: Sequence[Callback] = (),
) -> History:
    """Train all replicas of `model` and leave it with the weights that the recipe selects.

    Every replica is watched on its own validation nodes, or on its test nodes if the rule says so.
    `extra_loss` is called once per step and added to the loss; `objective` is called in place of
    the model where a step's loss is more than the cross-entropy of one output. `checkpoints` says
    whether the state is written now and then, and whether a stopped training is continued.
    `callbacks` are told about the epochs, and may end the training.

    A replica whose loss or weights become infinite or NaN has diverged: it keeps the epoch
    selected before, and the others go on. Replicas that have stopped leave the batch, which
    changes nothing for the others.
    """
    run = TrainingRun(model, problem, recipe, extra_loss, objective)
    done = 0
    with ExitStack() as during_training:
        if checkpoints is not None:
            if extra_loss is not None:
                raise InputError("a training with a further loss term cannot be continued later.")
            during_training.enter_context(checkpoints.held())
            done = checkpoints.begin(run.state(), recipe.epochs, device=problem.graph.device)
            run = run.as_before(done)
        if run.samples is None:  # samples differ in size from step to step, and are small
            during_training.enter_context(recycled_memory())
        next_epoch = run.repeated_epoch()
        for epoch in range(done + 1, recipe.epochs + 1):
            next_epoch(epoch)
            done = epoch
            if progress is not None:
                progress(epoch, recipe.epochs)
            if callbacks and run.report(epoch, recipe.epochs).tell(callbacks):
                break
            if epoch % _ASK_EVERY == 1 and run.tracker.is_finished():
                break
            if epoch % _ASK_DIVERGED_EVERY == 1 and bool(run.diverged.all()):
                break
            smaller = run.without_stopped(epoch) if epoch % _ASK_EVERY == 1 else None
            if smaller is not None:
                run = smaller
                next_epoch = smaller.repeated_epoch()
            if checkpoints is not None:
                checkpoints.after_epoch(run.state, epoch, recipe.epochs)
    return run.finish(done)


class TrainingRun:
    """The state of one training run; everything that changes is kept in tensors."""

    def __init__(
        self,
        model: TrainableModel,
        problem: Problem,
        recipe: Recipe,
        extra_loss: ExtraLoss | None = None,
        objective: Objective | None = None,
    ) -> None:
        _check(model, problem, recipe)
        self.model = model
        self.problem = problem
        self.recipe = recipe
        self.extra_loss = extra_loss
        self.objective = objective
        replicas = model.replicas
        device = problem.graph.device
        self.record: Record | None = None  # of all replicas, once some have left the batch
        # With samples every step has targets of its own.
        self.samples: SampledBatches | None = None
        self.training: Targets | None = None
        if recipe.fanout:
            self.samples = SampledBatches.of(problem, recipe)
        else:
            self.training = problem.targets("train", model.hops, problem.class_weights)
        self.watched: Targets | None = None
        if recipe.selection.watches:
            self.watched = problem.targets(
                recipe.selection.on, model.hops, is_pruned=self.samples is None
            )
        self.dropout = Dropout(problem.seeds, recipe.for_replicas("dropout", replicas), device)
        self.members = torch.arange(replicas, device=device)  # the replicas in the batch
        self.optimiser = ReplicaAdam(model, replicas, recipe, model.backend)
        self.is_penalised = recipe.selection.adds_penalty
        self.metric = recipe.selection.metric
        selection = recipe.selection.every(recipe.evaluate_every)
        self.tracker = selection.tracker(replicas, device)
        self.weights = KeptWeights(model)
        # Row e is for epoch e, counted from 1.
        curves = torch.zeros(3, recipe.epochs + 1, replicas, device=device)
        self.training_loss, self.watched_accuracy, self.watched_loss = curves
        betas = model.betas
        self.betas = None if betas is None else betas.new_zeros(recipe.epochs + 1, *betas.shape)
        self.number = torch.zeros(1, dtype=torch.int64, device=device)  # of the epoch, from 1
        self.selected = torch.zeros(replicas, dtype=torch.int64, device=device)
        self.diverged_at = torch.zeros(replicas, dtype=torch.int64, device=device)

    @property
    def diverged(self) -> Tensor:
        """Replicas that have had an infinite or NaN loss or weight; bool [R]."""
        return self.diverged_at > 0

    def report(self, epoch: int, epochs: int) -> EpochReport:
        """Return what was measured in an epoch."""
        if self.watched is None:
            return EpochReport(epoch, epochs, self.training_loss[epoch], None, None)
        patience = self.tracker.patience_left()
        return EpochReport(
            epoch,
            epochs,
            self.training_loss[epoch],
            self.watched_loss[epoch],
            self.watched_accuracy[epoch],
            metric=self.metric,
            curve=self.watched_accuracy,
            kept_epochs=self.selected,
            patience_left=None if patience is None else patience * self.recipe.evaluate_every,
        )

    def state(self) -> dict[str, Tensor]:
        """Return by name every tensor that the epochs to come depend on, and the history.

        Of all replicas, those included that have left the batch.
        """
        if self.record is None:
            return self.batch_state()
        self.record.take(self, int(self.number))
        return self.record.state

    def batch_state(self) -> dict[str, Tensor]:
        """Return the state of the replicas in the batch."""
        state = {
            "number": self.number,
            "dropout.epoch": self.dropout.epoch,
            "training_loss": self.training_loss,
            "watched_accuracy": self.watched_accuracy,
            "watched_loss": self.watched_loss,
            "selected": self.selected,
            "diverged_at": self.diverged_at,
        }
        if self.betas is not None:
            state["betas"] = self.betas
        state |= {f"weights.{name}": tensor for name, tensor in self.weights.live.items()}
        state |= {f"kept.{name}": tensor for name, tensor in self.weights.kept.items()}
        moments = {"first": self.optimiser.first, "second": self.optimiser.second}
        for moment, tensors in moments.items():
            state |= {f"{moment}.{k}": tensor for k, tensor in enumerate(tensors)}
        return state | {f"tracker.{name}": t for name, t in self.tracker.tensors().items()}

    def repeated_epoch(self) -> Callable[[int], None]:
        """Return a function that runs the epoch of a number, on a GPU recorded.

        Samples are drawn by the host, so never with them. Where not every epoch is evaluated, the
        two parts of an epoch are recorded one by one.
        """

        def repeated(function: Callable[[], None]) -> Callable[[], None]:
            is_recorded = self.samples is None and self.problem.graph.device.type == "cuda"
            return Captured(function) if is_recorded else function

        every = 1 if self.watched is None else self.recipe.evaluate_every
        if every == 1:
            whole_epoch = repeated(self.epoch)
            return lambda _: whole_epoch()
        advance = repeated(lambda: self._note_divergence(self.advance()))
        evaluate = repeated(self.evaluate)

        def run(epoch: int) -> None:
            advance()
            if epoch % every == 1:
                evaluate()

        return run

    def epoch(self) -> None:
        """One epoch with an evaluation."""
        self.evaluate(self.advance())

    def advance(self) -> Tensor:
        """The training steps of an epoch; returns their loss, [R].

        Its number is a tensor, too, so that a recorded epoch sees it change.
        """
        if self.recipe.evaluate_every > 1:  # the last evaluation's values stand until the next
            for curve in (self.watched_accuracy, self.watched_loss):
                curve.index_copy_(0, self.number + 1, curve.index_select(0, self.number))
        self.number += 1
        training_loss = self.update()
        self.training_loss.index_copy_(0, self.number, training_loss[None])
        betas = self.model.betas
        if self.betas is not None and betas is not None:
            self.betas.index_copy_(0, self.number, betas[None])
        return training_loss

    def evaluate(self, training_loss: Tensor | None = None) -> None:
        """Measure score and loss at the watched nodes, and keep the weights that the rule chooses.

        The rule is told the number of the evaluation, which is that of the epoch if all have one.
        Divergence of the training loss [R] is noted here, too, if it is given: on a GPU a second
        check is a tenth of one replica's epoch.
        """
        accuracy, loss = self.look()
        self.watched_accuracy.index_copy_(0, self.number, accuracy[None])
        self.watched_loss.index_copy_(0, self.number, loss[None])
        # The watched loss is computed with the weights after the step, so it is infinite or NaN
        # where they are; without one the weights themselves are checked.
        checked = self.weights.sums() if self.watched is None else loss
        self._note_divergence(checked if training_loss is None else checked + training_loss)
        every = self.recipe.evaluate_every
        evaluation = self.number if every == 1 else (self.number - 1) // every + 1
        chosen = self.tracker.update(evaluation, accuracy, loss) & (self.diverged_at == 0)
        torch.where(chosen, self.number, self.selected, out=self.selected)
        self.weights.keep(chosen)

    def _note_divergence(self, values: Tensor) -> None:
        """Remember the epoch of replicas whose value [R] is the first that is infinite or NaN."""
        first_time = ~values.isfinite() & (self.diverged_at == 0)
        torch.where(first_time, self.number, self.diverged_at, out=self.diverged_at)

    def update(self) -> Tensor:
        """One step, or one per batch; returns the mean of the losses before each, [R]."""
        if self.samples is not None:
            batches = self.samples.epoch(int(self.number), int(self.dropout.epoch))
            # Not a loop: its variable would hold a batch while the next one is sampled.
            losses = torch.stack(list(map(self.step, batches))).mean(0)
            self._return_freed_memory()
            return losses
        targets = cast(Targets, self.training)
        size = self.recipe.batch
        if size is None:
            return self.step(targets)
        draw = self.dropout.at(ORDER_PLACE)
        weights = batch_weights(targets.counts, targets.labels.shape[1], size, draw)
        step_losses = [
            self.step(targets, step_weights.to(targets.weights.dtype)) for step_weights in weights
        ]
        return torch.stack(step_losses).mean(0)

    def step(self, targets: Targets, weights: Tensor | None = None) -> Tensor:
        """One update of all parameters; returns the loss before it, [R].

        `weights` [R, k] are those of the targets; by default all count the same.
        """
        self.dropout.epoch += 1
        if self.objective is not None:
            losses = self.objective(targets, self.dropout)
        else:
            picked = targets.outputs(self.model, self.dropout)
            losses = targets.losses(picked, self.model.backend, weights)
        if self.extra_loss is not None:
            losses = losses + self.extra_loss(self.dropout)
        # Without gradients of their own, for which torch would import sympy: 33 MiB.
        torch.autograd.backward(losses.sum())  # replicas share nothing
        self.optimiser.step(self.dropout.epoch)
        return losses.detach()

    @torch.no_grad()
    def look(self) -> tuple[Tensor, Tensor]:
        """Return the score and the loss at the watched nodes; [R] each."""
        if self.watched is None:
            nothing = self.training_loss.new_zeros(self.model.replicas)
            return nothing, nothing
        picked = self.watched.outputs(self.model)
        losses = self.watched.losses(picked, self.model.backend)
        scores = -losses if self.metric == "log_loss" else self.watched.scores(picked, self.metric)
        if self.is_penalised:
            losses += self.optimiser.penalties()
        return scores, losses

    def without_stopped(self, epoch: int) -> TrainingRun | None:
        """Return the run without the replicas that have stopped; None if they are too few."""
        stopped = self.tracker.stopped()
        if stopped is None or self.extra_loss is not None:  # such a loss may know the batch
            return None
        stopped = stopped | self.diverged
        enough = max(1.0, _LEAVE_AT[stopped.device.type] * stopped.numel())
        if int(stopped.sum()) < enough or bool(stopped.all()):
            return None
        return self._without(stopped, epoch)

    def as_before(self, epoch: int) -> TrainingRun:
        """Return the run with the batch that it had after `epoch`, when its state was written."""
        has_left = self.watched_accuracy[epoch].isnan()
        # Not all leave: where all are NaN, all have diverged, by a measure that shows it.
        is_smaller = bool(has_left.any()) and not bool(has_left.all())
        return self._without(has_left, epoch) if is_smaller else self

    def _without(self, stopped: Tensor, epoch: int) -> TrainingRun:
        """Return the run without these replicas, bool [R]."""
        record = self.record or Record(self)
        record.take(self, epoch)
        remaining = (~stopped).nonzero().squeeze(1)
        chosen = remaining.tolist()
        self.weights.narrow(remaining)
        self.model.replicas = len(chosen)
        smaller = TrainingRun(
            self.model,
            self.problem.of_replicas(chosen),
            self.recipe.of_replicas(chosen),
            self.extra_loss,
            self.objective,
        )
        smaller.continue_from(self, remaining, record)
        return smaller

    def continue_from(self, larger: TrainingRun, remaining: Tensor, record: Record) -> None:
        """Take over the state of these replicas of a larger batch."""
        self.record = record
        self.members = larger.members[remaining]
        self.weights = larger.weights
        self.tracker = larger.tracker
        self.number = larger.number
        self.tracker.keep_only(remaining)
        self.dropout.epoch.copy_(larger.dropout.epoch)
        self.optimiser.continue_from(larger.optimiser, remaining)
        self.selected = larger.selected[remaining]
        self.diverged_at = larger.diverged_at[remaining]
        # The last evaluation's values stand until the next.
        self.watched_accuracy = larger.watched_accuracy[:, remaining]
        self.watched_loss = larger.watched_loss[:, remaining]

    def _return_freed_memory(self) -> None:
        """Before an evaluation: what sampled steps have left would come on top of it."""
        if self.samples is not None and self.problem.graph.nodes >= _MANY_NODES:
            return_freed_memory()

    def finish(self, epochs: int) -> History:
        """Put the kept weights into the model and return the history of the epochs run."""
        self._return_freed_memory()
        if self.record is not None:
            self.record.take(self, epochs)
            self.record.give_back(self)
        # Weights that no watched node reads may be infinite behind a finite loss.
        is_bad = self.weights.restore()
        torch.where(is_bad & ~self.diverged, self.selected, self.diverged_at, out=self.diverged_at)
        self.selected.masked_fill_(is_bad, 0)
        count = epochs if self.watched is not None else 0
        return History(
            self.training_loss[1 : epochs + 1],
            self.watched_accuracy[1 : count + 1],
            self.watched_loss[1 : count + 1],
            self.selected,
            self.diverged_at,
            None if self.betas is None else self.betas[1 : epochs + 1],
        )


def _check(model: TrainableModel, problem: Problem, recipe: Recipe) -> None:
    if not len(problem.splits) == len(problem.seeds) == model.replicas:
        raise InputError(
            f"{model.replicas} replicas need as many splits and seeds; got {len(problem.splits)} "
            f"and {len(problem.seeds)}."
        )
    if recipe.fanout and len(recipe.fanout) != model.hops:
        raise InputError(
            f"`fanout` has {len(recipe.fanout)} numbers, and the model {model.hops} propagation "
            f"layers; give one for each, from the batch outwards."
        )
    if recipe.batch is not None and not recipe.fanout and problem.class_weights is not None:
        raise InputError("a recipe with batches of training nodes does not take class weights.")
    check_batches([split.train.size for split in problem.splits], recipe.batch)
    part = recipe.selection.on
    for split in problem.splits if recipe.selection.watches else ():
        if split.parts[part].size == 0:
            raise InputError(
                f"the split '{split.name}' has no {part} nodes, and this method chooses its epoch "
                f"on them; use a split that has some."
            )


@torch.no_grad()
def probabilities(model: TrainableModel, features: Features, graph: Graph) -> Tensor:
    """Return every replica's class probabilities at every node, without dropout; [R, n, c]."""
    outputs: Tensor = model(View.whole(features, graph, model.hops))
    return outputs.softmax(-1)
