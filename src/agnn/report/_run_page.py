"""The report of a run: its figures, and one HTML file that needs no other file and no network."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from agnn import __version__
from agnn.report._environment import environment
from agnn.report._rendering import PageFigure, inlined, svg
from agnn.report._sections import SECTIONS, Captioned
from agnn.report._style import figure_style
from agnn.runs import machine_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agnn.report._facts.run_facts import RunFacts


def run_figures(facts: RunFacts) -> dict[str, Captioned]:
    """Figure and caption by name; a figure that the run has no data for is missing."""
    with figure_style():
        return {
            name: figure
            for section in SECTIONS
            if section.figures is not None
            for name, figure in section.figures(facts)
        }


def rendered(figures: Mapping[str, Captioned]) -> dict[str, PageFigure]:
    """The figures as drawings for a page."""
    with figure_style():
        return {
            name: PageFigure(svg(figure), caption) for name, (figure, caption) in figures.items()
        }


def run_page(
    facts: RunFacts,
    figures: Mapping[str, PageFigure],
    *,
    remark: str = "",
    command: str = "",
    folder: str = "",
) -> str:
    """The page as HTML, with the figures of `run_figures`.

    `remark` is a sentence below the result, `command` what made the run, `folder` where the run
    is, as the commands at the end name it; all if known.
    """
    drawings = {
        name: each._replace(svg=inlined(each.svg, name, each.caption))
        for name, each in figures.items()
    }
    words = {
        name: value
        for section in SECTIONS
        if section.words is not None
        for name, value in section.words(facts).items()
    }
    return environment().get_template("run.html").render(
        facts=facts,
        figures=drawings,
        remark=remark,
        command=command,
        folder=shlex.quote(folder) if folder else "",
        machine=machine_words(facts.config.get("machine", {})),
        sections=SECTIONS,
        version=__version__,
        **words,
    )  # fmt: skip
