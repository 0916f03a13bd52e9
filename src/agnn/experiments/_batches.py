"""One batch of runs of a cell: trained, measured and ready to be stored.

Nothing here touches a store, so a batch can be made by a worker on another machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from statistics import fmean
from typing import Any, Final

from agnn.data import NodeData, make_splits
from agnn.distributed import Shared
from agnn.experiments._measured import measured, watching_memory
from agnn.experiments._plan import Work
from agnn.experiments._store import StoredRun
from agnn.methods import Method, Task, Tuned
from agnn.metrics import replica_values
from agnn.runs import Run, evaluate, find_device, seeds_of_replicas
from agnn.training import Progress

_TUNING_SEEDS: Final = (0, 1, 2)
SETTLED: Final = "settled"  # what a method chose for all runs of its work: a key of `extra`


@dataclass(frozen=True, eq=False)
class Batch:
    """Runs of a work that are trained together, on the client or on a worker."""

    work: Work
    shared: Shared[NodeData]  # the work's data, which travels by itself
    device: str
    backend: str
    seeds: tuple[int, ...]
    settled: tuple[Method, Method | None] | None = None
    """What to run and what was chosen; None asks for that choice instead of runs."""

    def __getstate__(self) -> dict[str, Any]:
        work = {each.name: getattr(self.work, each.name) for each in fields(Work)}
        return self.__dict__ | {"work": work | {"data": None}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        work = Work(**state["work"] | {"data": state["shared"].value})
        self.__dict__.update(state | {"work": work})


def shared_data(data: NodeData) -> Shared[NodeData]:
    """The data as workers get it."""
    return Shared(f"{data.name} {data.fingerprint} {data.names_fingerprint}", data)


def choose(batch: Batch, progress: Progress | None = None) -> tuple[Method, Method | None]:
    """What to run, where the batch does not say so yet."""
    return batch.settled or settled(batch.work, batch.device, batch.backend, progress)


def make(batch: Batch, progress: Progress | None = None) -> list[StoredRun]:
    """Train a batch; runs without usable weights are left out."""
    method, chosen = choose(batch)
    with watching_memory(find_device(batch.device)) as memory:
        run = evaluate(
            method, batch.work.data, batch.work.split, batch.seeds, device=batch.device,
            backend=batch.backend, progress=progress, metric=batch.work.metric,
        )  # fmt: skip
    return list(_stored_runs(batch.work, run, batch.seeds, chosen, memory.peak))


def work_off(batch: Batch) -> list[StoredRun] | tuple[Method, Method | None]:
    """What a worker does with a batch: make its runs, or the choice that comes before them."""
    return choose(batch) if batch.settled is None else make(batch)


def _stored_runs(
    work: Work, run: Run, seeds: Sequence[int], chosen: Method | None, memory: int | None = None
) -> Iterator[StoredRun]:
    """The runs of a batch, each with its folds where it has some, but those without usable weights.

    A run that lacks a fold is left out too: it would not be comparable.
    """
    folds = len(run.seeds) // len(seeds)
    own_choices = run.chosen  # where every split makes its own, one per replica
    epochs, betas = run.selected_epochs, run.betas
    measures = measured(work.measure, run, folds, memory, work.metric)
    accuracies = replica_values("accuracy", run.scores, run.data, run.splits)
    for k, seed in enumerate(seeds):
        own = slice(k * folds, (k + 1) * folds)
        if run.unusable[own].any():
            continue
        extra = dict(measures[k])
        if chosen is not None and not chosen.grid:
            extra[SETTLED] = chosen.settings
        elif chosen is not None:
            extra["chosen"] = {name: getattr(chosen, name) for name in chosen.grid}
        elif own_choices is not None:
            choices = [dict(each) for each in own_choices[own]]
            extra["chosen"] = choices[0] if folds == 1 else choices
        yield StoredRun(
            spec=work.key.spec, data=work.key.data, seed=seed, experiment=work.experiment,
            method=work.method.name, dataset=work.data.name, split=work.split,
            accuracy=fmean(accuracies[own]),
            selected_epochs=None if epochs is None else epochs[own],
            betas=None if betas is None else [rounded(each) for each in betas[own]],
            extra=extra, versions=dict(run.versions), device=run.device,
            backend=run.backend, seconds=run.seconds / len(seeds), machine=dict(run.machine),
        )  # fmt: skip


def rounded(betas: Sequence[float]) -> list[float]:
    """Six digits: about what a float32 holds, without the tail that a float64 shows of it."""
    return [float(f"{beta:.6g}") for beta in betas]


def leaves_a_choice(method: Method) -> bool:
    """Whether `settled` has something to choose on validation nodes."""
    return isinstance(method, Tuned) or type(method).settled is not Method.settled


def settled(
    work: Work, device: str, backend: str, progress: Progress | None = None
) -> tuple[Method, Method | None]:
    """What to run, and the candidate that was chosen for all runs of the work, if there is one.

    Where all seeds share a split, the choice is made by the first seeds whatever the batch: a
    tuned method left to itself would choose by the seeds that it is given. Where every seed has
    its own split, each makes its own choice. A method that chooses for all its replicas does so
    by the first seeds, too.
    """
    if not leaves_a_choice(work.method):
        return work.method, None
    seeds = work.seeds if len(work.seeds) == 1 else _TUNING_SEEDS
    splits = make_splits(work.data, work.split, seeds)
    folds = len(splits) // len(seeds)
    is_shared = folds == 1 and len({id(split) for split in splits}) == 1
    if isinstance(work.method, Tuned) and not is_shared:
        return work.method, None
    task = Task(
        work.method.usable(work.data), splits, seeds_of_replicas(seeds, folds),
        find_device(device), backend, progress, metric=work.metric,
    )  # fmt: skip
    method = work.method
    chosen = method.choose(task) if isinstance(method, Tuned) else method.settled(task)
    return (method, None) if chosen == method else (chosen, chosen)
