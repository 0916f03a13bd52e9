"""A reproduction as files: a report per experiment, one of all, and the page in the docs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

from agnn.files import plain
from agnn.report._comparisons import (
    DrawingSection,
    TableSection,
    comparison_markdown,
    comparison_page,
    comparison_values,
    drawing_markdown,
    markdown_page,
    verdict_counts,
)
from agnn.report._judgements import CLAIM_RULE, claim_summary, nested_fate, relation_summary
from agnn.report._paper_figures import panel_figure, panel_relevances
from agnn.report._rendering import (
    FIGURES,
    PageFigure,
    adopt_figures,
    drawn_figures,
    drawn_values,
    write_figures,
    write_report,
    write_whole,
)
from agnn.runs import Run
from agnn.studies import (
    ComparedCell,
    Counts,
    Drawing,
    Experiment,
    JudgedPanel,
    PublishedFigure,
    RelevancePanel,
    Result,
    Store,
    Verdict,
    drawing_hash,
    results_of,
)
from agnn.tables import Column, ResultTable, Row, enumeration

_COMPARED: Final = tuple(
    verdict for verdict in get_args(Verdict) if verdict not in ("not in the paper", "missing")
)
# The cells that no model was trained for, or not for a figure of the paper, and why they are apart.
_APART: Final[Mapping[str, str]] = {
    "data": "cells are facts of the data, which nothing is trained for",
    "presets": "cells are hyper-parameters: presets that were copied from the paper, not measured",
    "copies": "cells show the same runs again in a later table",
    "others": "cells have figures of other papers, about methods of their own",
}
TITLE: Final = "The paper, rerun"
_OPENING: Final = """\
Every table and figure of the paper, as this package reruns them: the paper's figure, ours with its
standard error and number of runs in brackets, and the verdict. The command above a table makes it
again; finished runs are not repeated.

This page is generated from the runs in `{source}`:

    {command}
