"""The sections of a run's report, each declared once.

To add a section, write its template `run_KEY.html` and an entry in SECTIONS. The entry says what
the section computes from the run, draws, gives to its template and adds to the JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from agnn.metrics import MEASURES
from agnn.report._charts import (
    accuracy_curve,
    beta_curves,
    class_accuracy_figure,
    loss_curve,
    relevance_heat_map,
    reliability_diagram,
    replica_figure,
)
from agnn.report._facts.absent import Absent
from agnn.report._neighbourhoods import LENSES, Panel, legend_figure, lone_neighbourhood
from agnn.report._text import NOTHING, shown_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from agnn.report._facts.run_facts import RunFacts
    from agnn.report._facts.surroundings import Surroundings
    from agnn.report._facts.training import Training
    from agnn.runs import Run

Captioned = tuple["Figure", str]
_MOST_CLASSES: Final = 25  # in a heat map; more cannot be read
_MOST_CELLS: Final = 40  # classes in the confusion matrix
_MISTAKES: Final = 5
_LONGEST: Final = 600  # letters of a sentence
_LEGEND_WIDTH: Final = 7.2  # inches
_MOST_LINES: Final = 60  # of classes below each other


@dataclass(frozen=True)
class Section:
    """A section of the page: its heading, and what it takes from a run."""

    key: str  # of its template, run_KEY.html, and its anchor
    title: str
    computed: Callable[[Run], Any] | None = None  # what of it is in no other section
    figures: Callable[[RunFacts], Iterator[tuple[str, Captioned]]] | None = None
    words: Callable[[RunFacts], Mapping[str, Any]] | None = None  # for the template
    values: Callable[[RunFacts], Mapping[str, Any]] | None = None  # for the JSON


def _title(training: Training) -> str:
    title = MEASURES[training.metric].title
    return title[0].upper() + title[1:]


def _training(facts: RunFacts) -> Iterator[tuple[str, Captioned]]:
    training = facts.training
    if isinstance(training, Absent):
        return
    if training.accuracy is not None:
        curve = accuracy_curve(training, training.accuracy)
        yield (
            "accuracy_curve",
            (curve, f"{_title(training)} on the {training.part} nodes; dots are the epochs kept."),
        )
    yield "loss_curve", (loss_curve(training), "The training loss, with dropout.")
    if training.betas:
        yield "beta_curves", (beta_curves(training), "β of each attention layer.")


def _accuracy(facts: RunFacts) -> Iterator[tuple[str, Captioned]]:
    if facts.interval is not None and len(facts.by_class) <= _MOST_LINES:
        figure = class_accuracy_figure(facts.by_class)
        yield "class_accuracy", (figure, "Accuracy by class; the same numbers are in the table.")
    if facts.accuracy.n > 1:
        rows = facts.config.get("betas")
        figure = replica_figure(facts.accuracy, np.array(rows) if rows else None)
        words = "Each dot is a replica: the same model from another random start."
        if facts.folds > 1:
            words = "Each dot is a trial of all folds on the left, a replica on the right."
        yield "replicas", (figure, f"{words} The bar is the mean.")


def _reliability(facts: RunFacts) -> Iterator[tuple[str, Captioned]]:
    if facts.interval is not None:
        yield (
            "reliability",
            (
                reliability_diagram(facts.calibration),
                "Bars: the share of correct predictions at each confidence; the fuller the colour, "
                "the more predictions. Marks: their mean confidence. On the line the two agree.",
            ),
        )


def _relevance(facts: RunFacts) -> Iterator[tuple[str, Captioned]]:
    if isinstance(facts.attention, Absent) or len(facts.class_names) > _MOST_CLASSES:
        return
    names = [shown_text(name, 48) for name in facts.class_names]
    shown = [layer for layer in facts.attention.layers if not layer.is_even]
    tables = np.array([layer.relevance for layer in shown])
    # One scale for all layers, or a fading relevance could not be seen.
    limits = None if np.isnan(tables).all() else (np.nanmin(tables), np.nanmax(tables))
    for layer in facts.attention.layers:
        if not layer.is_even:
            title = f"Relevance, layer {layer.layer}"
            figure = relevance_heat_map(layer.relevance, names, title, limits)
            yield (
                f"relevance_{layer.layer}",
                (
                    figure,
                    f"Layer {layer.layer}: the relevance of neighbours of the column's class for "
                    f"nodes of the row's class.",
                ),
            )


def _neighbourhoods(facts: RunFacts) -> Iterator[tuple[str, Captioned]]:
    if isinstance(facts.surroundings, Absent):
        return
    names = [shown_text(name, 32) for name in facts.class_names]
    shown = [one.around for one in facts.surroundings]
    for lens in LENSES:
        legend = legend_figure(shown, names, _LEGEND_WIDTH, lens)
        yield f"around_legend_{lens}", (legend, "Legend of all pictures.")
        for number, one in enumerate(facts.surroundings, 1):
            panel = Panel(one.around, f"{one.why}: {shown_text(one.answer.id, 28)}", lens=lens)
            yield (
                f"around_{number}_{lens}",
                (lone_neighbourhood(panel), _caption(one, facts.title, names)),
            )


def _caption(one: Surroundings, method: str, names: Sequence[str]) -> str:
    row, lead = one.answer, one.around.lead
    truth = f", label {shown_text(row.truth)}" if row.truth else ""
    said = (
        f"{method} predicts {shown_text(row.answer)} with probability {row.probability:.2f}."
        if lead is None
        else shown_text(lead.sentence(method, names), _LONGEST)
    )
    return f"Node {shown_text(row.id)}{truth}. {said}"


class Cell(NamedTuple):
    """A cell of the confusion matrix."""

    nodes: int
    share: float  # of its row
    shade: float  # 0 to 1; mistakes have a scale of their own, or the diagonal would hide them


class Mistake(NamedTuple):
    """The number of nodes of one class that are predicted to be of another."""

    truth: str
    answer: str
    nodes: int


def _confusion(facts: RunFacts) -> list[list[Cell]]:
    """Row by row; empty if there are too many classes."""
    if len(facts.class_names) > _MOST_CELLS:
        return []
    counts = facts.test.confusion()
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    wrong = np.where(np.eye(len(shares), dtype=bool), 0.0, shares)
    shades = np.where(wrong > 0, wrong / max(float(wrong.max()), 1e-12), shares)
    return [
        [Cell(*cell) for cell in zip(*(each.tolist() for each in row), strict=True)]
        for row in zip(counts, shares, shades, strict=True)
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


def _accuracy_values(facts: RunFacts) -> dict[str, Any]:
    return {
        "measures": {name: found.to_dict() for name, found in facts.measures.items()},
        "accuracy": {
            "replicas": facts.accuracy.to_dict(),
            "ensemble": facts.calibration.accuracy,
            "wilson_interval": None if facts.interval is None else list(facts.interval),
            "classes": [each.to_dict() for each in facts.by_class],
        },
    }


def _measures(facts: RunFacts) -> list[tuple[str, str, str]]:
    """Title, mean with its unit and standard error of every measure."""
    rows = []
    for name, found in facts.measures.items():
        measure, error = MEASURES[name], found.standard_error
        spread = NOTHING if error is None else measure.shown(error)
        rows.append((measure.title, measure.shown(found.mean) + measure.unit, spread))
    return rows


def _confusion_values(facts: RunFacts) -> dict[str, Any]:
    counts = facts.test.confusion()
    return {"confusion": {"class_names": list(facts.class_names), "counts": counts}}


def _node_values(facts: RunFacts) -> dict[str, Any]:
    return {
        "test_nodes": facts.certainty.to_dict(),
        "unlabelled_nodes": facts.unlabelled.to_dict(),
    }


def _neighbourhood_values(facts: RunFacts) -> dict[str, Any]:
    around = facts.surroundings
    if isinstance(around, Absent):
        return {"neighbourhoods": around.to_dict()}
    return {"neighbourhoods": [one.to_dict() for one in around]}


SECTIONS: Final[tuple[Section, ...]] = (
    Section(
        "neighbourhoods",
        "Why: some predictions and their reasons",
        figures=_neighbourhoods,
        values=_neighbourhood_values,
    ),
    Section(
        "accuracy",
        "Accuracy by class",
        figures=_accuracy,
        words=lambda facts: {"measures": _measures(facts)},
        values=_accuracy_values,
    ),
    Section(
        "mistakes",
        "Confusion matrix",
        words=lambda facts: {"confusion": _confusion(facts), "mistakes": _mistakes(facts)},
        values=_confusion_values,
    ),
    Section("nodes", "Most and least certain nodes", values=_node_values),
    Section(
        "confidence",
        "Calibration",
        figures=_reliability,
        values=lambda facts: {"confidence": facts.calibration.to_dict()},
    ),
    Section(
        "attention",
        "Attention",
        figures=_relevance,
        words=lambda facts: {"relations": _relations(facts), "preference": _preference(facts)},
        values=lambda facts: {"attention": facts.attention.to_dict()},
    ),
    Section(
        "training",
        "Training",
        figures=_training,
        values=lambda facts: {"training": facts.training.to_dict()},
    ),
    Section("data", "The data", values=lambda facts: {"data": facts.data.to_dict()}),
    Section("making", "How the run was made"),
)
