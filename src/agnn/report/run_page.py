"""The report of a run: one HTML file that needs no other file and no network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from agnn import __version__
from agnn.data.report_words import column_lines, count_lines, odd_lines
from agnn.report.facts.absent import Absent
from agnn.report.inline_svg import inlined
from agnn.report.page_environment import environment
from agnn.report.relations import Relation, relations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agnn.report.facts.run_facts import RunFacts
    from agnn.report.page_figure import PageFigure

# Each has a template of its own, run_NAME.html.
SECTIONS: Final = (
    ("data", "The data"),
    ("training", "Training"),
    ("accuracy", "Accuracy by class"),
    ("mistakes", "What is taken for what"),
    ("confidence", "How far to trust a probability"),
    ("attention", "What it attends to"),
    ("nodes", "The most and the least certain nodes"),
    ("neighbourhoods", "Neighbourhoods"),
    ("making", "How it was made"),
)
_MOST_CLASSES: Final = 40  # in the confusion matrix
_MISTAKES: Final = 5


class Cell(NamedTuple):
    """A cell of the confusion matrix."""

    nodes: int
    share: float  # of its row


class Mistake(NamedTuple):
    """How often one class is taken for another."""

    truth: str
    answer: str
    nodes: int


def run_page(
    facts: RunFacts, figures: Mapping[str, PageFigure], *, remark: str = "", command: str = ""
) -> str:
    """The page as HTML, with the figures of `run_figures`.

    `remark` is a sentence below the result, `command` what made the run, where that is known.
    """
    drawings = {
        name: each._replace(svg=inlined(each.svg, name, each.caption))
        for name, each in figures.items()
    }
    return environment().get_template("run.html").render(
        facts=facts,
        figures=drawings,
        remark=remark,
        command=command,
        sections=SECTIONS,
        confusion=_confusion(facts),
        mistakes=_mistakes(facts),
        relations=_relations(facts),
        count_lines=count_lines,
        column_lines=column_lines,
        odd_lines=odd_lines,
        version=__version__,
    )  # fmt: skip


def _confusion(facts: RunFacts) -> list[list[Cell]]:
    """Row by row; nothing where the classes are too many."""
    if len(facts.class_names) > _MOST_CLASSES:
        return []
    counts = facts.test.confusion()
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    return [
        [Cell(*cell) for cell in zip(row.tolist(), part.tolist(), strict=True)]
        for row, part in zip(counts, shares, strict=True)
    ]


def _mistakes(facts: RunFacts) -> list[Mistake]:
    counts = facts.test.confusion()
    np.fill_diagonal(counts, 0)
    order = np.argsort(-counts, axis=None, kind="stable")[:_MISTAKES]
    names = facts.class_names
    pairs = [np.unravel_index(place, counts.shape) for place in order.tolist()]
    return [Mistake(names[i], names[j], int(counts[i, j])) for i, j in pairs if counts[i, j]]


def _relations(facts: RunFacts) -> list[Relation]:
    """Between different classes in the last layer, the most relevant first."""
    if isinstance(facts.attention, Absent):
        return []
    return relations(facts.attention.layers[-1].relevance, facts.class_names)
