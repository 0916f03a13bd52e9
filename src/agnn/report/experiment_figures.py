"""The figures of the paper from trained models: which function draws which kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agnn import explanation
from agnn.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from agnn.evaluation import Run
    from agnn.experiments import Drawing, Panel


def panel_figure(drawing: Drawing, panel: Panel, runs: Mapping[str, Run]) -> Figure:
    """One panel of a figure; `runs` are those of its dataset, by method."""
    if drawing.kind == "relevance":
        return _relevance(panel, runs)
    return _neighbourhoods(panel, runs)


def _relevance(panel: Panel, runs: Mapping[str, Run]) -> Figure:
    from agnn.explanation import layer_relevances
    from agnn.report.heat_map import relevance_heat_map

    run, layer = runs["agnn"], panel.layer or 1
    relevance = layer_relevances(run.outcome.model, run.data)[layer - 1]
    return relevance_heat_map(relevance.numpy(), run.data.class_names, panel.title)


def _neighbourhoods(panel: Panel, runs: Mapping[str, Run]) -> Figure:
    agnn, gcn = (_trained(runs[name]) for name in ("agnn", "gcn"))
    split = runs["agnn"].splits[0]
    targets = _named("find_contrasts")(agnn, gcn, split, panel.count)
    figure: Figure = _contrast_figure({"AGNN": agnn, "GCN": gcn}, split, targets)
    return figure


def _trained(run: Run) -> Any:
    return _named("TrainedModel")(run.outcome.model, run.data)


def _contrast_figure(*arguments: Any) -> Any:
    try:
        from agnn.report import paper_figures  # type: ignore[attr-defined, unused-ignore]
    except ImportError as error:
        raise UnavailableError("this version of agnn cannot draw neighbourhoods.") from error
    return paper_figures.contrast_figure(*arguments)


def _named(name: str) -> Any:
    if not hasattr(explanation, name):
        raise UnavailableError("this version of agnn cannot draw neighbourhoods.")
    return getattr(explanation, name)
