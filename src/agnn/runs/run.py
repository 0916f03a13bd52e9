"""One evaluated run of a method: trained replicas, their accuracy and all they depend on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from agnn.data import NodeData, Split, SplitSpec, make_splits, preset_name
from agnn.errors import InputError
from agnn.metrics import Calibration, Summary, calibrated, replica_values
from agnn.runs.class_weights import ClassWeight, class_weights
from agnn.runs.devices import find_device, versions
from agnn.kernels import choose
from agnn.methods import Method, Outcome, Task, get_method
from agnn.training import Progress

_MOST_REPLICAS = 100_000  # seeds are listed before the memory is looked at


@dataclass(frozen=True, eq=False)
class Run:
    """A method, what it was run on, and what came out."""

    data: NodeData
    method: Method
    split_spec: str
    splits: tuple[Split, ...]
    seeds: tuple[int, ...]
    outcome: Outcome
    accuracy: Summary  # percent of test nodes: one value a replica; with folds, one a trial
    seconds: float
    device: str
    backend: str
    versions: dict[str, str]
    class_weight: ClassWeight = None

    @cached_property
    def calibration(self) -> Calibration:
        """The replicas as an ensemble: its temperature, accuracy and calibration error."""
        return calibrated(self.outcome.scores, self.data, self.splits)

    @property
    def betas(self) -> list[list[float]] | None:
        """Every replica's betas, layer by layer; None where the method has none."""
        model = self.outcome.model
        betas = None if model is None else model.betas
        return None if betas is None else betas.tolist()

    @property
    def selected_epochs(self) -> list[int] | None:
        """The epoch, from 1, whose weights each replica keeps; None without epochs."""
        history = self.outcome.history
        return None if history is None else history.selected_epochs.tolist()

    @property
    def seconds_per_replica_epoch(self) -> float | None:
        """Time over replicas and epochs run; None without epochs."""
        history = self.outcome.history
        if history is None:
            return None
        return self.seconds / (len(self.seeds) * history.training_loss.shape[0])


def replica_seeds(seed: int, replicas: int) -> tuple[int, ...]:
    """The seeds of `replicas` replicas: `seed` and the numbers after it."""
    if replicas < 1:
        raise InputError(f"`replicas` must be at least 1; got {replicas}.")
    if replicas > _MOST_REPLICAS:
        raise InputError(f"`replicas` must be at most {_MOST_REPLICAS:,}; got {replicas}.")
    if seed < 0:
        raise InputError(f"`seed` must not be negative; got {seed}.")
    return tuple(range(seed, seed + replicas))


def preset_method(name: str, split_spec: str, dataset: str) -> Method:
    """The method with the hyper-parameters for this kind of split and this dataset.

    Nested folds have validation nodes: what the presets choose on the evaluated fold for want of
    them is chosen there.
    """
    spec = SplitSpec.parse(split_spec)
    method = get_method(name).preset(spec.setting, dataset)
    if spec.has_validation and getattr(method, "watched", None) == "test":
        return method.with_fields(watched="validation")
    return method


def suited_method(name: str, split_spec: str, data: NodeData) -> Method:
    """The method with the hyper-parameters for this kind of split and this data.

    A dataset that comes with the package has the method's preset. Any other graph, whatever its
    name, has the defaults, with features scaled as suits them.
    """
    known_as = preset_name(data)
    method = preset_method(name, split_spec, known_as)
    return method if known_as != "*" else method.suited(data)


def evaluate(
    method: Method,
    data: NodeData,
    split_spec: str = "fixed",
    seeds: Sequence[int] = (0,),
    *,
    device: str = "auto",
    backend: str = "auto",
    progress: Progress | None = None,
    class_weight: ClassWeight = None,
) -> Run:
    """Run `method` once for each seed, all at once, and score it on the test nodes.

    With a k-fold `split_spec` every seed is a trial of k replicas, one a fold, and its accuracy
    is the mean over them: folds share training nodes, so only trials count as repetitions.
    `class_weight` is "balanced" or a number for each class name; methods that train a network
    take it.
    """
    place = find_device(device)
    chosen = choose(backend, place.split(":")[0])
    splits = make_splits(data, split_spec, seeds)
    for split in splits:
        if split.test.size == 0:
            raise InputError(f"the split '{split.name}' has no test nodes to score on.")
    per_seed = len(splits) // len(seeds)
    own_seeds = seeds_of_replicas(seeds, per_seed)
    weights = class_weights(class_weight, method, data, splits)
    # The request, not the choice: under "auto" an operation that the choice lacks takes another.
    task = Task(data, splits, own_seeds, place, backend, progress, weights)
    start = time.perf_counter()
    method = method.settled(task)
    outcome = method.run(task)
    seconds = time.perf_counter() - start
    accuracy = Summary(_trial_means(replica_values("accuracy", outcome.scores, data, splits), per_seed))
    return Run(
        data, method, split_spec, splits, own_seeds, outcome, accuracy, seconds, place, chosen,
        versions(), class_weight,
    )  # fmt: skip


def seeds_of_replicas(seeds: Sequence[int], folds: int) -> tuple[int, ...]:
    """Every replica's own seed, which draws weights and dropout: folds of one trial differ."""
    return tuple(seed * folds + k for seed in seeds for k in range(folds))


def _trial_means(values: Sequence[float], folds: int) -> list[float]:
    """The mean of each `folds` values in a row."""
    return [fmean(values[k : k + folds]) for k in range(0, len(values), folds)]
