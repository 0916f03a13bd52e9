"""Experiments from names to reports: what is chosen, run, drawn, written and shown."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from agnn.cli.console import plain, screen
from agnn.cli.progress import training_progress
from agnn.cli.reproduce_progress import experiment_progress
from agnn.cli.reproduce_table import comparison_table
from agnn.errors import AgnnError, InputError
from agnn.experiments import (
    Choice,
    Drawing,
    Experiment,
    Store,
    Table,
    check_choice,
    compare,
    drawing_hash,
    drawing_runs,
    execute,
    find_experiments,
    narrowed,
    narrowed_drawing,
    works_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from agnn.evaluation import Run


TITLE = "The paper, rerun"


def chosen_experiments(names: list[str], choice: Choice) -> list[Experiment]:
    """The experiments of these names with what is chosen of them; those left empty are gone."""
    found = find_experiments(names)
    check_choice(choice, [each for each in found if isinstance(each, Table)])
    kept: list[Experiment] = []
    for each in found:
        if isinstance(each, Table):
            table = narrowed(each, choice)
            kept += [table] if table.rows and table.columns else []
        else:
            drawing = narrowed_drawing(each, choice)
            kept += [drawing] if drawing.panels else []
    if names and not kept:
        raise InputError("nothing is left of what was named after --methods and --datasets.")
    return kept


def command_of(name: str, choice: Choice) -> str:
    """The command that makes an experiment again."""
    words = ["agnn", "reproduce", shlex.quote(name)]
    for option, chosen in (("--methods", choice.methods), ("--datasets", choice.datasets)):
        words += [] if chosen is None else [option, shlex.quote(",".join(sorted(chosen)))]
    words += [] if choice.seeds is None else ["--seeds", str(choice.seeds)]
    return " ".join(words)


class Reproduction:
    """What one call of `agnn reproduce` does."""

    def __init__(self, names: list[str], choice: Choice, device: str, backend: str) -> None:
        self.choice, self.device, self.backend = choice, device, backend
        self.experiments = chosen_experiments(names, choice)
        files = {name for name in names if name.endswith(".toml")}
        self.files = {each.rsplit("/", 1)[-1].removesuffix(".toml"): each for each in files}

    def command(self, experiment: Experiment) -> str:
        """The command that makes the experiment again."""
        return command_of(self.files.get(experiment.name, experiment.name), self.choice)

    def run(self, store: Store, out: Path, *, is_quiet: bool) -> list[str]:
        """Run, draw and write all that is missing; what went wrong, in a line each."""
        tables = [each for each in self.experiments if isinstance(each, Table)]
        works = [work for table in tables for work in works_of(table)]
        with experiment_progress(is_quiet=is_quiet) as tell:
            done = execute(works, store, device=self.device, backend=self.backend, tell=tell)
        failures = list(done.failures)
        if done.elsewhere and not is_quiet:
            words = f"{done.elsewhere} runs are being made by another process and are not shown yet"
            screen(is_error=True).print(words, soft_wrap=True)
        for drawing in self.experiments:
            if isinstance(drawing, Drawing):
                try:
                    self._draw(drawing, out, is_quiet=is_quiet)
                except AgnnError as error:
                    failures.append(f"{drawing.name}: {error}")
        self._write(store, out)
        return failures

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
            layer = "" if panel.layer is None else f"-layer{panel.layer}"
            figures[f"{drawing.name}-{panel.dataset}{layer}"] = panel_figure(
                drawing, panel, runs[panel.dataset]
            )
        write_figures(out, drawing.name, mark, figures)

    def _write(self, store: Store, out: Path) -> None:
        from agnn.report import comparison_page, markdown_page, write_report

        names = [each.name for each in self.experiments]
        groups = {name: [name] for name in names} | ({"all": names} if len(names) > 1 else {})
        for name, group in groups.items():
            chosen = [each for each in self.experiments if each.name in group]
            markdown = markdown_page(TITLE, "", [self._markdown(e, store, out) for e in chosen])
            html = comparison_page(TITLE, [self._section(e, store, out) for e in chosen])
            values = [plain(self._values(each, store, out)) for each in chosen]
            write_report(out, name, markdown, html, values[0] if len(group) == 1 else values)

    def _markdown(self, experiment: Experiment, store: Store, out: Path) -> str:
        from agnn.report import FIGURES, comparison_markdown, drawing_markdown, drawn_figures

        if isinstance(experiment, Table):
            return comparison_markdown(compare(experiment, store), self.command(experiment))
        stems = drawn_figures(out, experiment.name)
        images = [f"{FIGURES}/{stem}.png" for stem in stems]
        return drawing_markdown(experiment, self.command(experiment), images)

    def _section(self, experiment: Experiment, store: Store, out: Path) -> Any:
        from agnn.report import (
            FIGURES,
            DrawingSection,
            PageFigure,
            TableSection,
            drawn_figures,
        )

        if isinstance(experiment, Table):
            return TableSection(compare(experiment, store), self.command(experiment))
        figures = tuple(
            PageFigure(
                (out / FIGURES / f"{stem}.svg").read_text(encoding="utf-8"),
                f"{experiment.place}: {panel.title}",
            )
            for stem, panel in zip(
                drawn_figures(out, experiment.name), experiment.panels, strict=False
            )
        )
        return DrawingSection(experiment, self.command(experiment), figures)

    def _values(self, experiment: Experiment, store: Store, out: Path) -> dict[str, Any]:
        from agnn.report import FIGURES, comparison_values, drawn_figures

        if isinstance(experiment, Table):
            return comparison_values(compare(experiment, store), self.command(experiment))
        stems = drawn_figures(out, experiment.name)
        files = [str(out / FIGURES / f"{stem}.{end}") for stem in stems for end in ("png", "svg")]
        return {
            "name": experiment.name, "place": experiment.place, "title": experiment.title,
            "command": self.command(experiment), "notes": list(experiment.notes), "files": files,
        }  # fmt: skip

    def values(self, store: Store, out: Path) -> list[dict[str, Any]]:
        """All experiments as plain values."""
        return [self._values(each, store, out) for each in self.experiments]

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
