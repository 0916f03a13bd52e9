"""The picture of a node that hundreds of others reach: a line for every group of them."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from agnn.explanation import Neighbourhood, Step
from agnn.palette import AGAINST, FOR, NEITHER
from agnn.report._rendering import EDGE, WORDS
from agnn.tables import shown_text, signed_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_MOST: Final = 12  # lines that fit
_SMALL: Final = {"contribution": 0.005, "removal": 0.05}  # less is neither for nor against
_TARGET: Final = 0.1  # where the target stands, in widths of the picture
_MARKS: Final = 0.27
_WORDS: Final = 0.36
_WIDEST: Final = 0.16  # the diameter of the largest mark
_LETTERS: Final = 30  # of a name in one line


class Line(NamedTuple):
    """One mark beside the target: a node, or a group of nodes."""

    name: str
    value: float
    number: str
    is_group: bool


def hub_lines(neighbourhood: Neighbourhood, lens: str) -> list[Line]:
    """Return what the picture of a hub shows through a lens, the largest value first."""
    lead = neighbourhood.lead
    if lens == "removal":
        effects = () if neighbourhood.effects is None else neighbourhood.effects
        points = (100 * float(effect) for effect in effects)  # NaN: its removal was not tried
        lines = [
            Line(node_id, value, signed_number(value, 1), is_group=False)
            for node_id, value in zip(neighbourhood.ids, points, strict=False)
            if not np.isnan(value)
        ]
    elif lens == "attention":
        lines = [
            Line(step.name, step.value, f"{100 * step.value:.0f} %", is_group=True)
            for step in neighbourhood.attention_groups
        ]
    else:
        steps: Sequence[Step] = () if lead is None else lead.steps
        lines = [
            Line(step.name, step.value, signed_number(step.value), step.kind in ("group", "rest"))
            for step in steps
            if step.nodes and step.kind != "itself"
        ]
    largest = sorted(lines, key=lambda line: -abs(line.value))[:_MOST]
    return sorted(largest, key=lambda line: -line.value)


def sign_colour(value: float, lens: str) -> str:
    """Return the colour of what speaks for the prediction, against it, or neither."""
    if abs(value) < _SMALL[lens]:
        return NEITHER.light
    return FOR.light if value > 0 else AGAINST.light


def draw_hub(axes: Axes, neighbourhood: Neighbourhood, lens: str) -> None:
    """Draw the target, and to its right one mark, name and number for every line."""
    lines = hub_lines(neighbourhood, lens)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    least = 1.0 if lens == "removal" else 1e-12  # a point: effects that are all tiny stay small
    largest = max(least, *(abs(line.value) for line in lines)) if lines else least
    row_height = 1 / (len(lines) + 1)
    widest = min(_WIDEST, 0.9 * row_height)
    for number, line in enumerate(lines, start=1):
        y = 1 - number * row_height
        size = max(0.015, widest * np.sqrt(abs(line.value) / largest))
        colour = EDGE if lens == "attention" else sign_colour(line.value, lens)
        axes.plot([_TARGET, _MARKS], [0.5, y], color=EDGE, linewidth=0.8, zorder=1)
        for offset in (0.012, 0.0) if line.is_group else (0.0,):  # a second rim: there are many
            _disc(axes, (_MARKS + offset, y), size, colour)
        name = textwrap.fill(shown_text(line.name, 2 * _LETTERS - 4), _LETTERS)
        axes.text(_WORDS, y, f"{name}  {line.number}", fontsize=7.5, va="center", parse_math=False)
    _disc(axes, (_TARGET, 0.5), 0.09, WORDS)
    by_lens = {
        "contribution": signed_number(float(neighbourhood.contributions[0])),
        "attention": f"{100 * neighbourhood.shares[0]:.0f} %",
        "removal": "",
    }
    axes.text(_TARGET, 0.43, by_lens[lens], fontsize=7.5, ha="center", va="top")


def _disc(axes: Axes, middle: tuple[float, float], size: float, colour: str) -> None:
    from matplotlib.patches import Circle

    axes.add_patch(
        Circle(middle, size / 2, facecolor=colour, edgecolor=WORDS, linewidth=0.6, zorder=3)
    )
