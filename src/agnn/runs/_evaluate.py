"""Training and scoring: from a method, a graph, splits and seeds to a run."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from agnn.data import (
    NodeData,
    Split,
    SplitSpec,
    check_scaling,
    default_split,
    make_splits,
    preset_name,
)
from agnn.distributed import Division
from agnn.errors import InputError
from agnn.files import plain
from agnn.kernels import choose
from agnn.methods import Method, NetworkMethod, Task, Tuned, get_method
from agnn.metrics import Summary, check_metric, replica_values
from agnn.runs._auto import AUTO, SECONDS, Choice, OnTried, choose_method
from agnn.runs._class_weights import ClassWeight, class_weights
from agnn.runs._devices import find_device, machine, versions
from agnn.runs._divergence import trial_means, unusable_replicas
from agnn.runs._duration import seconds_of
from agnn.runs._run import Run
from agnn.training import Callback, Checkpoints, Progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST_REPLICAS: Final = 100_000
_LARGEST_SEED: Final = 2**62


def replica_seeds(seed: int, replicas: int) -> tuple[int, ...]:
    """The seeds of `replicas` replicas: `seed` and the numbers after it."""
    if replicas < 1:
        raise InputError(f"`replicas` must be at least 1; got {replicas}.")
    if replicas > _MOST_REPLICAS:
        raise InputError(f"`replicas` must be at most {_MOST_REPLICAS:,}; got {replicas}.")
    if seed < 0:
        raise InputError(f"`seed` must not be negative; got {seed}.")
    if seed > _LARGEST_SEED:
        raise InputError(f"`seed` must be at most 2^62; got {seed}.")
    return tuple(range(seed, seed + replicas))


def preset_method(name: str, split_spec: str, dataset: str) -> Method:
    """The method with the hyper-parameters for this kind of split and this dataset.

    Presets for cross-validation choose the epoch on the evaluated fold, as the paper does. If the
    split has validation nodes, those are used instead.
    """
    spec = SplitSpec.parse(split_spec)
    method = get_method(name).preset(spec.setting, dataset)
    if spec.has_validation and getattr(method, "watched", None) == "test":
        return method.with_fields(watched="validation")
    return method


def suited_method(name: str, split_spec: str, data: NodeData) -> Method:
    """The method with the hyper-parameters for this kind of split and this data.

    A dataset that comes with the package has the method's preset. Any other graph, whatever its
    name, has the defaults, with the feature scaling that suits its features.
    """
    known_as = preset_name(data)
    method = preset_method(name, split_spec, known_as)
    return method if known_as != "*" else method.suited(data)


def default_name(data: NodeData) -> str:
    """The name of the method for data that none is asked for: the paper's on its datasets."""
    return "agnn" if preset_name(data) != "*" else "agnn_plus"


def prepare(
    name: str,
    data: NodeData,
    split: str,
    changes: Mapping[str, Any] | None = None,
    *,
    is_tuned: bool = False,
) -> Method:
    """The method of this name, ready to train on `data`.

    Its hyper-parameters are those of `suited_method`, with the `changes` that are not None. If
    `is_tuned`, the rest of the method's grid is chosen on validation nodes.
    """
    method = suited_method(name, split, data)
    wanted = {field: value for field, value in (changes or {}).items() if value is not None}
    for field in wanted:
        if is_tuned and field in method.grid:
            raise InputError(f"`{field}` is chosen by tuning; do not set it.")
    method = method.with_fields(**wanted)
    if isinstance(method, NetworkMethod):
        check_scaling(method.scaling)
        method.stopping(method.recipe())  # checks the other values
        method.check_precision()
    return Tuned(method) if is_tuned else method


