"""Accuracy over the epochs, and the epochs that were kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from agnn.report.palette import FAINT, INK, MARK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def training_curves(
    accuracy: NDArray[np.floating], selected_epochs: Sequence[int], part: str
) -> Figure:
    """Each replica's accuracy [epochs, R] (shares of 1) in percent, their mean, the kept epochs."""
    percent = 100.0 * np.asarray(accuracy, dtype=np.float64)
    epochs = np.arange(1, len(percent) + 1)
    kept = np.asarray(selected_epochs)
    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(epochs, percent, color=FAINT, linewidth=0.6)
    axes.plot([], [], color=FAINT, linewidth=1.2, label="one replica")
    axes.plot(epochs, percent.mean(1), color=INK, linewidth=1.8, label="mean")
    heights = percent[kept - 1, np.arange(kept.size)]
    axes.plot(
        kept, heights, "o", color=MARK, markeredgecolor="white", markersize=6.5, label="epoch kept"
    )
    # The first steep epochs would press all the rest into one line.
    axes.set_ylim(bottom=max(0.0, np.floor(np.percentile(percent, 2)) - 3))
    axes.set_xlabel("epoch")
    axes.set_ylabel(f"{part} accuracy (%)")
    axes.set_title(f"Accuracy on the {part} nodes during training", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e0e0e0", linewidth=0.6)
    axes.legend(loc="lower right", frameon=False)
    return figure
