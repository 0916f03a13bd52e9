"""One batch of runs of a cell: trained, measured and ready to be stored.

Nothing here touches a store, so a batch can be made by a worker on another machine.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import fmean
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from agnn.choosing import Tuned, settle
from agnn.data import NodeData, SplitSpec, make_splits
from agnn.errors import DivergedError, InputError
from agnn.executors import Shared
from agnn.explanation import Relevance
from agnn.methods import Method, Task
from agnn.metrics import MEASURES, node_contributions, replica_values, scored_nodes
from agnn.networks import validation_scores
from agnn.runs import Run, evaluate, find_device, seeds_of_replicas
from agnn.studies._store import StoredRun
from agnn.studies._works import Work
from agnn.training import Progress

ALL_MEASURES: Final = "all_measures"
SETTLED: Final = "settled"  # what a method chose for all runs of its work: a key of `extra`
_TUNING_SEEDS: Final = (0, 1, 2)
_RANKED_EDGES: Final = 100  # at either end of the order, as in the paper's Table 6
_MOST_NODES: Final = 20_000  # test nodes of a trial whose contributions are kept


class MethodChoice(NamedTuple):
    """What to run, and the candidate that was chosen for all runs of a work, if there is one."""

    method: Method
    chosen: Method | None = None


@dataclass(frozen=True, eq=False)
class Batch:
    """Runs of a work that are trained together, on the client or on a worker."""

    work: Work
    shared: Shared[NodeData]  # the work's data, which travels by itself
    device: str
    backend: str
    seeds: tuple[int, ...]
    choice: MethodChoice | None = None  # None asks for that choice instead of runs

    def __getstate__(self) -> dict[str, Any]:
        fields_of_work = {field.name: getattr(self.work, field.name) for field in fields(Work)}
        return self.__dict__ | {"work": fields_of_work | {"data": None}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        work = Work(**state["work"] | {"data": state["shared"].value})
        self.__dict__.update(state | {"work": work})


def share_data(data: NodeData) -> Shared[NodeData]:
    """Return the data as workers get it."""
    return Shared(f"{data.name} {data.fingerprint} {data.names_fingerprint}", data)


def work_off(batch: Batch) -> list[StoredRun] | MethodChoice:
    """Do what a worker does with a batch: make its runs, or the choice that comes before them."""
    return method_choice(batch) if batch.choice is None else make_runs(batch)


def leaves_a_choice(method: Method) -> bool:
    """Return whether `method_choice` has something to choose on validation nodes."""
    return isinstance(method, Tuned) or bool(method.alternatives())


def method_choice(batch: Batch, progress: Progress | None = None) -> MethodChoice:
    """Return what to run for a work.

    Where all seeds share a split, the choice is made by the first seeds whatever the batch: a
    tuned method left to itself would choose by the seeds that it is given. Where every seed has
    its own split, each makes its own choice. A method that chooses for all its replicas does so
    by the first seeds, too.
    """
    work = batch.work
    method = work.method
    if not leaves_a_choice(method):
        return MethodChoice(method)
    seeds = work.seeds if len(work.seeds) == 1 else _TUNING_SEEDS
    splits = make_splits(work.data, work.split, seeds)
    folds = len(splits) // len(seeds)
    is_shared = folds == 1 and len({id(split) for split in splits}) == 1
    if isinstance(method, Tuned) and not is_shared:
        return MethodChoice(method)
    task = Task(
        method.usable(work.data),
        splits,
        seeds_of_replicas(seeds, folds),
        find_device(batch.device),
        batch.backend,
        progress,
        metric=work.metric,
        passes=SplitSpec.of(work.split, work.data).passes(len(splits)),
    )
    chosen = method.choose(task) if isinstance(method, Tuned) else settle(method, task)
    return MethodChoice(method) if chosen == method else MethodChoice(chosen, chosen)


def make_runs(batch: Batch, progress: Progress | None = None) -> list[StoredRun]:
    """Train a batch; runs without usable weights are left out."""
    choice = batch.choice or method_choice(batch)
    with watch_memory(find_device(batch.device)) as memory:
        run = evaluate(
            choice.method,
            batch.work.data,
            batch.work.split,
            batch.seeds,
            device=batch.device,
            backend=batch.backend,
            progress=progress,
            metric=batch.work.metric,
        )
    return list(_stored_runs(batch, run, choice.chosen, memory.peak))


def _stored_runs(
    batch: Batch, run: Run, chosen: Method | None, memory: int | None
) -> Iterator[StoredRun]:
    """Give the runs of a batch, each with its folds, but those without usable weights.

    A run that lacks a fold is left out too: it would not be comparable.
    """
    work = batch.work
    folds = len(run.seeds) // len(batch.seeds)
    measures = _measure_trials(work, run, folds, memory)
    accuracies = replica_values("accuracy", run.scores, run.data, run.splits, run.passes)
    per_trial = len(accuracies) // len(batch.seeds)  # cross-fitted replicas have one together
    for k, seed in enumerate(batch.seeds):
        trial = slice(k * folds, (k + 1) * folds)
        if run.unusable[trial].any():
            continue
        extra = measures[k]
        if chosen is not None and not chosen.grid:
            extra[SETTLED] = chosen.settings
        elif chosen is not None:
            extra["chosen"] = {name: getattr(chosen, name) for name in chosen.grid}
        elif run.chosen is not None:  # every split made its own choice
            choices = [dict(settings) for settings in run.chosen[trial]]
            extra["chosen"] = choices[0] if folds == 1 else choices
        yield StoredRun(
            spec=work.key.spec,
            data=work.key.data,
            seed=seed,
            experiment=work.experiment,
            method=work.method.name,
            dataset=work.data.name,
            split=work.split,
            accuracy=fmean(accuracies[k * per_trial : (k + 1) * per_trial]),
            selected_epochs=None if run.selected_epochs is None else run.selected_epochs[trial],
            betas=None if run.betas is None else [round_betas(row) for row in run.betas[trial]],
            extra=extra,
            versions=dict(run.versions),
            device=run.device,
            backend=run.backend,
            seconds=run.seconds / len(batch.seeds),
            machine=dict(run.machine),
        )


def round_betas(betas: Sequence[float]) -> list[float]:
    """Return six digits: about what a float32 holds, without the tail that a float64 shows."""
    return [float(f"{beta:.6g}") for beta in betas]


def _measure_trials(work: Work, run: Run, folds: int, memory: int | None) -> list[dict[str, Any]]:
    """Return what the work measures beside accuracy in each trial of `folds` replicas.

    "all_measures": every measure of `agnn.metrics`, the contributions of test nodes to the metric,
    its value on validation nodes, and the memory.
    """
    measure = work.measure
    starts = range(0, len(run.seeds), folds)
    if measure is None:
        return [{} for _ in starts]
    if measure == ALL_MEASURES:
        metric = work.metric or "accuracy"
        return [_all_measures(run, range(k, k + folds), memory, metric) for k in starts]
    if run.diverged.any():
        raise DivergedError(f"training diverged, so '{measure}' cannot be measured.")
    if measure == "edge_ranking":
        return _edge_shares(run)[::folds]
    raise InputError(f"unknown measure '{measure}'; known: {ALL_MEASURES}, edge_ranking.")


def _all_measures(
    run: Run, replicas: Sequence[int], memory: int | None, metric: str
) -> dict[str, Any]:
    splits = [run.splits[r] for r in replicas]
    passes = [run.passes[r] for r in replicas] if run.passes else ()
    tested = list(scored_nodes(run.scores[list(replicas)], splits, passes))
    labels = [run.data.labels[nodes] for nodes, _ in tested]
    scores = [probabilities for _, probabilities in tested]
    contributions = [node_contributions(metric, *fold) for fold in zip(labels, scores, strict=True)]
    values: dict[str, Any] = {
        "measures": {
            name: _json_number(fmean(map(measure, labels, scores)))
            for name, measure in MEASURES.items()
        },
        "memory": memory,
        "contributions": _pack(np.concatenate(contributions)),
    }
    if all(split.validation.size for split in splits):
        # Scores are higher for better; the value of a loss has the other sign.
        sign = -1.0 if MEASURES[metric].is_loss else 1.0
        of_folds = validation_scores(run.scores[list(replicas)], run.data, splits, "", metric)
        values["validation"] = _json_number(sign * fmean(of_folds))
    return values


def _json_number(value: float) -> float | None:
    return None if np.isnan(value) else value


def _pack(values: NDArray[np.float64]) -> str:
    """Return the contributions of evenly spaced nodes, at most 20,000, as text."""
    sampled = values[kept_positions(values.size)].astype("<f4")
    return base64.b64encode(zlib.compress(sampled.tobytes())).decode("ascii")


def kept_positions(count: int) -> NDArray[np.int64]:
    """Return which of `count` test nodes have their contribution kept, as positions in a list."""
    return np.unique(np.linspace(0, count - 1, min(count, _MOST_NODES)).astype(np.int64))


def unpack_contributions(text: str) -> NDArray[np.float64]:
    """Return the contributions that were kept."""
    values = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<f4")
    return values.astype(np.float64)


def _edge_shares(run: Run) -> list[dict[str, Any]]:
    """Return shares of edges within a class among the last layer's most and least relevant."""
    last = Relevance.of(run).rankings(_RANKED_EDGES)[-1]
    if last.top is None or last.bottom is None:
        raise InputError("the last layer attends evenly, so its edges have no order.")
    pairs = zip(last.top.values, last.bottom.values, strict=True)
    return [{"top_within": top, "bottom_within": bottom} for top, bottom in pairs]


@dataclass
class Memory:
    """The memory that some work added to the process at its peak, in bytes; None if unknown."""

    peak: int | None = None


@contextmanager
def watch_memory(device: str) -> Iterator[Memory]:
    """Measure the memory of the block, on a GPU that of the GPU."""
    memory = Memory()
    if device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats(device)
        yield memory
        memory.peak = torch.cuda.max_memory_allocated(device)
        return
    before = None
    with suppress(OSError):  # where the system does not tell
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
        before = _resident_bytes("VmRSS")
    yield memory
    if before is not None:
        memory.peak = max(0, _resident_bytes("VmHWM") - before)


def _resident_bytes(key: str) -> int:
    """Return the bytes that the process has ("VmRSS"), or the most that it had ("VmHWM")."""
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) * 1024
