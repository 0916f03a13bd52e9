"""A training that has been checked, and the one function that trains it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from agnn.choosing import (
    Choice,
    OnTried,
    Rival,
    Search,
    challenge,
    choose_method,
    class_weights,
    rivals,
    settle,
)
from agnn.data import NodeData, Split, SplitSpec, make_splits
from agnn.data.store import preset_name
from agnn.distributed import Division
from agnn.errors import DataError, InputError
from agnn.executors import LaunchedRank
from agnn.files import plain
from agnn.kernels import choose
from agnn.methods import Method, NetworkMethod, Outcome, Task
from agnn.metrics import MEASURES, Summary
from agnn.options import USUAL_TIME, seconds_of
from agnn.runs._devices import machine, versions
from agnn.runs._folder import keep_elsewhere, save_run
from agnn.runs._part_results import PredictionFiles, PredictionWriter
from agnn.runs._parts import PartsData, at_labelled, parts_run
from agnn.runs._predictor import KnownResults
from agnn.runs._presets import prepare, replica_seeds, seeds_of_replicas
from agnn.runs._result import trial_values, unusable_replicas
from agnn.runs._run import Run
from agnn.runs._unseen import check_unseen, unseen_accuracy
from agnn.training import Callback, Checkpoints, Progress

if TYPE_CHECKING:
    from agnn.runs._training import Training

_NESTED_SPLITS: Final = 3  # that the automatic choice is repeated on


@dataclass(frozen=True, eq=False)
class Plan:
    """A training that has been checked: its data, method, splits and seeds are known."""

    training: Training  # what was asked for
    method: Method  # for auto one that needs no training, until `choose`
    data: NodeData
    split_spec: str
    splits: tuple[Split, ...]  # one per replica
    seeds: tuple[int, ...]  # one per replica
    folds: int
    device: str
    weights: NDArray[np.float64] | None = None  # [R, c]
    division: Division | None = None  # among processes
    checkpoints: Checkpoints | None = None
    choice: Choice | None = None  # of the method, if it was chosen automatically
    first_look: str | None = None  # of a small training: what it is, and how to get the full one

    @property
    def passes(self) -> tuple[int, ...]:
        """The pass that each replica belongs to, where they are cross-fitted; else none."""
        return SplitSpec.parse(self.split_spec).passes(len(self.splits))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the number of labels and the size of the graph have changed, in words."""
        of_split = SplitSpec.parse(self.split_spec).remark(self.data)
        return tuple(remark for remark in (of_split, self.first_look) if remark)

    def task(self, progress: Progress | None = None) -> Task:
        """Return the method's task; a progress that is a callback hears of the scores as well."""
        callbacks = tuple(self.training.callbacks) if LaunchedRank.is_first() else ()
        has_epochs = self.division is None or self.division.axis == "rows"
        if isinstance(progress, Callback) and has_epochs:
            callbacks += (progress,)
        return Task(
            data=self.method.usable(self.data),
            splits=self.splits,
            seeds=self.seeds,
            device=self.device,
            # What was asked for: with "auto" an operation without a fast form takes another.
            backend=self.training.backend,
            progress=progress,
            class_weights=self.weights,
            metric=self.training.metric,
            passes=self.passes,
            checkpoints=self.checkpoints,
            callbacks=callbacks,
        )

    def choose(
        self,
        on_tried: OnTried | None = None,
        on_trial: Callable[[int, int, float], None] | None = None,
        until: float | None = None,
    ) -> Plan:
        """Return the plan with the method or the settings that held-out labels choose.

        Itself where nothing is left to choose; see `method` and `search` of `evaluate`. After
        `until`, in `time.monotonic`'s seconds, a search begins no further setting.
        """
        training = self.training
        if training.is_auto:
            nested = self._nested_estimate(on_tried) if training.nested else None
            return self._choose_method(on_tried, nested)
        if self.rivals:
            return self._challenge_default(on_tried)
        if training.search is None:
            return self
        # A pass over the labels has a replica per fold: one is enough.
        trial_task = self.task().first(self.folds * (1 if self.passes else Search.SEEDS))
        search = Search(
            training.search,
            Path(training.search_file),
            frozenset(training.given_changes),
            training.executor,
            training.threads,
            until,
        )
        return replace(self, method=search.choose(self.method, trial_task, on_trial))

    @property
    def _seconds(self) -> float:
        """The time for an automatic choice and the training after it."""
        limit = self.training.time_limit
        return seconds_of(USUAL_TIME if limit is None else limit, "`time_limit` (--time)")

    def _choose_method(self, on_tried: OnTried | None, nested: Mapping[str, Any] | None) -> Plan:
        """Return the plan of the method that wins on validation nodes of the first seed's split.

        All replicas have that split: with a split of their own, the test nodes of one would be
        among the validation nodes that another one chooses by. Where replicas are cross-fitted all
        labels choose, and the accuracy of the winner is a little too high for that. The time limit
        covers the choice and the training, which has fewer replicas, or fewer epochs, where there
        is no time for all of them.
        """
        class_weight = self.training.class_weight
        choice = choose_method(
            self._prepare,
            self._choosing_task(),
            replicas=len(self.seeds) * self.folds,
            seconds=self._seconds,
            class_weight=class_weight,
            on_tried=on_tried,
        )
        plan = self._with_replicas(choice.replicas)
        return replace(
            plan,
            method=choice.method,
            weights=class_weights(class_weight, choice.method, self.data, plan.splits),
            choice=replace(choice, nested=nested),
        )

    def _with_replicas(self, count: int) -> Plan:
        """Return the plan of an automatic choice with splits and seeds of `count` replicas.

        Cross-fitted ones have a fold each, and at least three; the others have all the same split.
        """
        if not self.passes:
            return replace(self, splits=self.splits * count, seeds=self.seeds[:count])
        spec = SplitSpec.parse(self.split_spec)
        if self.training.split in (None, SplitSpec.CROSS_FIT):
            spec = SplitSpec.of(SplitSpec.CROSS_FIT, self.data, count)
        trials = self.seeds[: max(1, count // spec.folds)]
        return replace(
            self,
            split_spec=spec.text,
            folds=spec.folds,
            splits=spec.draw(self.data, trials),
            seeds=seeds_of_replicas(trials, spec.folds),
        )

    def _prepare(self, name: str, changes: Mapping[str, Any]) -> Method:
        return prepare(name, self.data, self.split_spec, changes)

    def _choosing_task(self) -> Task:
        """Return the task whose training and validation nodes choose a method: the first replica's.

        Where replicas are cross-fitted these are all labels.
        """
        plan = replace(self, splits=self.splits[:1], seeds=self.seeds[:1])
        task = replace(plan.task().first(1), passes=(), data=self.data)
        if not self.passes:
            return task
        (split,) = make_splits(replace(self.data, splits={}), "uniform", self.seeds[:1])
        held_out = np.concatenate([split.validation, split.test])
        nobody = split.test[:0]
        return replace(task, splits=(replace(split, validation=held_out, test=nobody),))

    @property
    def rivals(self) -> tuple[Rival, ...]:
        """What held-out labels compare the default method with, if anything.

        They do where no method and no setting of one is given, on graphs without a preset.
        """
        training = self.training
        if training.method is not None or training.given_changes or self.division is not None:
            return ()
        if training.search is not None or training.tuned:
            return ()
        if self.first_look is not None or preset_name(self.data) != "*":
            return ()
        return rivals(self._choosing_task())

    def _challenge_default(self, on_tried: OnTried | None) -> Plan:
        """Return the plan of the default method, or of one that held-out labels clearly prefer."""
        class_weight = self.training.class_weight
        choice = challenge(
            self.method, self._prepare, self._choosing_task(), class_weight, on_tried
        )
        # One that replaces the default is what this training can afford of it, as the default is.
        count = len(self.seeds)
        method = choice.method.reduced(self.data, count, self.device)
        if not method.is_random and len(set(self.splits)) == 1 and self.training.seeds is None:
            count = 1  # the others would be copies
        splits = self.splits[:count]
        return replace(
            self,
            method=method,
            splits=splits,
            seeds=self.seeds[:count],
            weights=class_weights(class_weight, method, self.data, splits),
            checkpoints=self.checkpoints if method.has_checkpoints else None,
            choice=choice,
        )

    def _nested_estimate(self, on_tried: OnTried | None) -> dict[str, Any]:
        """Repeat the whole automatic choice on several splits, one replica each.

        The measures over them are an unbiased estimate: every split has its own choice, by its own
        training and validation nodes. The time limit is for all of them together.
        """
        seeds = replica_seeds(self.training.seed, _NESTED_SPLITS)
        if len(set(make_splits(self.data, self.split_spec, seeds))) == 1:
            raise InputError(
                f"a nested estimate needs several splits, and '{self.split_spec}' is the same for "
                f"every seed: its test nodes are not read by the choice, so the test accuracy is "
                f"unbiased without it. Draw splits, such as stratified."
            )
        runs = []
        for seed in seeds:
            once = replace(
                self.training,
                split=self.split_spec,
                seeds=(seed,),
                replicas=None,
                nested=False,
                time_limit=self._seconds / len(seeds),
                callbacks=(),
                out=None,
            )
            run = once.plan().choose(on_tried).train()
            assert run is not None  # noqa: S101 (auto is not divided among ranks)
            runs.append(run)
        measures = {name: Summary([run.measure(name).mean for run in runs]) for name in MEASURES}
        metric = self.training.metric or "accuracy"
        measure = MEASURES[metric]
        error = measures[metric].standard_error
        spread = "" if error is None else f" ± {measure.shown(error)}"
        sentence = (
            f"{measure.title} {measure.shown(measures[metric].mean)}{spread}{measure.unit} of the "
            f"whole choice on {len(runs)} splits (chosen: "
            f"{', '.join(run.method.title for run in runs)})"
        )
        return {
            "measures": {name: summary.to_dict() for name, summary in measures.items()},
            "choices": [dict(run.choice or {}) for run in runs],
            "words": sentence,
        }

    def train(self, progress: Progress | None = None) -> Run | None:
        """Train and score; None in a process that is another rank than the first of several."""
        start = time.perf_counter()
        if isinstance(self.method, NetworkMethod):  # now that nothing changes it any more
            self.method.sampling(self.method.recipe())
        task = self.task(progress)
        method = settle(self.method, task)
        if self.training.unseen:
            check_unseen(method)
        checkpoints = self.checkpoints
        if checkpoints is not None:
            if not method.has_checkpoints:
                raise InputError(f"{method.name} has no training that checkpoints could continue.")
            checkpoints.describe(self.identity(method))
        for callback in task.callbacks:
            callback.start(self.about(method))
        division = self.division
        parts = self.training.parts
        files = None
        if division is not None and parts is not None:
            files = PredictionFiles.scratch(self.training.out)
            division = replace(division, finish=PredictionWriter(parts, str(files.folder)))
        if division is None:
            outcome: Outcome | None = method.run(task)
        else:
            outcome = division.run(method, task, self.identity(method))
        if outcome is None:
            return None
        data = self.data
        splits = self.splits
        if files is not None:
            data, splits = at_labelled(data, splits)  # of which there are scores
        seconds = time.perf_counter() - start
        if checkpoints is not None:
            seconds += checkpoints.seconds_before
        spec = SplitSpec.parse(self.split_spec)
        unusable = unusable_replicas(outcome.history, len(self.seeds))
        values = trial_values("accuracy", outcome.scores, data, splits, spec, unusable)
        unseen = None
        if self.training.unseen:
            unseen = unseen_accuracy(method, task, self.data, spec)
        run = Run(
            data=data,
            method=method,
            splits=splits,
            seeds=self.seeds,
            accuracy=Summary(values),
            unseen=unseen,
            model=outcome.model,
            split_spec=self.split_spec,
            history=outcome.history,
            chosen=outcome.chosen,
            seconds=seconds,
            device=self.device,
            backend=choose(self.training.backend, self.device.split(":")[0]),
            versions=versions(),
            machine=machine(self.device),
            class_weight=self.training.class_weight,
            metric=self.training.metric,
            choice=self._choice_words(),
            known=KnownResults(scores=outcome.scores.cpu()),
        )
        if parts is not None and files is not None:
            run = parts_run(run, PartsData.of(parts, self.data), self.splits, files)
        for callback in task.callbacks:
            callback.finish(run)
        return run

    def _choice_words(self) -> dict[str, Any] | None:
        """Return how method and settings were chosen as JSON values, with the key "words"."""
        choice = {} if self.choice is None else self.choice.to_dict()
        remarks = (choice.get("words"), self.first_look)
        text = " ".join(remark for remark in remarks if remark)
        return choice | {"words": text} if text else None

    def save(self, run: Run) -> None:
        """Write the run to the folder that was asked for, if one was; its checkpoints then go.

        A run that cannot be written there is kept elsewhere, and the error says where.
        """
        if self.training.out is None:
            return
        out = Path(self.training.out)
        try:
            save_run(run, out)
        except OSError as error:
            failure = keep_elsewhere(run, out, error)
            if self.checkpoints is not None and self.checkpoints.stored is not None:
                failure = DataError(
                    f"{failure} Its checkpoint is '{self.checkpoints.stored}', for --resume."
                )
            raise failure from error
        if self.checkpoints is not None:
            self.checkpoints.remove()

    def about(self, method: Method) -> dict[str, Any]:
        """Return what callbacks are told before the training, as JSON values."""
        return {
            "method": method.name,
            "dataset": self.data.name,
            "split": self.split_spec,
            "replicas": len(self.seeds),
            "seed": self.seeds[0],
            "device": self.device,
            "hyper_parameters": plain(method.settings),
        }

    def identity(self, method: Method) -> dict[str, Any]:
        """Return everything that the bits of the training depend on, as JSON values."""
        kind = self.device.split(":")[0]
        return {
            "version": versions()["agnn"],
            "method": method.name,
            "hyper-parameters": method.settings,
            "data": self.data.fingerprint,
            "split": self.split_spec,
            "seeds": self.seeds,
            "nodes in the parts of the split": self.task().splits_digest,
            "class weights": self.training.class_weight,
            "metric": self.training.metric,
            "device": kind,
            "backend": choose(self.training.backend, kind),
            **({} if self.division is None else self.division.identity),
        }
