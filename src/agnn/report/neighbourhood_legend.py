"""The legend below pictures of neighbourhoods."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from matplotlib.lines import Line2D

from agnn.report.node_marks import class_mark
from agnn.report.palette import PAPER, WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from agnn.explanation import Neighbourhood

_READING: Final = (
    "area and number: percent of what reaches the target; colour and shape: true class"
)
_LETTER: Final = 0.085  # inches, generously
_FONT: Final = 9


class Legend(NamedTuple):
    """What a figure's marks mean, broken into lines that fit its width."""

    keys: list[Line2D]
    columns: int
    title: str

    @property
    def height(self) -> float:
        """The inches that it takes."""
        lines = self.title.count("\n") + 1 + math.ceil(len(self.keys) / self.columns)
        return 0.25 + 0.19 * lines

    def write(self, figure: Figure) -> None:
        """Put the legend below all panels of the figure."""
        # A legend fills its columns from top to bottom; this order makes it read row by row.
        by_row = [key for first in range(self.columns) for key in self.keys[first :: self.columns]]
        legend = figure.legend(
            handles=by_row,
            loc="outside lower center",
            ncols=self.columns,
            frameon=False,
            fontsize=_FONT,
            title=self.title,
            title_fontsize=_FONT,
        )
        for text in legend.get_texts():
            text.set_parse_math(False)


def legend_of(shown: Sequence[Neighbourhood], class_names: Sequence[str], width: float) -> Legend:
    """The classes that occur and what else a mark can have, for a figure `width` inches wide."""
    present = np.unique(np.concatenate([each.labels for each in shown])).tolist()
    keys = [
        _class_key(label, class_names[label] if label >= 0 else "no label") for label in present
    ]
    keys.append(_key("o", PAPER, 2.4, "target"))
    if any(each.is_train.any() for each in shown):
        keys.append(_key("*", WORDS, 0.6, "training node"))
    letters = max(len(str(key.get_label())) for key in keys)
    fitting = max(1, int(width / (0.45 + _LETTER * letters)))
    rows = math.ceil(len(keys) / fitting)
    title = textwrap.fill(_READING, max(20, int(width / _LETTER)))
    return Legend(keys, math.ceil(len(keys) / rows), title)


def _class_key(label: int, name: str) -> Line2D:
    mark = class_mark(label)
    key = _key("o", mark.colour, 0.6, name)
    key.set_marker(mark.shape)
    return key


def _key(marker: str, colour: str, outline: float, label: str) -> Line2D:
    return Line2D(
        [], [], linestyle="none", marker=marker, markersize=9, markerfacecolor=colour,
        markeredgecolor=WORDS, markeredgewidth=outline, label=label,
    )  # fmt: skip
