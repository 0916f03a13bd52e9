"""Experiments rerun: from their names to finished runs and a comparison of every table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agnn.data import load_dataset
from agnn.errors import AgnnError
from agnn.runs import Run, evaluate, preset_method
from agnn.studies._executor import execute
from agnn.studies._selection import select_experiments
from agnn.studies._spec import KINDS, Drawing, Experiment, Table
from agnn.studies._store import Store
from agnn.studies._verdict import Comparison, compare_table
from agnn.studies._works import Progress, RunSpec, Tell, works_of

_SPLIT: Final = "fixed"  # that the models behind a figure are trained on

Draw = Callable[[Drawing, Callable[[str], dict[str, Run]]], None]
"""Draws a figure; its second argument trains the models on a dataset, by method."""


@dataclass(frozen=True, eq=False)
class Result:
    """One experiment: a table compared cell by cell, or a figure, which has no comparison."""

    experiment: Experiment
    comparison: Comparison | None = None

    @property
    def command(self) -> str:
        """The command that makes it again."""
        return self.experiment.command


@dataclass(frozen=True, eq=False)
class Reproduction:
    """The results of a call of `reproduce`."""

    results: tuple[Result, ...]
    new: int = 0  # runs that were made
    unfinished: int = 0  # runs that another process is still working on
    failures: tuple[str, ...] = ()  # what went wrong, one line each

    def __getitem__(self, name: str) -> Comparison:
        """Return the comparison of a table."""
        for result in self.results:
            if result.experiment.name == name and result.comparison is not None:
                return result.comparison
        raise KeyError(name)


def reproduce(
    names: str | Sequence[str | Experiment],
    *,
    methods: Iterable[str] | None = None,
    datasets: Iterable[str] | None = None,
    seeds: int | None = None,
    data: Path | str | None = None,
    store: Store | Path | str | None = None,
    device: str = "auto",
    backend: str = "auto",
    progress: Tell | None = None,
    draw: Draw | None = None,
    executor: str | Executor | None = None,
    threads: int | None = None,
) -> Reproduction:
    """Rerun tables and figures, and compare every cell with the published figure.

    Args:
        names: experiments of the package ("table2", "all", ...), paths of TOML files, or
            experiments.
        methods: only the rows of these methods; None for all.
        datasets: only the columns of these datasets; None for all.
        seeds: runs per cell; None for as many as the paper has.
        data: folder of graphs for the experiment "graphs".
        store: where finished runs are kept and found again, a store or its file; None for memory.
        device: "auto", "cpu" or "cuda".
        backend: "auto" or a backend of the kernels.
        progress: called with the progress so far.
        draw: draws a figure from its trained models; None leaves the figures out.
        executor: what makes the runs: None for this process, "local:4" for processes,
            "dask:ADDRESS" for the workers of a Dask scheduler, or an executor; see
            `agnn.executors.open_executor`. The rows do not depend on it.
        threads: of each local process of an executor; None divides the cores among them.

    Finished runs are stored at once, and those in the store are not repeated: after an
    interruption the same call goes on where it stopped.

    >>> reproduction = reproduce("table2", methods=["gcn"], datasets=["cora"], seeds=1)
    >>> cell = reproduction["table2"].rows[0].cells[0]
    >>> cell.paper.printed, cell.ours.n
    ('81.5', 1)
    """
    experiments = select_experiments(
        names, methods=methods, datasets=datasets, seeds=seeds, data=data
    )
    works = works_of(*_tables(experiments))
    tell = progress or (lambda _: None)
    with Store.of(store) as opened:
        done = execute(
            works,
            opened,
            device=device,
            backend=backend,
            tell=tell,
            executor=executor,
            threads=threads,
        )
        failures = [
            f"{work.label}: {done.failures[work.key]}"
            for work in works
            if work.key in done.failures
        ]
        for experiment in experiments:
            if isinstance(experiment, Drawing) and draw is not None:
                try:
                    draw(experiment, _trainer(experiment, device, backend, tell))
                except AgnnError as error:
                    failures.append(f"{experiment.name}: {error}")
        results = results_of(experiments, opened)
    return Reproduction(results, done.new, done.elsewhere, tuple(failures))


def _tables(experiments: Iterable[Experiment]) -> list[Table]:
    return [experiment for experiment in experiments if isinstance(experiment, Table)]


def count_runs(experiments: Iterable[Experiment], store: Store) -> tuple[int, int]:
    """Return how many runs behind experiments are finished, and how many there are in all."""
    works = works_of(*_tables(experiments))
    total = sum(len(work.seeds) for work in works)
    return total - sum(len(store.missing(work.key, work.seeds)) for work in works), total


def results_of(experiments: Iterable[Experiment], store: Store) -> tuple[Result, ...]:
    """Return what `store` has of these experiments; nothing is run."""
    return tuple(
        Result(
            experiment, compare_table(experiment, store) if isinstance(experiment, Table) else None
        )
        for experiment in experiments
    )


def _trainer(
    drawing: Drawing, device: str, backend: str, tell: Tell
) -> Callable[[str], dict[str, Run]]:
    """Return what trains the models behind a figure on a dataset, once."""
    trained: dict[str, dict[str, Run]] = {}
    count = drawing.seeds

    def train(dataset: str) -> dict[str, Run]:
        if dataset in trained:
            return trained[dataset]
        label = f"{drawing.name}: training on {dataset}"

        def tell_epoch(done: int, total: int) -> None:
            tell(Progress(label, 0, count * done / total, count, None))

        trained[dataset] = {
            name: evaluate(
                preset_method(name, _SPLIT, dataset),
                load_dataset(dataset),
                _SPLIT,
                range(count),
                device=device,
                backend=backend,
                progress=tell_epoch,
            )
            for name in KINDS[drawing.kind].methods
        }
        tell(Progress(label, count, 0.0, count, None))
        return trained[dataset]

    return train


def drawing_hash(drawing: Drawing) -> str:
    """Return a hash of what a figure depends on: its kind, panels and seeds, methods and data."""
    parts: list[object] = [drawing.kind, drawing.seeds]
    for panel in drawing.panels:
        parts += [panel.dataset, panel.title]
        parts += [getattr(panel, name, None) for name in ("layer", "count")]
        skip = getattr(panel, "skip", 0)
        if skip:
            parts.append(skip)
        parts.append(load_dataset(panel.dataset).fingerprint)
        parts += [
            RunSpec.of(preset_method(name, _SPLIT, panel.dataset), _SPLIT, None).text
            for name in KINDS[drawing.kind].methods
        ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
