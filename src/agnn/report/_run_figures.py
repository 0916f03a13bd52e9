"""The figures of a run's report, each with its caption."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from agnn.report._charts import (
    accuracy_curve,
    beta_curves,
    class_accuracy_figure,
    loss_curve,
    relevance_heat_map,
    reliability_diagram,
    replica_figure,
)
from agnn.report._neighbourhoods import Panel, legend_figure, lone_neighbourhood
from agnn.report._rendering import PageFigure, svg
from agnn.report._style import figure_style
from agnn.report._text import shown_text
from agnn.report.facts.absent import Absent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from matplotlib.figure import Figure

    from agnn.report.facts.run_facts import RunFacts
    from agnn.report.facts.surroundings import Surroundings

Captioned = tuple["Figure", str]
_MOST_CLASSES: Final = 25  # in a heat map; more cannot be read
_LEGEND_WIDTH: Final = 7.2  # inches
_MOST_LINES: Final = 60  # of classes below each other


def run_figures(facts: RunFacts) -> dict[str, Captioned]:
    """Figure and caption by name; what a run does not have is not there."""
    parts = (_training, _replicas, _accuracy, _relevance, _neighbourhoods)
    with figure_style():
        return {name: figure for part in parts for name, figure in part(facts)}


def rendered(figures: Mapping[str, Captioned]) -> dict[str, PageFigure]:
    """The same as drawings for a page."""
    with figure_style():
        return {
            name: PageFigure(svg(figure), caption) for name, (figure, caption) in figures.items()
        }


def _training(facts: RunFacts) -> Iterator[tuple[str, Captioned]]:
    training = facts.training
    if isinstance(training, Absent):
        return
    if training.accuracy is not None:
        curve = accuracy_curve(training, training.accuracy)
        yield (
            "accuracy_curve",
            (curve, f"Accuracy on the {training.part} nodes; dots are the epochs kept."),
        )
    yield "loss_curve", (loss_curve(training), "The training loss, with dropout.")
    if training.betas:
        yield "beta_curves", (beta_curves(training), "β of each attention layer.")


def _replicas(facts: RunFacts) -> Iterator[tuple[str, Captioned]]:
    if facts.accuracy.n > 1:
        rows = facts.config.get("betas")
        figure = replica_figure(facts.accuracy, np.array(rows) if rows else None)
        words = "Each dot is a replica: the same model from another random start."
        if facts.folds > 1:
            words = "Each dot is a trial of all folds on the left, a replica on the right."
        yield "replicas", (figure, f"{words} The bar is the mean.")


def _accuracy(facts: RunFacts) -> Iterator[tuple[str, Captioned]]:
    if facts.interval is None:
        return
    if len(facts.by_class) <= _MOST_LINES:
        figure = class_accuracy_figure(facts.by_class)
        yield "class_accuracy", (figure, "Accuracy by class; the same numbers are in the table.")
    yield (
        "reliability",
        (
            reliability_diagram(facts.calibration),
            "Bars: the share of correct predictions at each confidence; the fuller the colour, the "
            "more predictions. Marks: their mean confidence. On the line the two agree.",
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
    words = "Legend of all pictures."
    yield "around_legend", (legend_figure(shown, names, _LEGEND_WIDTH), words)
    for number, one in enumerate(facts.surroundings, 1):
        panel = Panel(one.around, f"{one.why}: {shown_text(one.answer.id, 28)}")
        yield f"around_{number}", (lone_neighbourhood(panel), _caption(one))


def _caption(one: Surroundings) -> str:
    row = one.answer
    words = (
        f"Node {shown_text(row.id)}: {shown_text(row.answer)} with probability "
        f"{row.probability:.2f}"
    )
    return f"{words}; its label is {shown_text(row.truth)}." if row.truth else f"{words}."
