"""What the replicas agree on: their accuracies and betas, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from agnn.metrics import Summary
from agnn.report.palette import FAINT, INK, MARK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray


def replica_figure(accuracy: Summary, betas: NDArray[np.floating] | None) -> Figure:
    """A dot a replica: test accuracy with its mean, and beta [R, l] layer by layer if given."""
    panels = 1 if betas is None else 2
    figure = Figure(figsize=(3.6 * panels, 3.2), layout="constrained")
    first, *rest = figure.subplots(1, panels, squeeze=False)[0]
    _draw_dots(first, [accuracy], [""])
    first.set_title("Test accuracy (%)", loc="left")
    if accuracy.standard_error is not None:
        low, high = accuracy.mean - accuracy.standard_error, accuracy.mean + accuracy.standard_error
        first.axhspan(low, high, color=FAINT, alpha=0.5, linewidth=0, zorder=0)
        first.set_xlabel("mean with standard error, and each replica", fontsize=9)
    if betas is not None:
        layers = [Summary(column) for column in np.asarray(betas, dtype=np.float64).T.tolist()]
        _draw_dots(rest[0], layers, [f"layer {t + 1}" for t in range(len(layers))])
        rest[0].set_title("Beta, layer by layer", loc="left")
        rest[0].set_ylim(bottom=min(0.0, rest[0].get_ylim()[0]))
    return figure


def _draw_dots(axes: Axes, columns: list[Summary], names: list[str]) -> None:
    for place, summary in enumerate(columns):
        aside = np.linspace(-0.22, 0.22, summary.n) if summary.n > 1 else np.zeros(1)
        axes.plot(place + aside, summary.values, "o", color=INK, markersize=5, alpha=0.85)
        axes.plot([place - 0.32, place + 0.32], [summary.mean] * 2, color=MARK, linewidth=2)
    axes.set_xticks(range(len(columns)), names)
    axes.set_xlim(-0.6, len(columns) - 0.4)
    axes.tick_params(axis="x", length=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e0e0e0", linewidth=0.6)
    axes.set_axisbelow(True)
