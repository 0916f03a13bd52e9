"""An explanation as a page, and as an object that shows itself in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from agnn import __version__
from agnn.explanation import (
    Counterfactual,
    Explanation,
    Neighbourhood,
    ReachingNode,
    Step,
    explain,
)
from agnn.report._neighbourhoods import (
    MOST_DRAWN,
    Panel,
    legend_figure,
    lone_neighbourhood,
    neighbourhood_figure,
)
from agnn.report._rendering import figure_style, inline_svg, page_template, svg
from agnn.runs import Run
from agnn.tables import Column, ResultTable, share_text, shown_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_LONGEST_WORDS: Final = 5000  # letters of the paragraph
_LEGEND_WIDTH: Final = 6.0  # inches
_MOST_LAYERS: Final = 8  # with a column each; of a deeper model only the first and the last


def surroundings_of(run: Run, node: int) -> Neighbourhood:
    """Return what the picture shows: two hops around the node, or the most attended nodes there."""
    return Neighbourhood.with_effects(run, node, run.split, hops=2, limit=MOST_DRAWN)


def explanation_page(
    explanation: Explanation, around: Neighbourhood, changed: Counterfactual | None = None
) -> str:
    """Return one HTML file that needs no other file and no network.

    With `changed` it also says whose removal would change the prediction.
    """
    with figure_style():
        pictures = {
            lens: (
                inline_svg(
                    lone_neighbourhood(_panel(explanation, around, lens)), f"around-{lens}", caption
                )
                + inline_svg(
                    legend_figure([around], explanation.class_names, _LEGEND_WIDTH, lens),
                    f"legend-{lens}",
                    "Legend of the picture.",
                )
            )
            for lens, caption in _captions(explanation, around).items()
        }
    return page_template("explanation.html").render(
        found=explanation,
        words=_words(explanation),
        pictures=pictures,
        captions=_captions(explanation, around),
        bars=waterfall(explanation),
        tables=explanation_tables(explanation),
        changed=changed,
        version=__version__,
    )


def explanation_fragment(explanation: Explanation, around: Neighbourhood) -> str:
    """Return words, picture and neighbours as a part of another page, with its own style."""
    return page_template("explanation_fragment.html").render(
        found=explanation,
        words=_words(explanation),
        picture=svg(explanation_figure(explanation, around)),
        caption=_captions(explanation, around)["contribution"],
        bars=waterfall(explanation),
        tables=explanation_tables(explanation),
    )


def explanation_figure(
    explanation: Explanation, around: Neighbourhood, lens: str = "contribution"
) -> Figure:
    """Return the neighbourhood through a lens, titled by node and prediction, with a legend."""
    return neighbourhood_figure([[_panel(explanation, around, lens)]], explanation.class_names)


def _panel(explanation: Explanation, around: Neighbourhood, lens: str) -> Panel:
    title = f"{shown_text(explanation.id, 24)}: {shown_text(explanation.prediction, 24)}"
    note = f"{explanation.method} with confidence {explanation.confidence:.2f}"
    return Panel(around, title, note, lens)


def _words(explanation: Explanation) -> str:
    return shown_text(explanation.in_words(), _LONGEST_WORDS)


def explanation_tables(explanation: Explanation) -> dict[str, ResultTable]:
    """Return what an explanation lists, by the name of its field; what is empty is left out."""
    first = shown_text(explanation.prediction)
    second = shown_text(explanation.class_names[explanation.second])
    nodes = {
        "neighbours": "The node itself and the nodes with the largest weight",
        "training_nodes": "Training nodes that reach it, those with the largest weight",
        "for_answer": f"Nodes that contribute most to {first}, compared with the mean of all "
        "classes",
        "for_second": f"Nodes that contribute most to {second}, compared with {first}",
    }
    name = Column("feature", of="name", is_name=True)
    over_second = _sum_column("over second", "over_second")
    features = (name, _sum_column("contribution", "toward_answer"), over_second)
    itself = _sum_column("of it its own", "own")
    tables = {
        key: _node_table(explanation, getattr(explanation, key), caption)
        for key, caption in nodes.items()
    } | {
        "training": ResultTable.of(_TRAINING, explanation.training, "Training nodes by class"),
        "features": ResultTable.of(
            (*features, itself),
            explanation.features,
            f"The features that contribute most to {first}",
        ),
        "features_for_second": ResultTable.of(
            (name, over_second),
            explanation.features_for_second,
            f"The features that contribute most to {second}, compared with {first}",
        ),
    }
    return {key: table for key, table in tables.items() if table.rows}


_TRAINING: Final = (
    Column("class", of="class_name", is_name=True),
    Column("nodes", of="nodes", is_number=True),
    Column("weight", of=lambda total: share_text(total.weight), is_number=True),
)


def _node_table(
    explanation: Explanation, nodes: Sequence[ReachingNode], caption: str
) -> ResultTable:
    layers = len(explanation.itself.attention or ())
    shown_layers = range(layers) if layers <= _MOST_LAYERS else (0, layers - 1)
    if nodes is explanation.neighbours:
        nodes = (explanation.itself, *nodes)
    has_weights = any(node.edge_weight is not None for node in nodes)
    columns = (
        Column("node", of="name", is_name=True),
        Column("class", of="class_name", is_name=True),
        Column("known from", of="class_from"),
        Column("hops", of="hops", is_number=True),
        *([Column("edge weight", of="edge_weight", is_number=True)] if has_weights else []),
        Column("weight", of=lambda node: share_text(node.weight), is_number=True),
        *(
            Column(f"P{t + 1}", digits=3, of=partial(_of_layer, "attention", t), is_number=True)
            for t in shown_layers
        ),
        Column(
            f"R{layers}",
            digits=2,
            is_number=True,
            is_signed=True,
            of=partial(_of_layer, "relevance", layers - 1),
            is_wide=True,
        ),
        _sum_column("contribution", "toward_answer"),
        _sum_column("over second", "over_second"),
    )
    return ResultTable.of(columns, nodes, caption)


def _of_layer(name: str, layer: int, node: ReachingNode) -> float | None:
    values = getattr(node, name)
    return None if values is None else float(values[layer])


def _sum_column(title: str, name: str) -> Column:
    return Column(title, digits=3, is_number=True, is_signed=True, of=name)


class Bar(NamedTuple):
    """One row of the waterfall; `left` and `width` are in percent of the whole."""

    step: Step
    left: float
    width: float


class Waterfall(NamedTuple):
    """The steps from zero to the margin as bars, and where zero is."""

    bars: tuple[Bar, ...]
    total: Bar
    zero: float


def waterfall(explanation: Explanation) -> Waterfall:
    """Return the margin of an explanation, step by step."""
    ends = np.cumsum([0.0, *(step.value for step in explanation.lead.steps)])
    low = float(ends.min())
    scale = 100.0 / max(float(ends.max()) - low, 1e-12)

    def bar(step: Step, start: float, end: float) -> Bar:
        return Bar(step, scale * (min(start, end) - low), max(scale * abs(end - start), 0.5))

    bars = tuple(
        bar(step, float(start), float(end))
        for step, start, end in zip(explanation.lead.steps, ends, ends[1:], strict=False)
    )
    total = bar(Step("constant", explanation.margin), 0.0, explanation.margin)
    return Waterfall(bars, total, -scale * low)


def _captions(explanation: Explanation, around: Neighbourhood) -> dict[str, str]:
    """Return what each lens shows."""
    weight = "attention" if explanation.is_attention else "propagation weight"
    node = shown_text(explanation.id)
    first = shown_text(explanation.prediction)
    second = shown_text(explanation.class_names[explanation.second])
    nodes = f"The nodes that reach node {node}"
    shape = "; the shape is its label, a star marks a training node"
    colour = ", colour and shape are its label, a star marks a training node"
    if around.is_hub:
        nodes = f"{nodes}, which are too many to draw, by group"
        shape = ""
        colour = ""
    return {
        "contribution": f"{nodes}: the area of a mark is what it adds to the lead of {first} over "
        f"{second}, violet is for and red against{shape}.",
        "attention": f"{nodes}: the area of a mark is its share of the {weight} over all layers"
        f"{colour}. It shows where the model looks, not what decides.",
        "removal": f"The neighbours of node {node}: the area of a mark is what the probability of "
        f"{first} loses without the edge to it, violet is a loss and red a gain{shape}.",
    }


@dataclass(frozen=True, eq=False, kw_only=True)
class ShownExplanation(Explanation):
    """The reasons for a prediction, with the surroundings that are drawn."""

    around: Neighbourhood

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the words, the picture, the neighbours."""
        return explanation_fragment(self, self.around)

    def __repr__(self) -> str:
        return self.in_words()


def shown_explanation(run: Run, node: int, *, limit: int = 10) -> ShownExplanation:
    """Return the explanation of one node, ready to be looked at."""
    explanation = explain(run, node, limit=limit)
    values = {field.name: getattr(explanation, field.name) for field in fields(explanation)}
    return ShownExplanation(**values, around=surroundings_of(run, node))
