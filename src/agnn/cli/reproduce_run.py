"""Experiments from names to finished runs, figures and reports."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from agnn.cli.console import screen
from agnn.cli.progress import training_progress
from agnn.cli.reproduce_names import chosen_experiments, command_of
from agnn.cli.reproduce_progress import experiment_progress
from agnn.cli.reproduce_report import Account
from agnn.cli.reproduce_table import comparison_table
from agnn.errors import AgnnError
from agnn.experiments import (
    Choice,
    Drawing,
    Store,
    Table,
    compare,
    drawing_hash,
    drawing_runs,
    execute,
    works_of,
)
from agnn.experiments.plan import together

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from agnn.experiments import Panel, Work
    from agnn.runs import Run


class Reproduction:
    """What one call of `agnn reproduce` does."""

    def __init__(self, names: list[str], choice: Choice, device: str, backend: str) -> None:
        self.device, self.backend = device, backend
        self.experiments = chosen_experiments(names, choice)
        # A file of one's own goes by its stem in the reports and by its path in the command.
        paths = {name.rsplit("/", 1)[-1].removesuffix(".toml"): name for name in names}
        self.commands = {
            each.name: command_of(paths.get(each.name, each.name), choice)
            for each in self.experiments
        }

    def run(self, store: Store, out: Path, *, is_quiet: bool) -> tuple[list[str], int]:
        """Run and draw what is missing; what went wrong, and how many runs another process has."""
        with experiment_progress(is_quiet=is_quiet) as tell:
            done = execute(self.works, store, device=self.device, backend=self.backend, tell=tell)
        failures = list(done.failures)
        for drawing in self.experiments:
            if isinstance(drawing, Drawing):
                try:
                    self._draw(drawing, out, is_quiet=is_quiet)
                except AgnnError as error:
                    failures.append(f"{drawing.name}: {error}")
        return failures, done.elsewhere

    @cached_property
    def works(self) -> list[Work]:
        """The runs behind the tables."""
        tables = (each for each in self.experiments if isinstance(each, Table))
        return together(work for table in tables for work in works_of(table))

    def finished(self, store: Store) -> tuple[int, int]:
        """How many runs are finished, and how many there are in all."""
        total = sum(len(work.seeds) for work in self.works)
        return total - sum(len(store.missing(w.key, w.seeds)) for w in self.works), total

    def _draw(self, drawing: Drawing, out: Path, *, is_quiet: bool) -> None:
        from agnn.report import drawn_figures, panel_figure, write_figures

        mark = drawing_hash(drawing)
        if drawn_figures(out, drawing.name, mark):
            return
        runs: dict[str, dict[str, Run]] = {}
        figures: dict[str, Figure] = {}
        for panel in drawing.panels:
            if panel.dataset not in runs:
                label = f"{drawing.name}: training on {panel.dataset}"
                with training_progress(label, is_quiet=is_quiet) as progress:
                    runs[panel.dataset] = drawing_runs(
                        drawing, panel.dataset, device=self.device, backend=self.backend,
                        progress=progress,
                    )  # fmt: skip
            figures[_stem(drawing, panel)] = panel_figure(drawing, panel, runs[panel.dataset])
        write_figures(out, drawing.name, mark, figures)

    def accounts(self, store: Store, out: Path) -> list[Account]:
        """What there is to report of each experiment."""
        return [Account(each, self.commands[each.name], store, out) for each in self.experiments]

    def show(self, store: Store, out: Path) -> None:
        """The tables on standard output, and where the files are."""
        console = screen()
        if not console.is_terminal:
            console.width = 120  # rich takes a file to be 80 wide and folds the cells
        for each in self.experiments:
            console.print(f"\n{each.heading}", style="bold")
            if isinstance(each, Table):
                console.print(comparison_table(compare(each, store)))
            console.print(f"{out / each.name}.html, .md and .json", style="dim", soft_wrap=True)


def _stem(drawing: Drawing, panel: Panel) -> str:
    layer = "" if panel.layer is None else f"-layer{panel.layer}"
    return f"{drawing.name}-{panel.dataset}{layer}"
