"""The figures of a demonstration run, each with its caption."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from agnn.report.heat_map import relevance_heat_map
from agnn.report.reliability_diagram import reliability_diagram
from agnn.report.replicas import replica_figure
from agnn.report.training_curves import training_curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from agnn.evaluation import Run


def demo_figures(run: Run, relevance: NDArray[np.float64]) -> dict[str, tuple[Figure, str]]:
    """Figure and caption by name; `relevance` is [c, c], of the last layer."""
    figures = {
        "relevance": (
            relevance_heat_map(relevance, run.data.class_names, "Relevance, last layer"),
            "The same table as a picture: the brighter a cell, the more attention the row's class "
            "pays to neighbours of the column's class.",
        ),
        "replicas": (
            replica_figure(run.accuracy, None if run.betas is None else np.array(run.betas)),
            "Each dot is a replica: the same model from another random start. The bar is the mean.",
        ),
    }
    figures["reliability"] = (
        reliability_diagram(run.calibration),
        "How often answers of each confidence are right on the test nodes: for the mean of the "
        "replicas, and at the temperature fitted to the validation nodes.",
    )
    history, kept = run.outcome.history, run.selected_epochs
    if history is not None and kept is not None:
        figures["training"] = (
            training_curves(history.watched_accuracy.cpu().numpy(), kept, "validation"),
            "Each replica keeps the weights of the epoch where its validation accuracy, averaged "
            "over a few epochs, was highest.",
        )
    return figures
