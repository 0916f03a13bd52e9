"""Experiments rerun: from their names to finished runs and a comparison of every table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from agnn.errors import AgnnError, InputError
from agnn.experiments._choice import Choice, chosen_experiments, command_of
from agnn.experiments._comparison import Comparison, compare
from agnn.experiments._drawings import drawing_runs
from agnn.experiments._executor import execute
from agnn.experiments._pace import Progress, Tell
from agnn.experiments._plan import Work, together, works_of
from agnn.experiments._rows import import_rows
from agnn.experiments._spec import Drawing, Experiment, Table
from agnn.experiments._store import Store
from agnn.runs import Run

Draw = Callable[[Drawing, Callable[[str], dict[str, Run]]], None]
"""Draws a figure; its second argument trains the models on a dataset, by method."""


@dataclass(frozen=True, eq=False)
class Result:
    """One experiment: a table compared cell by cell, or a figure, which has no comparison."""

    experiment: Experiment
    command: str  # that makes it again
    comparison: Comparison | None


@dataclass(frozen=True, eq=False)
class Reproduction:
    """The results of a call of `reproduce`."""

    results: tuple[Result, ...]
    new: int = 0  # runs that were made
    unfinished: int = 0  # runs that another process is still working on
    failures: tuple[str, ...] = ()  # what went wrong, one line each

    def __getitem__(self, name: str) -> Comparison:
        """The comparison of a table."""
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
            `agnn.distributed.open_executor`. The rows do not depend on it.
        threads: of each local process of an executor; None divides the cores among them.

    Finished runs are stored at once, and those in the store are not repeated: after an
    interruption the same call goes on where it stopped.

    >>> found = reproduce("table2", methods=["gcn"], datasets=["cora"], seeds=1)
    >>> cell = found["table2"].rows[0].cells[0]
    >>> cell.paper.printed, cell.ours.n
    ('81.5', 1)
    """
    choice = Choice.of(methods, datasets, seeds, data)
    experiments = chosen_experiments([names] if isinstance(names, str) else names, choice)
    tell = progress or (lambda _: None)
    with Store.of(store) as kept:
        done = execute(
            works_behind(experiments), kept, device=device, backend=backend, tell=tell,
            executor=executor, threads=threads,
        )  # fmt: skip
        failures = list(done.failures.values())
        for each in experiments:
            if isinstance(each, Drawing) and draw is not None:
                try:
                    draw(each, _trainer(each, device, backend, tell))
                except AgnnError as error:
                    failures.append(f"{each.name}: {error}")
        results = results_of(experiments, choice, kept)
    return Reproduction(results, done.new, done.elsewhere, tuple(failures))


def works_behind(experiments: Iterable[Experiment]) -> list[Work]:
    """The runs behind the tables among these experiments, each once."""
    tables = (each for each in experiments if isinstance(each, Table))
    return together(work for table in tables for work in works_of(table))


def results_of(
    experiments: Iterable[Experiment], choice: Choice, store: Store
) -> tuple[Result, ...]:
    """What there is in `store` of these experiments; nothing is run."""
    return tuple(
        Result(
            each,
            command_of(each, choice),
            compare(each, store) if isinstance(each, Table) else None,
        )
        for each in experiments
    )


def finished_store(store: Path, rows: Path | None) -> Store:
    """The store in this file, or in memory one with the exported runs in the folder `rows`."""
    if rows is not None:
        kept = Store.in_memory()
        import_rows(kept, rows)
        return kept
    if not store.is_file():
        raise InputError(f"there is no store '{store}'; give --store, or --rows with a folder.")
    return Store.open(store)


def _trainer(
    drawing: Drawing, device: str, backend: str, tell: Tell
) -> Callable[[str], dict[str, Run]]:
    """What trains the models behind a figure on a dataset, once."""
    trained: dict[str, dict[str, Run]] = {}

    def train(dataset: str) -> dict[str, Run]:
        if dataset not in trained:
            label, count = f"{drawing.name}: training on {dataset}", drawing.seeds

            def epoch(done: int, total: int) -> None:
                tell(Progress(label, 0, count * done / total, count, None))

            trained[dataset] = drawing_runs(
                drawing, dataset, device=device, backend=backend, progress=epoch
            )
            tell(Progress(label, count, 0.0, count, None))
        return trained[dataset]

    return train
