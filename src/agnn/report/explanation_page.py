"""The reasons for one answer as a page, and as a part of somebody's notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agnn import __version__
from agnn.explanation import neighbourhood
from agnn.report.figure_style import figure_style
from agnn.report.inline_svg import inline_svg
from agnn.report.neighbourhood_figure import neighbourhood_figure
from agnn.report.neighbourhood_panel import Panel
from agnn.report.page_environment import environment
from agnn.report.rendering import svg
from agnn.report.shown_text import shown_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from agnn.explanation import Counterfactual, Explanation, Neighbourhood, OpenedRun

_MOST_NODES: Final = 60  # in the picture; more cannot be told apart
_LONGEST_WORDS: Final = 5000  # letters of the paragraph


def surroundings_of(opened: OpenedRun, node: int) -> Neighbourhood:
    """What the picture shows: two hops around the node, or the most attended of them."""
    return neighbourhood(opened.trained, node, opened.split, hops=2, limit=_MOST_NODES)


def explanation_page(
    found: Explanation, around: Neighbourhood, changed: Counterfactual | None = None
) -> str:
    """One HTML file that needs no other file and no network.

    With `changed` it also tells whose removal would change the answer.
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
    """The same words and picture as a part of another page, in a style of its own."""
    return environment().get_template("explanation_fragment.html").render(
        found=found,
        words=_words(found),
        picture=svg(explanation_figure(found, around)),
        caption=_caption(found),
    )  # fmt: skip


def explanation_figure(found: Explanation, around: Neighbourhood) -> Figure:
    """The neighbourhood, titled by the node and its answer."""
    title = f"{shown_text(found.id, 24)}: {shown_text(found.prediction, 24)}"
    note = f"{found.method} with confidence {found.confidence:.2f}"
    return neighbourhood_figure([[Panel(around, title, note)]], found.class_names)


def _words(found: Explanation) -> str:
    return shown_text(found.in_words(), _LONGEST_WORDS)


def _caption(found: Explanation) -> str:
    return (
        f"Who reaches node {shown_text(found.id)}: the area of a mark is its share of all that "
        f"arrives there, colour and shape are its class, a star marks a training node."
    )
