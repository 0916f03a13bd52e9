"""A reproduction as files: a report per experiment, one of all, and the page in the docs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from agnn.experiments import (
    Drawing,
    RelevancePanel,
    chosen_experiments,
    drawing_hash,
    finished_store,
    judge_relevances,
    results_of,
)
from agnn.files import plain
from agnn.report._comparisons import (
    DrawingSection,
    TableSection,
    comparison_markdown,
    comparison_page,
    comparison_values,
    drawing_markdown,
    markdown_page,
)
from agnn.report._files import (
    FIGURES,
    adopt_figures,
    drawn_figures,
    drawn_values,
    write_figures,
    write_report,
    write_whole,
)
from agnn.report._judgements import relation_summary
from agnn.report._paper_figures import panel_figure, panel_relevances
from agnn.report._rendering import PageFigure
from agnn.report._scoreboard import scoreboard_markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from agnn.experiments import Choice, Draw, Experiment, JudgedPanel, Result
    from agnn.runs import Run

TITLE: Final = "The paper, rerun"
_OPENING: Final = """\
Every table and figure of the paper, as this package reruns them: the paper's figure, ours with its
standard error and number of runs in brackets, and the verdict. The command above a table makes it
again; finished runs are not repeated.

This page is generated from the runs in `{source}`:

    {command}
"""


def figure_drawer(out: Path) -> Draw:
    """What `reproduce` draws figures with: files below `out`, made again when outdated."""

    def draw(drawing: Drawing, train: Callable[[str], dict[str, Run]]) -> None:
        mark = drawing_hash(drawing)
        # Figures of version 0.2.0 lie there without what was measured for them.
        is_measured = drawing.kind != "relevance" or drawn_values(out, drawing.name)
        if drawn_figures(out, drawing.name, mark) and is_measured:
            return
        figures, values = {}, {}
        for panel in drawing.panels:
            stem, runs = f"{drawing.name}-{panel.stem}", train(panel.dataset)
            figures[stem] = panel_figure(drawing, panel, runs)
            relevances = panel_relevances(panel, runs)
            if relevances is not None:
                values[stem] = relevances
        write_figures(out, drawing.name, mark, figures, values)

    return draw


def result_values(result: Result, folder: Path) -> dict[str, Any]:
    """A result as JSON has it; the files of a figure are below `folder`."""
    if result.comparison is not None:
        return comparison_values(result.comparison, result.command)
    drawing = result.experiment
    stems = drawn_figures(folder, drawing.name)
    files = [folder / FIGURES / f"{stem}.{end}" for stem in stems for end in ("png", "svg")]
    return {
        "name": drawing.name, "place": drawing.place, "title": drawing.title,
        "command": result.command, "notes": list(drawing.notes), "files": list(map(str, files)),
        "judgements": [relation_summary(panel) for panel in _judged(drawing, folder)],
    }  # fmt: skip


def write_reproduction(results: Sequence[Result], out: Path) -> None:
    """Write a report on each experiment to `out`, and one on all where there are several."""
    groups = {each.experiment.name: [each] for each in results}
    if len(results) > 1:
        groups["all"] = list(results)
    for name, group in groups.items():
        markdown = markdown_page(TITLE, "", [_markdown(each, out) for each in group])
        html = comparison_page(TITLE, [_section(each, out) for each in group])
        values = [plain(result_values(each, out)) for each in group]
        write_report(out, name, markdown, html, values[0] if len(group) == 1 else values)


def write_page(
    page: Path, names: Sequence[str], choice: Choice, store: Path, rows: Path | None, out: Path
) -> None:
    """Write one Markdown page from the exported runs in `rows`, else from the store.

    Figures that were drawn in `out` are copied to a folder beside the page.
    """
    kept = finished_store(store, rows)
    try:
        results = results_of(chosen_experiments(names, choice), choice, kept)
    finally:
        kept.close()
    for each in results:
        if isinstance(each.experiment, Drawing):
            mark = drawing_hash(each.experiment)
            adopt_figures(out, page.parent, each.experiment.name, mark)
    source = (rows or store).as_posix()
    option = "--store" if rows is None else "--rows"
    command = f"agnn reproduce {' '.join(names)} --page {page.as_posix()} {option} {source}"
    opening = _OPENING.format(source=source, command=command)
    judged = {each.experiment.name: _judged(each.experiment, page.parent) for each in results}
    scoreboard = scoreboard_markdown(results, judged)
    sections = [_markdown(each, page.parent) for each in results]
    write_whole(page, markdown_page(TITLE, f"{opening}\n{scoreboard}", sections))


def _markdown(result: Result, folder: Path) -> str:
    """A section of Markdown; images by their place beside the page."""
    if result.comparison is not None:
        return comparison_markdown(result.comparison, result.command)
    drawing = result.experiment
    assert isinstance(drawing, Drawing)  # noqa: S101 (what has no comparison is a figure)
    images = [f"{FIGURES}/{stem}.png" for stem in drawn_figures(folder, drawing.name)]
    return drawing_markdown(drawing, result.command, images, _judged(drawing, folder))


def _judged(experiment: Experiment, folder: Path) -> list[JudgedPanel]:
    """Return the panels of a figure whose relevances were measured when it was drawn."""
    if not isinstance(experiment, Drawing):
        return []
    values = drawn_values(folder, experiment.name)
    return [
        judge_relevances(panel, values[stem])
        for panel in experiment.panels
        if isinstance(panel, RelevancePanel)
        and (stem := f"{experiment.name}-{panel.stem}") in values
    ]


def _section(result: Result, folder: Path) -> TableSection | DrawingSection:
    """A section of a page of HTML, which holds its images."""
    if result.comparison is not None:
        return TableSection(result.comparison, result.command)
    drawing = result.experiment
    assert isinstance(drawing, Drawing)  # noqa: S101 (as above)
    files = [folder / FIGURES / f"{stem}.svg" for stem in drawn_figures(folder, drawing.name)]
    captions = [f"{drawing.heading}; {panel.title}" for panel in drawing.panels]
    # Without figures there are fewer texts than panels.
    texts = [file.read_text(encoding="utf-8") for file in files]
    figures = tuple(map(PageFigure, texts, captions))
    judgements = tuple(relation_summary(panel) for panel in _judged(drawing, folder))
    return DrawingSection(drawing, result.command, figures, judgements)
