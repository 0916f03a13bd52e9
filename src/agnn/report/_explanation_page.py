"""An explanation as a page, and as an object that shows itself in a notebook."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

from agnn import __version__
from agnn.explanation import MOST_DRAWN, Explanation, Neighbourhood, explain, neighbourhood
from agnn.report._environment import environment
from agnn.report._neighbourhoods import Panel, neighbourhood_figure
from agnn.report._rendering import inline_svg, svg
from agnn.report._style import figure_style
from agnn.report._text import shown_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from agnn.explanation import Counterfactual
    from agnn.runs import Run

_LONGEST_WORDS: Final = 5000  # letters of the paragraph


def surroundings_of(run: Run, node: int) -> Neighbourhood:
    """What the picture shows: two hops around the node, or the most attended nodes there."""
    return neighbourhood(run, node, run.split, hops=2, limit=MOST_DRAWN)


def explanation_page(
    found: Explanation, around: Neighbourhood, changed: Counterfactual | None = None
) -> str:
    """One HTML file that needs no other file and no network.

    With `changed` it also says whose removal would change the prediction.
    """
    with figure_style():
        picture = inline_svg(explanation_figure(found, around), "around", _caption(found))
    return environment().get_template("explanation.html").render(
        found=found,
        words=_words(found),
        picture=picture,
        caption=_caption(found),
        changed=changed,
        version=__version__,
    )  # fmt: skip


def explanation_fragment(found: Explanation, around: Neighbourhood) -> str:
    """Words, picture and neighbours as a part of another page, with its own style."""
    return environment().get_template("explanation_fragment.html").render(
        found=found,
        words=_words(found),
        picture=svg(explanation_figure(found, around)),
        caption=_caption(found),
    )  # fmt: skip


def explanation_figure(found: Explanation, around: Neighbourhood) -> Figure:
    """The neighbourhood, titled by the node and its prediction."""
    title = f"{shown_text(found.id, 24)}: {shown_text(found.prediction, 24)}"
    note = f"{found.method} with confidence {found.confidence:.2f}"
    return neighbourhood_figure([[Panel(around, title, note)]], found.class_names)


def _words(found: Explanation) -> str:
    return shown_text(found.in_words(), _LONGEST_WORDS)


def _caption(found: Explanation) -> str:
    weight = "attention" if found.is_attention else "propagation weight"
    return (
        f"The nodes that reach node {shown_text(found.id)}: the area of a mark is its share of "
        f"the {weight} over all layers, colour and shape are its class, a star marks a training "
        f"node."
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class ShownExplanation(Explanation):
    """The reasons for a prediction, with the surroundings that are drawn."""

    around: Neighbourhood

    def _repr_html_(self) -> str:
        """What a notebook shows: the words, the picture, the neighbours."""
        return explanation_fragment(self, self.around)

    def __repr__(self) -> str:
        return self.in_words()


def shown_explanation(run: Run, node: int, *, limit: int = 10) -> ShownExplanation:
    """The explanation of one node, ready to be looked at."""
    found = explain(run, node, limit=limit)
    values = {each.name: getattr(found, each.name) for each in fields(found)}
    return ShownExplanation(**values, around=surroundings_of(run, node))
