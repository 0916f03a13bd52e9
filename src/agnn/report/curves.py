"""What happened over the epochs, replica by replica taken together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.figure import Figure

from agnn.report.palette import GRID, INK, MARK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from agnn.report.facts.training import Curve, Training

_SIZE: Final = (3.5, 2.6)  # inches
_POINTS: Final = 500  # of a line; more cannot be seen
_LAYERS: Final = (INK, MARK, "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_STROKES: Final = ("solid", "dashed", "dashdot", "dotted")  # so that it reads in grey


def accuracy_curve(training: Training, curve: Curve) -> Figure:
    """The accuracy on the watched nodes, and where each replica stopped for good."""
    figure, axes = _empty(f"Accuracy on {training.part} nodes (%)")
    _draw(axes, curve, INK)
    axes.plot(
        training.kept.values, training.kept_accuracy, "o", color=MARK, markersize=5, alpha=0.9,
        label="epoch kept",
    )  # fmt: skip
    # The first steep epochs would press all the rest into one line.
    axes.set_ylim(bottom=max(0.0, float(np.percentile(curve.low, 3)) - 3))
    axes.legend(loc="lower right", frameon=False, fontsize=9)
    return figure


def loss_curve(training: Training) -> Figure:
    """The loss that training lowered, with dropout as it was then."""
    figure, axes = _empty("Training loss")
    _draw(axes, training.loss, INK)
    axes.set_ylim(bottom=0)
    return figure


def beta_curves(training: Training) -> Figure:
    """The one scalar of each attention layer."""
    figure, axes = _empty("β")
    for layer, curve in enumerate(training.betas):
        colour, stroke = _LAYERS[layer % len(_LAYERS)], _STROKES[layer % len(_STROKES)]
        _draw(axes, curve, colour, stroke, f"layer {layer + 1}")
    axes.legend(loc="best", frameon=False, fontsize=9)
    return figure


def _empty(title: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=_SIZE, layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, loc="left")
    axes.set_xlabel("epoch")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    return figure, axes


def _draw(
    axes: Axes, curve: Curve, colour: str, stroke: str = "solid", label: str = "mean"
) -> None:
    """The mean as a line, lowest to highest as a band."""
    count = curve.mean.size
    shown = np.unique(np.linspace(0, count - 1, min(count, _POINTS)).round().astype(np.int64))
    epochs = shown + 1
    axes.fill_between(epochs, curve.low[shown], curve.high[shown], color=colour, alpha=0.2, lw=0)
    axes.plot(epochs, curve.mean[shown], color=colour, linestyle=stroke, lw=1.6, label=label)
