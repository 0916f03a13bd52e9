"""Work to finished runs in a store: in batches, only what is missing, each stored at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from agnn.data import SplitSpec
from agnn.errors import AgnnError
from agnn.experiments.claims import claim, release
from agnn.experiments.measures import measured
from agnn.experiments.pace import Clock, Tell
from agnn.experiments.plan import Work, together
from agnn.experiments.store import Store
from agnn.experiments.stored_run import StoredRun
from agnn.experiments.tuning import settled
from agnn.methods import Method, NetworkMethod
from agnn.runs import Run, evaluate, find_device

# Replicas that are trained at once on a CPU. More are hardly faster; fewer are lost if it dies.
_MOST, _LEAST, _NODES_AT_ONCE = 25, 10, 75_000


@dataclass(frozen=True)
class Executed:
    """What an execution did."""

    new: int  # runs finished
    elsewhere: int  # runs left to another process
    failures: tuple[str, ...] = ()  # each the label of a work and what went wrong


def execute(
    works: Sequence[Work], store: Store, *, device: str = "auto", backend: str = "auto",
    tell: Tell = lambda _: None,
) -> Executed:  # fmt: skip
    """Run what is missing of `works` and store each batch when it is finished.

    An error in one work leaves the others to be done. Another process on the same store does
    other runs; what it has begun is left to it.
    """
    works = together(works)
    missing = {work.key: store.missing(work.key, work.seeds) for work in works}
    clock = Clock(tell, [(work, len(missing[work.key])) for work in works])
    new, elsewhere, failures = 0, 0, list[str]()
    try:
        for work in works:
            try:
                for done, left in _done(work, missing[work.key], store, device, backend, clock):
                    new, elsewhere = new + done, elsewhere + left
            except AgnnError as error:
                failures.append(f"{work.label}: {error}")
                clock.drop(work)
    finally:
        release(store)
    return Executed(new, elsewhere, tuple(failures))


def _done(
    work: Work, seeds: Sequence[int], store: Store, device: str, backend: str, clock: Clock
) -> Iterator[tuple[int, int]]:
    """Run the work batch by batch; after each, how many were stored and left to another process."""
    if not seeds:
        return
    clock.tell_part(work, 0, 0.0)
    method, chosen = settled(work, device, backend)
    size = _batch_size(work, method, find_device(device))
    for start in range(0, len(seeds), size):
        batch = seeds[start : start + size]
        ours = claim(store, work.key, batch)
        left, new = len(store.missing(work.key, batch)) - len(ours), 0
        if ours:
            run = evaluate(
                method, work.data, work.split, ours, device=device, backend=backend,
                progress=partial(_tell_epoch, clock, work, len(ours)),
            )  # fmt: skip
            new = store.add(work.spec, list(_stored_runs(work, run, ours, chosen)))
        clock.pass_over(work, len(batch))
        yield new, left


def _tell_epoch(clock: Clock, work: Work, count: int, done: int, total: int) -> None:
    clock.tell_part(work, count, done / total)


def _batch_size(work: Work, method: Method, device: str) -> int:
    """Runs at once. A replica comes out the same whatever it is trained with."""
    if device != "cpu" and method.fills_a_gpu:
        return len(work.seeds)
    if not isinstance(method, NetworkMethod):
        return 1
    replicas = max(_LEAST, min(_MOST, _NODES_AT_ONCE // work.data.nodes))
    return max(1, replicas // _folds(work))


def _folds(work: Work) -> int:
    return SplitSpec.parse(work.split).folds


def _stored_runs(
    work: Work, run: Run, seeds: Sequence[int], chosen: Method | None
) -> Iterator[StoredRun]:
    """The runs of a batch, each with its folds where it has some."""
    folds = len(run.seeds) // len(seeds)
    own_choices = getattr(run.outcome, "chosen", None)  # where every split makes its own
    measures, epochs, betas = measured(work.measure, run), run.selected_epochs, run.betas
    for k, seed in enumerate(seeds):
        own = slice(k * folds, (k + 1) * folds)
        extra: dict[str, object] = dict(measures[k * folds])
        if chosen is not None:
            extra["chosen"] = {name: getattr(chosen, name) for name in chosen.grid}
        elif own_choices is not None:
            extra["chosen"] = dict(own_choices[k])
        yield StoredRun(
            spec=work.key.spec, data=work.key.data, seed=seed, experiment=work.experiment,
            method=work.method.name, dataset=work.data.name, split=work.split,
            accuracy=run.accuracy.values[k],
            selected_epochs=None if epochs is None else epochs[own],
            betas=None if betas is None else [rounded(each) for each in betas[own]],
            extra=extra, versions=run.versions, device=run.device,
            backend=run.backend, seconds=run.seconds / len(seeds),
        )  # fmt: skip


def rounded(betas: Sequence[float]) -> list[float]:
    """Six digits: about what a float32 holds, without the tail that a float64 shows of it."""
    return [float(f"{beta:.6g}") for beta in betas]
