"""Experiments in the three forms of a report."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from agnn.experiments import Comparison, Drawing, Table, compare
from agnn.files import plain

if TYPE_CHECKING:
    from pathlib import Path

    from agnn.experiments import Experiment, Store
    from agnn.report import DrawingSection, TableSection

TITLE: Final = "The paper, rerun"


@dataclass(frozen=True, eq=False)
class Account:
    """What there is to report of an experiment: its runs in a store, its figures below a folder."""

    experiment: Experiment
    command: str
    store: Store
    folder: Path

    @cached_property
    def content(self) -> Comparison | tuple[Drawing, list[str]]:
        """A table compared with its runs, or a figure with the stems of its files."""
        from agnn.report import drawn_figures

        if isinstance(self.experiment, Table):
            return compare(self.experiment, self.store)
        return self.experiment, drawn_figures(self.folder, self.experiment.name)

    @property
    def markdown(self) -> str:
        """A section of Markdown; images by their place beside the page."""
        from agnn.report import FIGURES, comparison_markdown, drawing_markdown

        if isinstance(self.content, Comparison):
            return comparison_markdown(self.content, self.command)
        drawing, stems = self.content
        return drawing_markdown(drawing, self.command, [f"{FIGURES}/{stem}.png" for stem in stems])

    @property
    def section(self) -> TableSection | DrawingSection:
        """A section of a page of HTML, which holds its images."""
        from agnn.report import FIGURES, DrawingSection, PageFigure, TableSection

        if isinstance(self.content, Comparison):
            return TableSection(self.content, self.command)
        drawing, stems = self.content
        texts = [
            (self.folder / FIGURES / f"{stem}.svg").read_text(encoding="utf-8") for stem in stems
        ]
        captions = [f"{drawing.heading}; {panel.title}" for panel in drawing.panels]
        # Without figures there are fewer texts than panels.
        figures = tuple(map(PageFigure, texts, captions))
        return DrawingSection(drawing, self.command, figures)

    @property
    def values(self) -> dict[str, Any]:
        """Plain values for JSON."""
        from agnn.report import FIGURES, comparison_values

        if isinstance(self.content, Comparison):
            return comparison_values(self.content, self.command)
        drawing, stems = self.content
        files = [
            self.folder / FIGURES / f"{stem}.{end}" for stem in stems for end in ("png", "svg")
        ]
        return {
            "name": drawing.name, "place": drawing.place, "title": drawing.title,
            "command": self.command, "notes": list(drawing.notes), "files": list(map(str, files)),
        }  # fmt: skip


def write_accounts(accounts: list[Account], out: Path) -> None:
    """A report for each experiment in `out`, and one of all where there are several."""
    from agnn.report import comparison_page, markdown_page, write_report

    groups = {each.experiment.name: [each] for each in accounts}
    if len(accounts) > 1:
        groups["all"] = accounts
    for name, group in groups.items():
        markdown = markdown_page(TITLE, "", [each.markdown for each in group])
        html = comparison_page(TITLE, [each.section for each in group])
        values = [plain(each.values) for each in group]
        write_report(out, name, markdown, html, values[0] if len(group) == 1 else values)