@dataclass(frozen=True, eq=False)
class Plan:
    """A training that has been checked: data, splits, seeds, device and class weights."""

    method: Method
    data: NodeData
    split_spec: str
    splits: tuple[Split, ...]  # one per replica
    seeds: tuple[int, ...]  # one per replica
    folds: int
    device: str
    backend: str  # as asked for
    class_weight: ClassWeight
    weights: NDArray[np.float64] | None  # [R, c]
    metric: str | None = None  # None: every method chooses by its own rule
    choice: Choice | None = None  # of the method, if it was chosen automatically

    def task(
        self,
        progress: Progress | None = None,
        checkpoints: Checkpoints | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> Task:
        """The method's task."""
        # The request, not the choice: with "auto" an operation without a fast form takes another.
        return Task(
            self.method.usable(self.data), self.splits, self.seeds, self.device, self.backend,
            progress, self.weights, self.metric, checkpoints, tuple(callbacks),
        )  # fmt: skip

    def run(
        self,
        progress: Progress | None = None,
        checkpoints: Checkpoints | None = None,
        callbacks: Sequence[Callback] = (),
        division: Division | None = None,
    ) -> Run:
        """Train and score; `checkpoints` only for a method whose training has some."""
        run = self.run_on_rank(progress, checkpoints, callbacks, division)
        if run is None:
            raise InputError("only rank 0 has the run; `run_on_rank` gives the others None.")
        return run

    def run_on_rank(
        self,
        progress: Progress | None = None,
        checkpoints: Checkpoints | None = None,
        callbacks: Sequence[Callback] = (),
        division: Division | None = None,
    ) -> Run | None:
        """As `run`, in a process that may be one of several: the run on rank 0, else None."""
        start = time.perf_counter()
        if isinstance(self.method, NetworkMethod):  # now that nothing changes it any more
            self.method.sampling(self.method.recipe())
        task = self.task(progress, checkpoints, callbacks)
        method = self.method.settled(task)
        if checkpoints is not None:
            if not method.has_checkpoints:
                raise InputError(f"{method.name} has no training that checkpoints could continue.")
            extra = {} if division is None else division.identity
            checkpoints.describe(self.identity(method) | extra)
        for callback in callbacks:
            callback.start(self.about(method))
        outcome = method.run(task) if division is None else division.run(method, task)
        if outcome is None:
            return None
        seconds = time.perf_counter() - start
        if checkpoints is not None:
            seconds += checkpoints.seconds_before
        values = replica_values("accuracy", outcome.scores, self.data, self.splits)
        unusable = unusable_replicas(outcome.history, len(self.seeds))
        run = Run(
            data=self.data,
            method=method,
            splits=self.splits,
            seeds=self.seeds,
            accuracy=Summary(trial_means(values, self.folds, unusable)),
            model=outcome.model,
            split_spec=self.split_spec,
            history=outcome.history,
            chosen=outcome.chosen,
            seconds=seconds,
            device=self.device,
            backend=choose(self.backend, self.device.split(":")[0]),
            versions=versions(),
            machine=machine(self.device),
            class_weight=self.class_weight,
            metric=self.metric,
            choice=None if self.choice is None else self.choice.to_dict(),
            known_scores=outcome.scores.cpu(),
        )
        for callback in callbacks:
            callback.finish(run)
        return run

    def about(self, method: Method) -> dict[str, Any]:
        """What callbacks are told before the training, as JSON values."""
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
        """Everything that the bits of a training depend on, as JSON values."""
        nodes = hashlib.sha256()
        for split in self.splits:
            for part in split.parts.values():
                nodes.update(f"{part.size} ".encode() + part.tobytes())
        kind = self.device.split(":")[0]
        return {
            "version": versions()["agnn"],
            "method": method.name,
            "hyper-parameters": method.settings,
            "data": self.data.fingerprint,
            "split": self.split_spec,
            "seeds": self.seeds,
            "nodes in the parts of the split": nodes.hexdigest(),
            "class weights": self.class_weight,
            "metric": self.metric,
            "device": kind,
            "backend": choose(self.backend, kind),
        }


def plan(
    method: Method | str | None,
    data: NodeData,
    split: str | Split | None = None,
    seeds: Sequence[int] | None = None,
    *,
    replicas: int | None = None,
    seed: int = 0,
    changes: Mapping[str, Any] | None = None,
    device: str = "auto",
    backend: str = "auto",
    class_weight: ClassWeight = None,
    metric: str | None = None,
) -> Plan:
    """Everything that `evaluate` checks before it trains; see there for the arguments."""
    is_counted = seeds is None
    if seeds is None:
        seeds = replica_seeds(seed, 1 if replicas is None else replicas)
    elif replicas is not None:
        raise InputError("give `seeds` or `replicas`, not both.")
    if isinstance(split, Split):
        data, split = data.with_split(split), split.name
    spec = split or default_split(data)
    place = find_device(device)
    if method is None:
        method = prepare(default_name(data), data, spec, changes)
        if (changes or {}).get("strength") is None:
            method = method.affordable(data, len(seeds), place)
    elif isinstance(method, str):
        method = prepare(method, data, spec, changes)
    elif changes:
        method = method.with_fields(**changes)
    choose(backend, place.split(":")[0])
    splits = make_splits(data, spec, seeds)
    if is_counted and not method.is_random and len(set(splits)) == 1:
        # Replicas would be copies, and their spread of zero would look like certainty.
        seeds, splits = seeds[:1], splits[:1]
    for each in splits:
        if each.test.size == 0:
            raise InputError(f"the split '{each.name}' has no test nodes to score on.")
    if metric is not None:
        check_metric(metric)
    if metric == "auc":
        _check_two_classes(data, splits)
    folds = len(splits) // len(seeds)
    return Plan(
        method=method,
        data=data,
        split_spec=spec,
        splits=splits,
        seeds=seeds_of_replicas(seeds, folds),
        folds=folds,
        device=place,
        backend=backend,
        class_weight=class_weight,
        weights=class_weights(class_weight, method, data, splits),
        metric=metric,
    )


def auto_plan(
    data: NodeData,
    split: str | Split | None = None,
    seeds: Sequence[int] = (0,),
    *,
    time_limit: str | float | None = None,
    metric: str | None = None,
    device: str = "auto",
    backend: str = "auto",
    class_weight: ClassWeight = None,
    on_tried: OnTried | None = None,
) -> Plan:
    """Choose a method and its settings by validation nodes, and plan its training.

    All replicas have the first seed's split: with a split of their own, the test nodes of one
    would be among the validation nodes that another one chooses by. `time_limit`, by default ten
    minutes, covers the choice and the training, which has fewer replicas, or fewer epochs, where
    there is no time for all of them.
    """
    seconds = SECONDS if time_limit is None else seconds_of(time_limit, "`time_limit`")
    if isinstance(split, Split):
        data, split = data.with_split(split), split.name
    spec = split or default_split(data)
    if SplitSpec.parse(spec).folds > 1:
        if split is not None:
            raise InputError(
                f"'auto' chooses on one split, and '{spec}' has folds; use stratified, or nested "
                f"(--nested) for an estimate over several splits."
            )
        spec = "stratified"
    first = plan("majority", data, spec, seeds[:1], device=device, backend=backend, metric=metric)
    choice = choose_method(
        lambda name, changes: prepare(name, data, spec, changes), data, first.splits[0],
        replicas=len(seeds), seconds=seconds, seed=seeds[0], metric=metric, device=first.device,
        backend=backend, class_weight=class_weight, on_tried=on_tried,
    )  # fmt: skip
    method, seeds = choice.method, tuple(seeds)[: choice.replicas]
    splits = first.splits * len(seeds)
    return replace(
        first, method=method, splits=splits, seeds=seeds, class_weight=class_weight,
        weights=class_weights(class_weight, method, data, splits), choice=choice,
    )  # fmt: skip


def nested_estimate(
    data: NodeData,
    split: str | None = None,
    seed: int = 0,
    *,
    repeats: int = 3,
    time_limit: str | float | None = None,
    metric: str | None = None,
    device: str = "auto",
    backend: str = "auto",
    class_weight: ClassWeight = None,
    on_tried: OnTried | None = None,
) -> tuple[Run, ...]:
    """The whole automatic choice on several splits, one replica each: an unbiased estimate.

    Every split has its own choice, by its own training and validation nodes. `time_limit` is for
    all of them together.
    """
    seconds = SECONDS if time_limit is None else seconds_of(time_limit, "`time_limit`")
    spec = split or default_split(data)
    spec = "stratified" if split is None and SplitSpec.parse(spec).folds > 1 else spec
    seeds = replica_seeds(seed, repeats)
    if len(set(make_splits(data, spec, seeds))) == 1:
        raise InputError(
            f"a nested estimate needs several splits, and '{spec}' is the same for every seed: its "
            f"test nodes are not read by the choice, so the test accuracy is unbiased without it. "
            f"Draw splits, such as stratified."
        )
    return tuple(
        auto_plan(
            data, spec, (each,), time_limit=seconds / repeats, metric=metric, device=device,
            backend=backend, class_weight=class_weight, on_tried=on_tried,
        ).run()
        for each in seeds
    )  # fmt: skip


def _check_two_classes(data: NodeData, splits: Sequence[Split]) -> None:
    """Raise where a part of a split that AUC is computed on has nodes of one class only."""
    for split in splits:
        for part in ("validation", "test"):
            labels = data.labels[split.parts[part]]
            if labels.size and (labels == labels[0]).all():
                raise InputError(
                    f"AUC needs nodes of two classes, but all {labels.size} {part} nodes of the "
                    f"split '{split.name}' are of class '{data.class_names[labels[0]]}'. Use "
                    f"another metric, such as log_loss, or a stratified split."
                )


def evaluate(
    method: Method | str | None,
    data: NodeData,
    split: str | Split | None = None,
    seeds: Sequence[int] | None = None,
    *,
    replicas: int | None = None,
    seed: int = 0,
    changes: Mapping[str, Any] | None = None,
    device: str = "auto",
    backend: str = "auto",
    progress: Progress | None = None,
    callbacks: Sequence[Callback] = (),
    class_weight: ClassWeight = None,
    metric: str | None = None,
    checkpoints: Checkpoints | None = None,
    time_limit: str | float | None = None,
    division: Division | None = None,
) -> Run:
    """Train a method once per seed, all replicas at once, and score it on the test nodes.

    Args:
        method: a method, or the name of one, which then has its hyper-parameters for the data.
            None: AGNN on the datasets of the paper, AGNN+ on any other graph. "auto": a method and
            settings that are chosen by validation nodes; all replicas then have one split.
        data: the graph, its features and labels.
        split: the name of a way to split the nodes, as in `agnn train`, or a Split. None: the
            data's fixed split, else "stratified", with folds if labels are few.
        seeds: one per replica.
        replicas: instead of `seeds`, the number of replicas. One is trained where all would be the
            same: a method without randomness on a fixed split.
        seed: the first of their seeds.
        changes: hyper-parameters by name. None is the same as leaving one out; the text "none" is
            the value None.
        device: "auto", "cpu" or "cuda".
        backend: "auto", "reference", "numba" or "triton".
        progress: called with (epochs done, epochs in all).
        callbacks: told about the start, every epoch and the result; `agnn.training.Callback`.
        class_weight: "balanced", or a weight per class name; for methods that train a network.
        metric: by which the epoch and the settings are chosen on validation nodes: "accuracy",
            "balanced_accuracy", "f1", "auc" or "log_loss". None: the method's own rule.
        checkpoints: where the state is written now and then, and whether a stopped training is
            continued; for methods that train a network.
        time_limit: for "auto", seconds or a text such as "5m" for the choice and the training;
            None: ten minutes.
        division: among how many processes the training is divided, by rows of the graph or by
            replicas; for methods that train a network. None: this process alone.

    With a k-fold split every seed is a trial of k replicas, one per fold, and its accuracy is the
    mean over them: folds share training nodes, so only trials count as repetitions.

    >>> import agnn
    >>> cora = agnn.load_dataset("cora")
    >>> run = agnn.evaluate("agnn", cora, split="fixed", replicas=2, changes={"epochs": 3})
    >>> run.accuracy.n, run.scores.shape
    (2, torch.Size([2, 2708, 7]))
    """
    if isinstance(method, str) and method.lower() == AUTO:
        given = [name for name, value in (changes or {}).items() if value is not None]
        if given:
            raise InputError(f"'auto' chooses the hyper-parameters; leave out `{given[0]}`.")
        if checkpoints is not None:
            raise InputError("`checkpoints` do not go with 'auto', which would choose again.")
        wanted = seeds or replica_seeds(seed, 1 if replicas is None else replicas)
        return auto_plan(
            data, split, wanted, time_limit=time_limit, metric=metric, device=device,
            backend=backend, class_weight=class_weight,
        ).run(progress, None, callbacks, division)  # fmt: skip
    if time_limit is not None:
        raise InputError("`time_limit` is for the method 'auto'.")
    prepared = plan(
        method, data, split, seeds, replicas=replicas, seed=seed, changes=changes, device=device,
        backend=backend, class_weight=class_weight, metric=metric,
    )  # fmt: skip
    return prepared.run(progress, checkpoints, callbacks, division)


def seeds_of_replicas(seeds: Sequence[int], folds: int) -> tuple[int, ...]:
    """Every replica's own seed for weights and dropout: the folds of one trial differ."""
    return tuple(seed * folds + k for seed in seeds for k in range(folds))
