"""The figures of the paper from trained models: which function draws which kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agnn.errors import InputError
from agnn.explanation import TrainedModel, find_contrasts
from agnn.report.paper_figures import contrast_figure, relevance_figure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from agnn.experiments import Drawing, Panel
    from agnn.runs import Run


def panel_figure(drawing: Drawing, panel: Panel, runs: Mapping[str, Run]) -> Figure:
    """One panel of a figure; `runs` are those of its dataset, by method."""
    if drawing.kind == "relevance":
        return relevance_figure(_trained(runs["agnn"]), panel.layer or 1, panel.title)
    return _neighbourhoods(panel, runs)


def _neighbourhoods(panel: Panel, runs: Mapping[str, Run]) -> Figure:
    agnn, gcn = (_trained(runs[name]) for name in ("agnn", "gcn"))
    split = runs["agnn"].splits[0]
    targets = find_contrasts(agnn, gcn, split, panel.count or 1)
    return contrast_figure({"AGNN": agnn, "GCN": gcn}, split, targets, title=panel.title)


def _trained(run: Run) -> TrainedModel:
    if run.outcome.model is None:
        raise InputError(f"{run.method.name} has no model to look into.")
    return TrainedModel(run.outcome.model, run.data)
