"""The report of a run: one HTML file that needs no other file and no network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from agnn import __version__
from agnn.report._environment import environment
from agnn.report._rendering import inlined
from agnn.report.facts.absent import Absent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from agnn.report._rendering import PageFigure
    from agnn.report.facts.run_facts import RunFacts

# Each has a template of its own, run_NAME.html.
SECTIONS: Final = (
    ("data", "The data"),
    ("training", "Training"),
    ("accuracy", "Accuracy by class"),
    ("mistakes", "Confusion matrix"),
    ("confidence", "Calibration"),
    ("attention", "Attention"),
    ("nodes", "Most and least certain nodes"),
    ("neighbourhoods", "Neighbourhoods"),
    ("making", "How the run was made"),
)
_MOST_CLASSES: Final = 40  # in the confusion matrix
_MISTAKES: Final = 5


class Cell(NamedTuple):
    """A cell of the confusion matrix."""

    nodes: int
    share: float  # of its row


class Mistake(NamedTuple):
    """The number of nodes of one class that are predicted to be of another."""

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
        preference=_preference(facts),
        version=__version__,
    )  # fmt: skip


def _confusion(facts: RunFacts) -> list[list[Cell]]:
    """Row by row; empty if there are too many classes."""
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


def _preference(facts: RunFacts) -> str:
    """A sentence: how often the most relevant edges join equals, compared with all edges."""
    if isinstance(facts.attention, Absent):
        return ""
    ranked = [layer.ranking for layer in facts.attention.layers if layer.ranking is not None]
    found = next((each for each in reversed(ranked) if each.top is not None), None)
    if found is None or found.top is None:
        return ""
    ahead, error = found.top.mean - found.everywhere, found.top.standard_error
    top, everywhere = f"{100 * found.top.mean:.1f} %", f"{100 * found.everywhere:.1f} %"
    if error is None:  # one replica: no word about what another would do
        return (
            f"In layer {found.layer}, {top} of the {found.count} most relevant edges join nodes of "
            f"the same class, and {everywhere} of all edges."
        )
    often = "more often than" if ahead > 0 else "less often than"
    if abs(ahead) <= 2 * error:
        often = "about as often as"
    return (
        f"In layer {found.layer}, the {found.count} most relevant edges join nodes of the same "
        f"class {often} edges in general ({top} against {everywhere})."
    )


def _relations(facts: RunFacts) -> list[Relation]:
    """Between different classes in the last layer, the most relevant first."""
    if isinstance(facts.attention, Absent):
        return []
    return relations(facts.attention.layers[-1].relevance, facts.class_names)


class Relation(NamedTuple):
    """A pair of different classes and the relevance from one to the other."""

    sender: str
    receiver: str
    relevance: float


def relations(relevance: NDArray[np.float64], class_names: Sequence[str]) -> list[Relation]:
    """All pairs of different classes that an edge joins, the most relevant first.

    `relevance` is [c, c]: row receives, column sends, NaN where no edge joins the two.
    """
    pairs = [
        Relation(sender, receiver, float(relevance[i, j]))
        for i, receiver in enumerate(class_names)
        for j, sender in enumerate(class_names)
        if i != j and not np.isnan(relevance[i, j])
    ]
    return sorted(pairs, key=lambda pair: -pair.relevance)
