"""The reliability diagram: how often answers of each confidence are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from agnn.report.palette import FAINT, INK, MARK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from agnn.metrics import Calibration, Reliability


def reliability_diagram(calibration: Calibration) -> Figure:
    """Accuracy over confidence on the test nodes, before and after the temperature.

    Bars are shares of right answers, marks the mean confidence of the same answers: a bar above
    its mark is an answer that could have been surer.
    """
    figure = Figure(figsize=(7.2, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    _panel(left, calibration.before, "mean of the replicas")
    _panel(right, calibration.after, f"temperature {calibration.temperature:.2f}")
    left.set_ylabel("share of right answers")
    right.legend(loc="upper left", frameon=False)
    return figure


def _panel(axes: Axes, found: Reliability, title: str) -> None:
    bins = found.count.size
    full = np.flatnonzero(found.count)
    middles = (full + 0.5) / bins
    # Strong bars stand for many answers, faint ones for few.
    shares = found.count[full] / found.count.sum()
    colours = [to_rgba(INK, 0.35 + 0.65 * share / shares.max()) for share in shares]
    axes.bar(middles, found.accuracy[full], 0.92 / bins, color=colours, label="right answers")
    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1.2, zorder=0)
    axes.plot(
        middles, found.confidence[full], "_", color=MARK, markersize=10, markeredgewidth=2.2,
        label="confidence",
    )  # fmt: skip
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="confidence", aspect="equal")
    axes.set_title(f"{title}: error {found.error:.3f}", loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
