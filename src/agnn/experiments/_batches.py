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
from agnn.errors import DivergedError, InputError
from agnn.experiments._plan import Work
from agnn.experiments._store import StoredRun
from agnn.explanation import edge_ranking
from agnn.methods import Method, Task, Tuned
from agnn.metrics import replica_values
from agnn.runs import Run, evaluate, find_device
from agnn.training import Progress

_TUNING_SEEDS: Final = (0, 1, 2)
_RANKED_EDGES: Final = 100  # at either end of the order, as in the paper's Table 6


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


def choose(batch: Batch) -> tuple[Method, Method | None]:
    """What to run, where the batch does not say so yet."""
    return batch.settled or settled(batch.work, batch.device, batch.backend)


def make(batch: Batch, progress: Progress | None = None) -> list[StoredRun]:
    """Train a batch; runs without usable weights are left out."""
    method, chosen = choose(batch)
    run = evaluate(
        method, batch.work.data, batch.work.split, batch.seeds, device=batch.device,
        backend=batch.backend, progress=progress,
    )  # fmt: skip
    return list(_stored_runs(batch.work, run, batch.seeds, chosen))


def work_off(batch: Batch) -> list[StoredRun] | tuple[Method, Method | None]:
    """What a worker does with a batch: make its runs, or the choice that comes before them."""
    return choose(batch) if batch.settled is None else make(batch)


def _stored_runs(
    work: Work, run: Run, seeds: Sequence[int], chosen: Method | None
) -> Iterator[StoredRun]:
    """The runs of a batch, each with its folds where it has some, but those without usable weights.

    A run that lacks a fold is left out too: it would not be comparable.
    """
    folds = len(run.seeds) // len(seeds)
    own_choices = run.chosen  # where every split makes its own, one per replica
    measures, epochs, betas = measured(work.measure, run), run.selected_epochs, run.betas
    accuracies = replica_values("accuracy", run.scores, run.data, run.splits)
    for k, seed in enumerate(seeds):
        own = slice(k * folds, (k + 1) * folds)
        if run.unusable[own].any():
            continue
        extra: dict[str, object] = dict(measures[k * folds])
        if chosen is not None:
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


def settled(work: Work, device: str, backend: str) -> tuple[Method, Method | None]:
    """What to run, and the candidate that was chosen for all runs of the work, if there is one.

    Where all seeds share a split, the choice is made by the first seeds whatever the batch: a
    tuned method left to itself would choose by the seeds that it is given. Where every seed has
    its own split, each makes its own choice.
    """
    if not isinstance(work.method, Tuned):
        return work.method, None
    seeds = work.seeds if len(work.seeds) == 1 else _TUNING_SEEDS
    splits = make_splits(work.data, work.split, seeds)
    if len({id(split) for split in splits}) > 1 or len(splits) != len(seeds):
        return work.method, None
    chosen = work.method.choose(Task(work.data, splits, seeds, find_device(device), backend))
    return chosen, chosen


def measured(measure: str | None, run: Run) -> list[dict[str, float]]:
    """What `measure` says of each replica; nothing where it is None."""
    if measure is None:
        return [{} for _ in run.seeds]
    if run.diverged.any():
        raise DivergedError(f"training diverged, so '{measure}' cannot be measured.")
    if measure == "edge_ranking":
        return _edge_ranking(run)
    raise InputError(f"unknown measure '{measure}'; known: edge_ranking.")


def _edge_ranking(run: Run) -> list[dict[str, float]]:
    """Shares of edges within a class among the last layer's most and least relevant."""
    last = edge_ranking(run, _RANKED_EDGES)[-1]
    if last.top is None or last.bottom is None:
        raise InputError("the last layer attends evenly, so its edges have no order.")
    pairs = zip(last.top.values, last.bottom.values, strict=True)
    return [{"top_within": top, "bottom_within": bottom} for top, bottom in pairs]