"""


@dataclass(frozen=True)
class ReproductionFolder:
    """A folder of reproduced experiments: reports, and figures in a folder of their own."""

    path: Path

    def draw(self, drawing: Drawing, train: Callable[[str], dict[str, Run]]) -> None:
        """Draw a figure of the paper from its trained models, unless it is there and up to date."""
        mark = drawing_hash(drawing)
        # Figures of version 0.2.0 lie there without what was measured for them.
        is_measured = drawing.kind != "relevance" or drawn_values(self.path, drawing.name)
        if drawn_figures(self.path, drawing.name, mark) and is_measured:
            return
        figures = {}
        values = {}
        for panel in drawing.panels:
            stem = f"{drawing.name}-{panel.stem}"
            runs = train(panel.dataset)
            figures[stem] = panel_figure(drawing, panel, runs)
            relevances = panel_relevances(panel, runs)
            if relevances is not None:
                values[stem] = relevances
        write_figures(self.path, drawing.name, mark, figures, values)

    def values(self, result: Result) -> dict[str, Any]:
        """Return a result as JSON has it."""
        if result.comparison is not None:
            return comparison_values(result.comparison, result.command)
        drawing = result.experiment
        stems = drawn_figures(self.path, drawing.name)
        files = [self.path / FIGURES / f"{stem}.{end}" for stem in stems for end in ("png", "svg")]
        return {
            "name": drawing.name,
            "place": drawing.place,
            "title": drawing.title,
            "command": result.command,
            "notes": list(drawing.notes),
            "files": list(map(str, files)),
            "judgements": [relation_summary(panel) for panel in _judge_panels(drawing, self.path)],
        }

    def write(self, results: Sequence[Result]) -> None:
        """Write a report on each experiment, and one on all where there are several."""
        groups = {result.experiment.name: [result] for result in results}
        if len(results) > 1:
            groups["all"] = list(results)
        for name, group in groups.items():
            markdown = markdown_page(TITLE, "", [_markdown(result, self.path) for result in group])
            html = comparison_page(TITLE, [_section(result, self.path) for result in group])
            values = [plain(self.values(result)) for result in group]
            write_report(self.path, name, markdown, html, values[0] if len(group) == 1 else values)

    def write_page(
        self,
        page: Path,
        names: Sequence[str],
        experiments: Sequence[Experiment],
        store: Path,
        rows: Path | None,
    ) -> None:
        """Write one Markdown page from the exported runs in `rows`, else from the store.

        Figures that were drawn here are copied to a folder beside the page.
        """
        with closing(
            Store.open_existing(store) if rows is None else Store.from_rows(rows)
        ) as opened:
            results = results_of(experiments, opened)
        for result in results:
            if isinstance(result.experiment, Drawing):
                mark = drawing_hash(result.experiment)
                adopt_figures(self.path, page.parent, result.experiment.name, mark)
        source = (rows or store).as_posix()
        option = "--store" if rows is None else "--rows"
        command = f"agnn reproduce {' '.join(names)} --page {page.as_posix()} {option} {source}"
        opening = _OPENING.format(source=source, command=command)
        judged = {r.experiment.name: _judge_panels(r.experiment, page.parent) for r in results}
        scoreboard = scoreboard_markdown(results, judged)
        sections = [_markdown(result, page.parent) for result in results]
        write_whole(page, markdown_page(TITLE, f"{opening}\n{scoreboard}", sections))


def _markdown(result: Result, folder: Path) -> str:
    """Return a section of Markdown; images by their place beside the page."""
    if result.comparison is not None:
        return comparison_markdown(result.comparison, result.command)
    drawing = result.experiment
    assert isinstance(drawing, Drawing)  # noqa: S101 (what has no comparison is a figure)
    images = [f"{FIGURES}/{stem}.png" for stem in drawn_figures(folder, drawing.name)]
    return drawing_markdown(drawing, result.command, images, _judge_panels(drawing, folder))


def _judge_panels(experiment: Experiment, folder: Path) -> list[JudgedPanel]:
    """Return the panels of a figure whose relevances were measured when it was drawn."""
    if not isinstance(experiment, Drawing):
        return []
    values = drawn_values(folder, experiment.name)
    return [
        JudgedPanel.of(panel, values[stem])
        for panel in experiment.panels
        if isinstance(panel, RelevancePanel)
        and (stem := f"{experiment.name}-{panel.stem}") in values
    ]


def _section(result: Result, folder: Path) -> TableSection | DrawingSection:
    """Return a section of a page of HTML, which holds its images."""
    if result.comparison is not None:
        return TableSection(result.comparison, result.command)
    drawing = result.experiment
    assert isinstance(drawing, Drawing)  # noqa: S101 (as above)
    files = [folder / FIGURES / f"{stem}.svg" for stem in drawn_figures(folder, drawing.name)]
    captions = [f"{drawing.heading}; {panel.title}" for panel in drawing.panels]
    # Without figures there are fewer texts than panels.
    texts = [file.read_text(encoding="utf-8") for file in files]
    figures = tuple(map(PageFigure, texts, captions))
    judgements = tuple(relation_summary(panel) for panel in _judge_panels(drawing, folder))
    return DrawingSection(drawing, result.command, figures, judgements)


def scoreboard_markdown(
    results: Sequence[Result], judged: Mapping[str, Sequence[JudgedPanel]]
) -> str:
    """Return the summary of a page; `judged` are the panels of figures by experiment."""
    comparisons = [result.comparison for result in results if result.comparison is not None]
    counts = Counts.of(comparisons)
    lines = ["## Scoreboard", ""]
    if counts.headline:
        lines += [_headline(counts.headline), ""]
    if counts.figures:
        lines += [*_figure_lines(counts), ""]
    apart = [
        f"- {len(counts.cells[kind])} {why}: {verdict_counts(counts.cells[kind])}."
        for kind, why in _APART.items()
        if counts.cells[kind]
    ]
    if apart:
        lines += ["Compared as well, and counted apart:", "", *apart, ""]
    lines += _claim_section(results, judged)
    headings = [result.experiment.heading for result in results]
    lines += ["Contents:", "", *(f"- [{heading}](#{anchor(heading)})" for heading in headings)]
    return "\n".join(lines) + "\n"


def _headline(figures: Sequence[PublishedFigure]) -> str:
    cells = [figure.as_published.cell for figure in figures]
    methods = dict.fromkeys(figure.as_published.row.title for figure in reversed(figures))
    count = Counter(cell.verdict for cell in cells)
    return (
        f"**{enumeration(list(methods))} on fixed splits: {_reproduced_count(cells)} of "
        f"{len(cells)} figures are reproduced**, {count['within 2 se']} within two standard errors "
        f"and {count['within tolerance']} by the tolerance alone."
    )


def _figure_lines(counts: Counts) -> list[str]:
    """Return the table of published figures, one line per table of the paper, and its reading."""
    titles = ("", "figures", *_COMPARED, "reproduced", "by the nearest variant")
    tables = dict.fromkeys(figure.table.heading for figure in counts.figures)
    rows = []
    for heading in tables:
        figures = [figure for figure in counts.figures if figure.table.heading == heading]
        rows.append(_count_row(f"[{heading}](#{anchor(heading)})", figures))
    if len(tables) > 1:
        rows.append(_count_row("**all**", counts.figures))
    nearest = [figure for figure in counts.figures if figure.nearest != figure.as_published]
    cells = counts.cells["trained"]
    return [
        "Every figure of the paper that models were trained for, once, with its settings as "
        "published:",
        "",
        ResultTable(tuple(map(Column, titles)), tuple(rows)).markdown(),
        "",
        f"{len(nearest)} figures have a variant that comes nearer to them than the published "
        f"settings: settings tuned on validation nodes, more splits, or splits of another kind. "
        f"The last column takes the nearest one. That is a choice made by looking at the published "
        f"figure, so it is an upper limit. With every variant as a cell of its own, "
        f"{_reproduced_count(cells)} of {len(cells)} trained cells are reproduced "
        f"({verdict_counts(cells)}). Rows that are nearer than the published ones are marked "
        f"below.",
    ]


def _count_row(title: str, figures: Sequence[PublishedFigure]) -> Row:
    cells = [figure.as_published.cell for figure in figures]
    count = Counter(cell.verdict for cell in cells)
    return Row(
        (
            title,
            len(cells),
            *(count[verdict] or None for verdict in _COMPARED),
            _reproduced_count(cells),
            _reproduced_count([figure.nearest.cell for figure in figures]),
        )
    )


def _claim_section(
    results: Sequence[Result], judged: Mapping[str, Sequence[JudgedPanel]]
) -> list[str]:
    lines: list[str] = []
    fates: list[str] = []
    for result in results:
        title = result.experiment.place or result.experiment.title
        link = f"([{title}](#{anchor(result.experiment.heading)}))"
        for claim in result.comparison.claims if result.comparison is not None else ():
            assert result.comparison is not None  # noqa: S101 (as in the line above)
            lines.append(f"- {claim_summary(claim)} {link}")
            if fate := nested_fate(claim, result.comparison):
                fates += [f"**{claim.claim.text}?** {fate}", ""]
        lines += [
            f"- {relation_summary(panel)} {link}"
            for panel in judged.get(result.experiment.name, ())
        ]
    if not lines:
        return []
    return ["## The paper's claims", "", CLAIM_RULE, "", *lines, "", *fates]


def _reproduced_count(cells: Iterable[ComparedCell]) -> int:
    return sum(cell.is_reproduced for cell in cells)


def anchor(heading: str) -> str:
    """Return the name that Markdown gives a heading."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())
